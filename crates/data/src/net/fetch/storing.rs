//! What has arrived, on its way to the disk: in batches, a few at a time, each holding its room in memory until then.
use crate::net::Error;
use crate::store::{Store, Verified};
use gleaner_wire::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;

/// A batch is stored when it has this many bytes or chunks, or has waited this long: whoever is killed loses little.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
const BATCH_CHUNKS: usize = 512;
const BATCH_TIME: Duration = Duration::from_millis(25);
/// Batches that are stored at a time: the store commits those that wait together.
const STORING_MAX: usize = 3;

/// Chunks that are stored now.
pub struct Stored {
    pub ids: Vec<Hash>,
    pub bytes: u64,
}

pub struct Storing {
    store: Arc<Store>,
    batch: Vec<Verified>,
    room: Vec<OwnedSemaphorePermit>,
    size: usize,
    /// When the first of the batch came.
    since: Instant,
    running: JoinSet<Result<Stored, crate::store::Error>>,
}

impl Storing {
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, batch: Vec::new(), room: Vec::new(), size: 0, since: Instant::now(), running: JoinSet::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.batch.is_empty() && self.running.is_empty()
    }

    pub fn add(&mut self, chunk: Verified, room: OwnedSemaphorePermit) {
        if self.batch.is_empty() {
            self.since = Instant::now();
        }
        self.size += chunk.bytes().len();
        self.batch.push(chunk);
        self.room.push(room);
        self.flush_full();
    }

    /// Begins to store what there is if it is a whole batch, or an old one.
    pub fn flush_full(&mut self) {
        if self.size >= BATCH_BYTES || self.batch.len() >= BATCH_CHUNKS || self.since.elapsed() >= BATCH_TIME {
            self.flush();
        }
    }

    /// Begins to store what there is, unless enough is being stored already.
    pub fn flush(&mut self) {
        if self.batch.is_empty() || self.running.len() >= STORING_MAX {
            return;
        }
        let (chunks, room) = (std::mem::take(&mut self.batch), std::mem::take(&mut self.room));
        let bytes = std::mem::take(&mut self.size) as u64;
        let store = Arc::clone(&self.store);
        self.running.spawn_blocking(move || {
            let ids = chunks.iter().map(Verified::id).collect();
            let stored = store.put_verified(chunks).map(|_| Stored { ids, bytes });
            drop(room);
            stored
        });
    }

    /// The next batch that is stored; for ever, if none is under way.
    pub async fn next(&mut self) -> Result<Stored, Error> {
        match self.running.join_next().await {
            Some(Ok(stored)) => stored.map_err(Error::from),
            Some(Err(_)) => Err(Error::Malformed("what the store gave")),
            None => std::future::pending().await,
        }
    }

    /// Stores everything that is left.
    pub async fn finish(&mut self) -> Result<Vec<Stored>, Error> {
        let mut all = Vec::new();
        while !self.is_empty() {
            self.flush();
            all.push(self.next().await?);
        }
        Ok(all)
    }
}
