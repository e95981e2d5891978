//! Bringing chunks of a store to somebody: only what is missing there, over several streams, resumed exactly.
use super::Error;
use super::engine::Pace;
use super::serve::blocking;
use super::uplink::{Ended, Line, PATIENCE, Patience, PushControl, Pushed};
use crate::store::{Bitmap, Store, Verify};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use gleaner_wire::Hash;
use std::sync::Arc;
use std::time::Instant;

/// Chunks that are asked about at a time.
const PAGE_CHUNKS: usize = super::IDS_MAX;
/// Chunks that are read from the store at a time.
const READ_CHUNKS: usize = 64;

/// Somebody whom chunks can be brought to.
pub trait Taker: Send + Sync + 'static {
    /// Which of these it has.
    fn having(&self, ids: Vec<Hash>) -> BoxFuture<'_, Result<Bitmap, Error>>;

    /// Brings chunks. When this returns they are safe there.
    fn give(&self, chunks: Vec<Bytes>, pace: Arc<Pace>) -> BoxFuture<'_, Result<(), Error>>;
}

/// A push that has not begun.
pub struct Push {
    store: Arc<Store>,
    taker: Arc<dyn Taker>,
    line: Line,
    control: PushControl,
}

/// Why a push does not go on: for a reason of its own, or because its line has ended.
enum Failure {
    Own(Error),
    Line,
}

impl From<Ended> for Failure {
    fn from(Ended: Ended) -> Self {
        Self::Line
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Own(error)
    }
}

impl Push {
    /// From this store to that machine. To be called within a runtime.
    pub fn new(store: Arc<Store>, taker: Arc<dyn Taker>) -> (Self, PushControl) {
        let (line, control) = Line::open(Arc::clone(&taker), PATIENCE);
        (Self { store, taker, line, control: control.clone() }, control)
    }

    /// Brings what of these is missing there.
    pub async fn run(self, ids: impl Iterator<Item = Hash> + Send) -> Result<Pushed, Error> {
        match self.pages(ids).await {
            Ok(()) => Ok(*self.control.progress().borrow()),
            Err(Failure::Own(error)) => Err(error),
            Err(Failure::Line) => Err(self.line.ended().await),
        }
    }

    async fn pages(&self, mut ids: impl Iterator<Item = Hash> + Send) -> Result<(), Failure> {
        loop {
            let page: Vec<Hash> = ids.by_ref().take(PAGE_CHUNKS).collect();
            if page.is_empty() {
                return Ok(self.line.flush().await?);
            }
            let has = self.having(&page).await?;
            self.line.note_known(has.count() as u64)?;
            let missing: Vec<Hash> = has.positions(false).map(|position| page[position]).collect();
            for some in missing.chunks(READ_CHUNKS) {
                self.bring(some.to_vec()).await?;
            }
        }
    }

    /// What of a page is there, however often it has to be asked.
    async fn having(&self, page: &[Hash]) -> Result<Bitmap, Error> {
        let mut patience = Patience::new(PATIENCE);
        loop {
            let began = Instant::now();
            let answer = tokio::select! {
                answer = self.taker.having(page.to_vec()) => answer,
                () = self.control.stopped() => Err(Error::Stopped),
            };
            match answer {
                Ok(has) if has.len() == page.len() => return Ok(has),
                Ok(_) => return Err(Error::Malformed("a list of chunks")),
                Err(error) => patience.failed(began, error)?,
            }
            if let Some(until) = patience.paused_until() {
                tokio::select! {
                    () = tokio::time::sleep_until(until.into()) => {}
                    () = self.control.stopped() => return Err(Error::Stopped),
                }
            }
        }
    }

    /// Reads chunks and brings them. What is not in the store any more is left out.
    async fn bring(&self, ids: Vec<Hash>) -> Result<(), Failure> {
        let (store, wanted) = (Arc::clone(&self.store), ids.clone());
        let chunks = blocking(move || store.get_many(&wanted, Verify::Here)).await?;
        for (id, chunk) in ids.into_iter().zip(chunks) {
            if let Some(bytes) = chunk {
                self.line.put(id, bytes, true).await?;
            }
        }
        Ok(())
    }
}
