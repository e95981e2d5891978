//! Bringing chunks to somebody: only what is missing there, over several streams, resumed exactly.
//!
//! Each stream carries one batch and ends when the other side says that the batch would survive a crash. After any
//! failure the other side is asked again what it has, so what was sent twice is at most what was under way.
use super::Error;
use super::fetch::Pace;
use super::serve::blocking;
use crate::store::{Bitmap, Store, Verify};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use gleaner_wire::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Streams at a time.
const STREAMS: usize = 8;
/// A batch has this many bytes, as its line allows: what one stream carries is sent again if it breaks.
const BATCH_BYTES_MIN: usize = 256 * 1024;
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// A batch should take about this long, or some times the quickest one on a line where all take long: if it takes longer
/// the next is smaller, if much less it is larger.
const BATCH_TIME: Duration = Duration::from_millis(200);
const BATCH_QUICKEST: u32 = 4;
/// Chunks whose bytes are read before it is known how many fit.
const READ_CHUNKS: usize = 64;
/// Chunks that are asked about at a time.
const PAGE_CHUNKS: usize = super::IDS_MAX;
/// Failures in a row, without anything getting through, after which a push gives up.
const TRIES_MAX: u32 = 6;
const PAUSE_FIRST: Duration = Duration::from_millis(250);

/// Somebody whom chunks can be brought to.
pub trait Taker: Send + Sync + 'static {
    /// Which of these it has.
    fn having(&self, ids: Vec<Hash>) -> BoxFuture<'_, Result<Bitmap, Error>>;

    /// Brings chunks. When this returns they are safe there.
    fn give(&self, chunks: Vec<Bytes>, pace: Arc<Pace>) -> BoxFuture<'_, Result<(), Error>>;
}

/// How far a push is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Chunks that were there already.
    pub known: u64,
    /// Chunks that were brought and are safe.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that were sent again, because it was not known whether they had arrived.
    pub again: u64,
}

/// Steers a push while it runs.
#[derive(Clone)]
pub struct PushControl {
    pace: Arc<Pace>,
    stop: Arc<watch::Sender<bool>>,
    progress: watch::Receiver<Pushed>,
}

impl PushControl {
    /// At most this many bytes a second from now on.
    pub fn set_limit(&self, limit: Option<u64>) {
        self.pace.set_limit(limit);
    }

    /// Ends it; what is safe stays, and the next push goes on from there.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// How far it is.
    pub fn progress(&self) -> watch::Receiver<Pushed> {
        self.progress.clone()
    }
}

/// A push that has not begun.
pub struct Push {
    store: Arc<Store>,
    taker: Arc<dyn Taker>,
    pace: Arc<Pace>,
    stop: watch::Receiver<bool>,
    progress: watch::Sender<Pushed>,
    pushed: Pushed,
    batch_bytes: usize,
    quickest: Duration,
}

impl Push {
    /// From this store to that machine.
    pub fn new(store: Arc<Store>, taker: Arc<dyn Taker>) -> (Self, PushControl) {
        let (stop, stopped) = watch::channel(false);
        let (shown, progress) = watch::channel(Pushed::default());
        let pace = Arc::new(Pace::new(None));
        let control = PushControl { pace: Arc::clone(&pace), stop: Arc::new(stop), progress };
        let push = Self {
            store,
            taker,
            pace,
            stop: stopped,
            progress: shown,
            pushed: Pushed::default(),
            batch_bytes: BATCH_BYTES_MIN,
            quickest: Duration::MAX,
        };
        (push, control)
    }

    /// Brings what of these is missing there.
    pub async fn run(mut self, ids: impl Iterator<Item = Hash> + Send) -> Result<Pushed, Error> {
        let mut ids = ids;
        loop {
            let page: Vec<Hash> = ids.by_ref().take(PAGE_CHUNKS).collect();
            if page.is_empty() {
                return Ok(self.pushed);
            }
            self.page(&page).await?;
        }
    }

