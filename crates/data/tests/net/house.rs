//! A hub that can be killed, a folder to be moved, and the ways between them.
use super::world::*;
use axum::http::{HeaderMap, header};
use gleaner_data::index::Index;
use gleaner_data::manifest::Root;
use gleaner_data::measure::{noise, words};
use gleaner_data::net::http::{Access, Admitted, Allowance, Cache, Door, Refusal, router, swarm_router};
use gleaner_data::net::{BringControl, Control, Dataset, PushControl, Right, Update, Uplink};
use gleaner_data::net::{Downlink, schedule};
use gleaner_data::pack::{self, Packed};
use gleaner_data::seal::AccountSecret;
use gleaner_data::store::Store;
use gleaner_data::tree::Case;
use gleaner_data::{Sink, unpack};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::runtime::Runtime;

pub const TOKEN: &str = "a token of the hub";

/// Lets in who shows the token, and counts what is brought.
pub struct TokenDoor {
    pub token: Mutex<String>,
    pub taken: Arc<Taken>,
}

/// What was brought, and how much may be.
#[derive(Default)]
pub struct Taken {
    pub bytes: AtomicU64,
    pub max: AtomicU64,
}

impl Allowance for Taken {
    fn take(&self, bytes: u64) -> bool {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let fits = before + bytes <= self.max.load(Ordering::Relaxed);
        if !fits {
            self.give_back(bytes);
        }
        fits
    }

    fn give_back(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl TokenDoor {
    pub fn new() -> Arc<Self> {
        let taken = Taken { max: AtomicU64::new(u64::MAX), ..Taken::default() };
        Arc::new(Self { token: Mutex::new(TOKEN.to_owned()), taken: Arc::new(taken) })
    }
}

impl Door for TokenDoor {
    fn admits(&self, headers: &HeaderMap, _: Right) -> Result<Admitted, Refusal> {
        let expected = format!("Bearer {}", self.token.lock().unwrap());
        let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if shown != Some(expected.as_str()) {
            return Err(Refusal::Unknown);
        }
        Ok(Admitted { key: None, allowance: Some(Arc::clone(&self.taken) as _) })
    }
}

/// A hub with a cache, in a runtime of its own: when that goes, all its connections do.
pub struct Hub {
    pub url: String,
    pub store: Arc<Store>,
    pub door: Arc<TokenDoor>,
    runtime: Option<Runtime>,
    _dir: Option<tempfile::TempDir>,
}

impl Hub {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut hub = Self::at(dir.path(), 0);
        hub._dir = Some(dir);
        hub
    }

    pub fn at(folder: &Path, port: u16) -> Self {
        let store = Arc::new(Store::open(folder, 4 * LIMIT).unwrap());
        let door = TokenDoor::new();
        let chunks = router(Arc::clone(&store), Arc::clone(&door) as _);
        let swarm = swarm_router(Arc::default(), hub(), Arc::clone(&door) as _);
        let (url, runtime) = serve(chunks.merge(swarm), port);
        Self { url, store, door, runtime: Some(runtime), _dir: None }
    }

    pub fn cache(&self) -> Arc<Cache> {
        cache_at(&self.url)
    }

    /// All of it is gone, in the middle of whatever it did.
    pub fn kill(&mut self) {
        self.runtime.take().unwrap().shutdown_background();
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

pub fn cache_at(url: &str) -> Arc<Cache> {
    Arc::new(Cache::new(url, Access::token(TOKEN)).unwrap())
}

/// Serves on loopback, in a runtime of its own.
pub fn serve(routes: axum::Router, port: u16) -> (String, Runtime) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let listener = std::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        axum::serve(listener, routes).await.unwrap();
    });
    (format!("http://{address}"), runtime)
}

pub fn from_hub(cache: Arc<Cache>) -> Update {
    Update::Joined { carrier: cache, role: schedule::Role::Origin, holds: schedule::Holds::All }
}

/// Some large files without a pattern, text, and many small ones.
pub fn furnish(data: &Path, large: usize, megabytes: usize, small: usize) {
    std::fs::create_dir_all(data.join("small")).unwrap();
    for number in 0..large {
        std::fs::write(data.join(format!("large-{number}")), noise(number as u64 + 77, megabytes << 20)).unwrap();
    }
    std::fs::write(data.join("text"), words(9, 3 << 20)).unwrap();
    for number in 0..small {
        let bytes = noise(number as u64 + 5000, 700 + number * 13 % 3000);
        std::fs::write(data.join(format!("small/{number}")), bytes).unwrap();
    }
}

pub fn keys() -> gleaner_data::seal::Keys {
    AccountSecret::from_bytes([5; 32]).keys()
}

/// Packs the folder `data` of a home through an uplink, its root last.
pub fn pack_through(home: &Path, uplink: &Uplink) -> Result<Packed, pack::Error> {
    let keys = keys();
    let mut index = Index::open(&home.join("index"), &keys)?;
    let options = pack::Options { threads: 2, level: None, adapt: false, checksum: false };
    let packed = pack::pack(&home.join("data"), &keys, &mut index, uplink, options, &pack::Progress::default())?;
    uplink.put(packed.sealed.blob, packed.sealed.bytes.clone()).map_err(pack::Error::Sink)?;
    uplink.flush().map_err(pack::Error::Sink)?;
    Ok(packed)
}

/// A push that has begun: what it will give, and how to steer it.
pub fn push(home: &Path, cache: Arc<Cache>) -> (tokio::task::JoinHandle<Result<Packed, pack::Error>>, PushControl) {
    let (uplink, control) = Uplink::open(cache);
    let home = home.to_owned();
    (tokio::task::spawn_blocking(move || pack_through(&home, &uplink)), control)
}

pub fn dataset(packed: &Packed) -> Dataset {
    Dataset { root: packed.sealed.blob, key: packed.sealed.key.clone() }
}

/// A pull that has begun, through a downlink with these caches.
pub fn pull(
    packed: &Packed,
    to: PathBuf,
    caches: Vec<Arc<Cache>>,
) -> (tokio::task::JoinHandle<Result<(), unpack::Error>>, Control) {
    let carriers = caches.into_iter().map(|cache| cache as _).collect();
    let (downlink, control) = Downlink::with_patience(carriers, std::time::Duration::from_secs(5));
    let wanted = dataset(packed);
    let pulling = tokio::task::spawn_blocking(move || {
        let sealed = gleaner_data::Source::chunk(&downlink, wanted.root).map_err(unpack::Error::Source)?;
        let root = Root::open(&wanted.key, sealed)?;
        let options = unpack::Options { threads: 2, case: Case::Unknown, bytes_max: u64::MAX };
        unpack(&root, &downlink, &to, options, &unpack::Progress::default()).map(|_| ())
    });
    (pulling, control)
}

/// Every file of a folder with the hash of what is in it.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, blake3::Hash> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let hash = blake3::hash(&std::fs::read(&path).unwrap());
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), hash);
            }
        }
    }
    found
}

/// Waits until this many bytes have come.
pub async fn bytes_came(control: &BringControl, bytes: u64) {
    control.progress().wait_for(|progress| progress.bytes > bytes).await.unwrap();
}
