//! What the tests share: a store in memory that can fail in many ways, and folders that can be compared.
use std::collections::{BTreeMap, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use gleaner_data::index::Index;
use gleaner_data::pack::{self, Counts, Packed};
use gleaner_data::seal::{AccountSecret, Keys};
use gleaner_data::squeeze::Level;
use gleaner_data::tree::Case;
use gleaner_data::{PortError, Sink, Source, unpack};
use gleaner_wire::{BlobRef, Hash};

/// A store in memory. What was put is lost in a crash until it is flushed.
#[derive(Default)]
pub struct Store {
    pub chunks: Mutex<HashMap<Hash, Vec<u8>>>,
    unflushed: Mutex<Vec<Hash>>,
    puts: AtomicU64,
    gets: AtomicU64,
    /// After how many it fails.
    pub puts_max: Option<u64>,
    pub gets_max: Option<u64>,
    /// What happens at each put.
    pub on_put: Option<Box<dyn Fn(u64) + Sync + Send>>,
}

impl Store {
    pub fn crash(mut self) -> Self {
        let chunks = self.chunks.get_mut().expect("not poisoned");
        self.unflushed.get_mut().expect("not poisoned").drain(..).for_each(|lost| {
            chunks.remove(&lost);
        });
        Self { chunks: Mutex::new(std::mem::take(chunks)), ..Self::default() }
    }

    pub fn bytes(&self) -> u64 {
        self.chunks.lock().expect("not poisoned").values().map(|chunk| chunk.len() as u64).sum()
    }
}

impl Sink for Store {
    fn put(&self, blob: BlobRef, sealed: Vec<u8>) -> Result<(), PortError> {
        let number = self.puts.fetch_add(1, Ordering::Relaxed);
        if self.puts_max.is_some_and(|max| number >= max) {
            return Err("the store is gone".into());
        }
        assert_eq!(BlobRef::of(&sealed), blob);
        if let Some(on_put) = &self.on_put {
            on_put(number);
        }
        self.unflushed.lock().expect("not poisoned").push(blob.id);
        self.chunks.lock().expect("not poisoned").insert(blob.id, sealed);
        Ok(())
    }

    fn flush(&self) -> Result<(), PortError> {
        self.unflushed.lock().expect("not poisoned").clear();
        Ok(())
    }
}

impl Source for Store {
    fn chunk(&self, blob: BlobRef) -> Result<Vec<u8>, PortError> {
        let number = self.gets.fetch_add(1, Ordering::Relaxed);
        if self.gets_max.is_some_and(|max| number >= max) {
            return Err("the store is gone".into());
        }
        self.chunks.lock().expect("not poisoned").get(&blob.id).cloned().ok_or_else(|| "no such chunk".into())
    }
}

/// A requester's machine: a folder, an index, a store far away.
pub struct World {
    pub home: tempfile::TempDir,
    pub keys: Keys,
    pub store: Store,
    outs: AtomicU64,
}

pub const OPTIONS: pack::Options = pack::Options { threads: 3, level: None, adapt: false, checksum: false };

impl World {
    pub fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(home.path().join("data")).expect("made");
        let keys = AccountSecret::from_bytes([5; 32]).keys();
        Self { home, keys, store: Store::default(), outs: AtomicU64::new(0) }
    }

    pub fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.data().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(&path, content).expect("written");
        path
    }

    pub fn try_pack(&self, path: &Path, options: pack::Options) -> Result<(Packed, Counts), pack::Error> {
        let mut index = Index::open(&self.home.path().join("index"), &self.keys).expect("the index");
        let progress = pack::Progress::default();
        let packed = pack::pack(path, &self.keys, &mut index, &self.store, options, &progress)?;
        Ok((packed, progress.counts()))
    }

    pub fn pack(&self) -> (Packed, Counts) {
        let options = pack::Options { level: Some(Level::new(3)), ..OPTIONS };
        self.try_pack(&self.data(), options).expect("packed")
    }

    pub fn try_unpack(&self, packed: &Packed, to: &Path, case: Case) -> Result<unpack::Counts, unpack::Error> {
        let options = unpack::Options { threads: 3, case, bytes_max: u64::MAX };
        let progress = unpack::Progress::default();
        let totals = unpack(&packed.root, &self.store, to, options, &progress)?;
        assert_eq!(totals, packed.root.totals);
        Ok(progress.counts())
    }

    /// Unpacks into a new folder and compares.
    pub fn check(&self, packed: &Packed) -> PathBuf {
        let out = self.home.path().join(format!("out-{}", self.outs.fetch_add(1, Ordering::Relaxed)));
        self.try_unpack(packed, &out, Case::Unknown).expect("unpacked");
        assert_same(&listing(&self.data()), &listing(&out));
        out
    }
}

/// Everything about a folder that a dataset keeps.
pub fn listing(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    list(folder, folder, &mut found);
    found
}

fn list(top: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in std::fs::read_dir(folder).expect("read") {
        let path = entry.expect("read").path();
        let meta = std::fs::symlink_metadata(&path).expect("there");
        let mode = meta.permissions().mode() & 0o7777;
        let text = if meta.is_symlink() {
            format!("link {}", std::fs::read_link(&path).expect("read").as_os_str().as_bytes().escape_ascii())
        } else if meta.is_dir() {
            list(top, &path, found);
            format!("folder {mode:o}")
        } else {
            let hash = blake3::hash(&std::fs::read(&path).expect("read"));
            format!("file {mode:o} {}.{:09} {} {hash}", meta.mtime(), meta.mtime_nsec(), meta.len())
        };
        found.insert(path.strip_prefix(top).expect("inside").to_owned(), text);
    }
}

pub fn assert_same(one: &BTreeMap<PathBuf, String>, other: &BTreeMap<PathBuf, String>) {
    for (path, text) in one {
        assert_eq!(Some(text), other.get(path), "{path:?}");
    }
    assert_eq!(one.len(), other.len());
}

/// Small numbers by chance, the same for the same seed.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}