    async fn page(&mut self, page: &[Hash]) -> Result<(), Error> {
        let (mut tries, mut first) = (0, true);
        loop {
            let before = self.pushed.chunks;
            match self.page_once(page, first).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_fault() || matches!(error, Error::Stopped | Error::Store(_)) => {
                    return Err(error);
                }
                Err(error) => {
                    tries = if self.pushed.chunks > before { 1 } else { tries + 1 };
                    if tries >= TRIES_MAX {
                        return Err(error);
                    }
                    tracing::debug!(%error, tries, "going on with a push");
                    tokio::time::sleep(PAUSE_FIRST * (1 << tries)).await;
                }
            }
            first = false;
        }
    }

    fn adapt(&mut self, taken: Duration) {
        self.quickest = self.quickest.min(taken);
        let enough = BATCH_TIME.max(self.quickest * BATCH_QUICKEST);
        if taken > enough {
            self.batch_bytes = (self.batch_bytes / 2).max(BATCH_BYTES_MIN);
        } else if taken < enough / 2 {
            self.batch_bytes = (self.batch_bytes * 2).min(BATCH_BYTES_MAX);
        }
    }

    async fn page_once(&mut self, page: &[Hash], first: bool) -> Result<(), Error> {
        let has = self.taker.having(page.to_vec()).await?;
        if has.len() != page.len() {
            return Err(Error::Malformed("a list of chunks"));
        }
        if first {
            self.pushed.known += has.count() as u64;
        }
        let missing: Vec<Hash> = has.positions(false).map(|position| page[position]).collect();
        let mut batches = Batches { store: Arc::clone(&self.store), missing, read: 0, ahead: Vec::new() };
        let mut streams = JoinSet::new();
        let (mut failed, mut stop) = (None, self.stop.clone());
        loop {
            while failed.is_none() && streams.len() < STREAMS {
                if *self.stop.borrow() {
                    failed = Some(Error::Stopped);
                    break;
                }
                let Some(chunks) = batches.next(self.batch_bytes).await? else { break };
                let (taker, pace) = (Arc::clone(&self.taker), Arc::clone(&self.pace));
                streams.spawn(async move {
                    let count = chunks.len() as u64;
                    let bytes: u64 = chunks.iter().map(|chunk| chunk.len() as u64).sum();
                    let begun = Instant::now();
                    let given = taker.give(chunks, pace).await;
                    given.map(|()| (count, bytes, begun.elapsed())).map_err(|error| (error, bytes))
                });
            }
            tokio::select! {
                given = streams.join_next() => match given {
                    None => return failed.map_or(Ok(()), Err),
                    Some(Ok(Ok((count, bytes, taken)))) => {
                        self.adapt(taken);
                        self.pushed.chunks += count;
                        self.pushed.bytes += bytes;
                        self.progress.send_replace(self.pushed);
                    }
                    Some(Ok(Err((error, bytes)))) => {
                        self.pushed.again += bytes;
                        failed = Some(error);
                    }
                    Some(Err(_)) => failed = Some(Error::Malformed("a push")),
                },
                Ok(_) = stop.wait_for(|stop| *stop), if failed.is_none() => return Err(Error::Stopped),
            }
        }
    }
}

/// The chunks of a page, read from the store as they are needed.
struct Batches {
    store: Arc<Store>,
    missing: Vec<Hash>,
    read: usize,
    ahead: Vec<Bytes>,
}

impl Batches {
    /// The next chunks, up to a limit. What is not in the store any more is left out.
    async fn next(&mut self, limit: usize) -> Result<Option<Vec<Bytes>>, Error> {
        let (mut batch, mut size) = (Vec::new(), 0);
        loop {
            if self.ahead.is_empty() && self.read < self.missing.len() {
                let ids: Vec<Hash> = self.missing[self.read..].iter().take(READ_CHUNKS).copied().collect();
                self.read += ids.len();
                let store = Arc::clone(&self.store);
                let chunks = blocking(move || store.get_many(&ids, Verify::Here)).await?;
                self.ahead = chunks.into_iter().flatten().rev().collect();
            }
            match self.ahead.pop() {
                Some(chunk) if size == 0 || size + chunk.len() <= limit => {
                    size += chunk.len();
                    batch.push(chunk);
                }
                Some(chunk) => {
                    self.ahead.push(chunk);
                    return Ok(Some(batch));
                }
                None if self.read < self.missing.len() => {}
                None => return Ok((!batch.is_empty()).then_some(batch)),
            }
        }
    }
}
