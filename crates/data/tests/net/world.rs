//! What the tests share: machines with a key, a store and an endpoint on loopback, and a hub that grants.
use ed25519_dalek::SigningKey;
use gleaner_data::net::schedule::{Holds, Role};
use gleaner_data::net::{
    Authority, Control, Error, Fetch, Grant, Network, Peer, Progress, Right, Server, Setup, SignedGrant, Update, Wish,
    public,
};
use gleaner_data::store::{Chunk, Store, Verify};
use gleaner_wire::{BlobRef, Hash, Millis, WorkerKey};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub const ROOT: Hash = Hash([0xaa; 32]);
pub const LIMIT: u64 = 1 << 30;

pub fn hub() -> SigningKey {
    SigningKey::from_bytes(&[0x11; 32])
}

pub fn authority() -> Authority {
    Authority::new(public(&hub()))
}

pub fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

pub fn grant(peer: WorkerKey, right: Right) -> SignedGrant {
    Grant { root: ROOT, peer, right, until: Millis(u64::MAX) }.sign(&hub())
}

/// Chunks without any pattern, of lengths like those of real ones.
pub fn chunks(seed: u64, count: usize) -> Vec<Chunk> {
    let chunk = |number: usize| {
        let length = 16 * 1024 + (number * 40_503 + 7) % (96 * 1024);
        Chunk::of(gleaner_data::measure::noise(seed << 32 | number as u64, length))
    };
    (0..count).map(chunk).collect()
}

pub fn bytes_of(chunks: &[Chunk]) -> u64 {
    chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum()
}

pub fn wishes(chunks: &[Chunk]) -> Vec<Wish> {
    let wish = |(position, chunk): (usize, &Chunk)| Wish {
        position: u32::try_from(position).unwrap(),
        blob: BlobRef { id: chunk.id, bytes: chunk.bytes.len() as u64 },
    };
    chunks.iter().enumerate().map(wish).collect()
}

pub fn loopback() -> Vec<SocketAddr> {
    vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))]
}

pub struct Machine {
    pub network: Network,
    pub store: Arc<Store>,
    _dir: tempfile::TempDir,
}

impl Machine {
    pub async fn new(number: u8) -> Self {
        let network = Network::open(Setup { key: key(number), listen: loopback(), relays: Vec::new() }).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(dir.path(), LIMIT).unwrap());
        Self { network, store, _dir: dir }
    }

    /// A machine that has these and serves them.
    pub async fn with(number: u8, chunks: &[Chunk]) -> (Self, Server) {
        let machine = Self::new(number).await;
        machine.fill(chunks);
        let server = Server::start(&machine.network, Arc::clone(&machine.store), authority());
        (machine, server)
    }

    pub fn fill(&self, chunks: &[Chunk]) {
        for batch in chunks.chunks(64) {
            self.store.put(batch.to_vec()).unwrap();
        }
    }

    pub fn serve(&self) -> Server {
        Server::start(&self.network, Arc::clone(&self.store), authority())
    }

    /// Another machine as this one sees it.
    pub fn peer(&self, other: &Self) -> Arc<Peer> {
        self.peer_at(other.network.address(), Right::Fetch)
    }

    pub fn peer_at(&self, address: iroh::EndpointAddr, right: Right) -> Arc<Peer> {
        let key = WorkerKey(*address.id.as_bytes());
        self.network.learn(address);
        Arc::new(Peer::new(self.network.clone(), key, grant(self.network.key(), right)))
    }

    /// A fetch of these chunks, not begun.
    pub fn fetch(&self, chunks: &[Chunk]) -> (Fetch<std::vec::IntoIter<Wish>>, Control) {
        let (fetch, control) = Fetch::new(Arc::clone(&self.store), self.network.key(), wishes(chunks).into_iter());
        (fetch.with_patience(Duration::from_secs(8)), control)
    }

    /// Fetches these chunks from those sources.
    pub async fn fetch_from(&self, chunks: &[Chunk], sources: &[Arc<Peer>]) -> Result<Progress, Error> {
        let (fetch, control) = self.fetch(chunks);
        for source in sources {
            control.tell(joined(source)).await;
        }
        tokio::time::timeout(Duration::from_secs(60), fetch.run()).await.expect("a fetch ends")
    }

    pub fn has_all(&self, chunks: &[Chunk]) -> bool {
        has_all(&self.store, chunks)
    }
}

pub fn joined(source: &Arc<Peer>) -> Update {
    Update::Joined { carrier: Arc::clone(source) as _, role: Role::Peer, holds: Holds::All }
}

pub fn has_all(store: &Store, chunks: &[Chunk]) -> bool {
    chunks.iter().all(|chunk| store.get(&chunk.id, Verify::Here).unwrap().is_some_and(|bytes| bytes == chunk.bytes))
}

/// Everything is as it should be on this disk.
pub fn assert_sound(folder: &Path, chunks: &[Chunk]) {
    let store = Store::open(folder, LIMIT).unwrap();
    let checked = store.check(|_| {}).unwrap();
    assert_eq!((checked.bad.len(), checked.orphans, checked.miscounted), (0, 0, 0), "{checked:?}");
    assert!(has_all(&store, chunks));
    assert_eq!(checked.chunks, chunks.len() as u64, "nothing that nobody asked for");
}
