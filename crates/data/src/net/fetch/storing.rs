//! What has arrived, on its way to the disk: at once if the disk has nothing to do, else in batches, a few at a time. Each
//! holds its room in memory until then.
use crate::net::Error;
use crate::net::engine::Room;
use crate::store::{Store, Verified};
use gleaner_wire::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Whoever is killed loses what is not stored. So a disk that has nothing to do gets what there is, but not more often than
/// this: every commit costs the same, however little it is for.
const COMMIT_GAP: Duration = Duration::from_millis(10);
/// While something is being stored, the next batch begins when it has this many bytes or chunks, or has waited this long.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
const BATCH_CHUNKS: usize = 512;
const BATCH_TIME: Duration = Duration::from_millis(25);
/// Batches that are stored at a time: the store commits those that wait together.
const STORING_MAX: usize = 3;

/// Chunks that are stored now.
pub(super) struct Stored {
    pub(super) ids: Vec<Hash>,
    pub(super) bytes: u64,
}

pub(super) struct Storing {
    store: Arc<Store>,
    batch: Vec<Verified>,
    room: Vec<Room>,
    size: usize,
    /// When the first of the batch came.
    since: Instant,
    /// When the last batch was begun with.
    begun: Option<Instant>,
    running: JoinSet<Result<Stored, crate::store::Error>>,
}

impl Storing {
    pub(super) fn new(store: Arc<Store>) -> Self {
        let (batch, room, running) = (Vec::new(), Vec::new(), JoinSet::new());
        Self { store, batch, room, size: 0, since: Instant::now(), begun: None, running }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batch.is_empty() && self.running.is_empty()
    }

    pub(super) fn add(&mut self, chunk: Verified, room: Room) {
        if self.batch.is_empty() {
            self.since = Instant::now();
        }
        self.size += chunk.bytes().len();
        self.batch.push(chunk);
        self.room.push(room);
        if self.is_full() {
            self.flush();
        }
    }

    fn is_full(&self) -> bool {
        self.size >= BATCH_BYTES || self.batch.len() >= BATCH_CHUNKS
    }

    /// When what there is should be stored, if anything should be.
    fn due(&self) -> Option<Instant> {
        if self.batch.is_empty() || self.running.len() >= STORING_MAX {
            None
        } else if self.running.is_empty() {
            Some(self.begun.map_or(self.since, |begun| begun + COMMIT_GAP))
        } else if self.is_full() {
            Some(self.since)
        } else {
            Some(self.since + BATCH_TIME)
        }
    }

    /// Begins to store what there is if it is time.
    pub(super) fn flush_due(&mut self) {
        if self.due().is_some_and(|due| due <= Instant::now()) {
            self.flush();
        }
    }

    /// Begins to store what there is, unless enough is being stored already.
    pub(super) fn flush(&mut self) {
        if self.batch.is_empty() || self.running.len() >= STORING_MAX {
            return;
        }
        self.begun = Some(Instant::now());
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

    /// The next batch that is stored; for ever, if there is nothing to store.
    pub(super) async fn next(&mut self) -> Result<Stored, Error> {
        loop {
            let due = self.due();
            tokio::select! {
                Some(stored) = self.running.join_next() => return match stored {
                    Ok(stored) => stored.map_err(Error::from),
                    Err(_) => Err(Error::Malformed("what the store gave")),
                },
                () = tokio::time::sleep_until(due.unwrap_or(self.since).into()), if due.is_some() => self.flush(),
                else => std::future::pending().await,
            }
        }
    }

    /// Stores everything that is left.
    pub(super) async fn finish(&mut self) -> Result<Vec<Stored>, Error> {
        let mut all = Vec::new();
        while !self.is_empty() {
            self.flush();
            all.push(self.next().await?);
        }
        Ok(all)
    }
}
