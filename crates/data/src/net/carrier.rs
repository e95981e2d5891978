//! Somebody whom chunks can be asked of: a peer, or the hub's cache. And the way of what they answer into a fetch.
use super::Error;
use super::fetch::pace::Pace;
use super::frames::{Answer, Frame};
use super::schedule::{RequestId, Route, SourceId};
use crate::store::Verified;
use futures_util::future::BoxFuture;
use gleaner_wire::BlobRef;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Bytes are told of in steps of this many, or of this time: a fetch on a fast line need not hear of every packet.
const TOLD_BYTES: u64 = 64 * 1024;
const TOLD_TIME: Duration = Duration::from_millis(200);
/// While a fetch itself is the reason for waiting, it is told so this often.
const WAIT_TOLD: Duration = Duration::from_millis(500);

/// Somebody whom chunks can be asked of.
pub trait Carrier: Send + Sync + 'static {
    /// What people know it by.
    fn name(&self) -> String;

    /// How it is reached at the moment.
    fn route(&self) -> Route;

    /// Asks for chunks and delivers what is answered. Dropping the future stops the request.
    fn want(self: Arc<Self>, delivery: Delivery) -> BoxFuture<'static, Result<(), Error>>;

    /// Gives up the connection, because nothing comes over it any more; the next request makes a new one.
    fn reset(&self) {}
}

/// What happens on the way of a request.
#[derive(Debug)]
pub(super) enum Arrival {
    /// Bytes came.
    Bytes(u64),
    /// A chunk is whole; it takes its room along.
    Chunk(Verified, OwnedSemaphorePermit),
    /// A chunk is not there.
    Absent(BlobRef),
    /// It is not the source that makes this take long.
    Waited,
    /// The request has ended; bytes of an unfinished chunk are lost.
    Ended(Result<(), Error>, u64),
}

/// Takes what is answered to one request.
pub struct Delivery {
    pub(super) request: RequestId,
    pub(super) source: SourceId,
    pub(super) blobs: Vec<BlobRef>,
    pub(super) to: mpsc::Sender<(SourceId, RequestId, Arrival)>,
    pub(super) room: Arc<Semaphore>,
    pub(super) pace: Arc<Pace>,
    pub(super) answer: Answer,
    /// Bytes of a chunk that is not whole, kept where they are seen even if the request is broken off.
    pub(super) unfinished: Arc<AtomicU64>,
    /// Bytes that the fetch has not been told of yet, and when it was told last.
    pub(super) untold: (u64, Instant),
}

impl Delivery {
    /// What is asked for.
    pub fn blobs(&self) -> &[BlobRef] {
        &self.blobs
    }

    /// Whether everything has been answered.
    pub fn is_complete(&self) -> bool {
        self.answer.is_complete()
    }

    /// Takes the next bytes of the answer; waits if they come faster than they can be stored or than is allowed.
    /// Returns the bytes of chunks that are whole now.
    pub async fn take(&mut self, piece: &[u8]) -> Result<u64, Error> {
        self.take_all(&[piece]).await
    }

    /// The same for pieces that came together.
    pub async fn take_all(&mut self, pieces: &[impl AsRef<[u8]>]) -> Result<u64, Error> {
        let came = pieces.iter().map(|piece| piece.as_ref().len() as u64).sum();
        // First of all: a limit that is kept after bytes were handed on is not kept.
        self.paced(came).await?;
        let mut frames = Vec::new();
        let outcome = pieces.iter().try_for_each(|piece| self.answer.push(piece.as_ref(), &mut frames));
        self.unfinished.store(self.answer.unfinished(), Ordering::Relaxed);
        self.untold.0 += came;
        if self.untold.0 >= TOLD_BYTES || self.untold.1.elapsed() >= TOLD_TIME || !frames.is_empty() {
            let (bytes, _) = std::mem::replace(&mut self.untold, (0, Instant::now()));
            self.tell(Arrival::Bytes(bytes)).await?;
        }
        let mut whole = 0;
        for frame in frames {
            match frame {
                Frame::Absent(blob) => self.tell(Arrival::Absent(blob)).await?,
                Frame::Chunk(chunk) => {
                    whole += chunk.blob().bytes;
                    let permit = self.room(u32::try_from(chunk.bytes().len()).expect("chunks are short")).await?;
                    self.tell(Arrival::Chunk(chunk, permit)).await?;
                }
            }
        }
        outcome.map(|()| whole)
    }

    async fn room(&self, bytes: u32) -> Result<OwnedSemaphorePermit, Error> {
        loop {
            let waiting = Arc::clone(&self.room).acquire_many_owned(bytes);
            match tokio::time::timeout(WAIT_TOLD, waiting).await {
                Ok(permit) => return permit.map_err(|_| Error::Stopped),
                Err(_) => self.tell(Arrival::Waited).await?,
            }
        }
    }

    async fn paced(&self, bytes: u64) -> Result<(), Error> {
        let mut owed = bytes;
        while let Some(wait) = self.pace.take(&mut owed) {
            tokio::time::sleep(wait.min(WAIT_TOLD)).await;
            self.tell(Arrival::Waited).await?;
        }
        Ok(())
    }

    pub(super) async fn tell(&self, arrival: Arrival) -> Result<(), Error> {
        self.to.send((self.source, self.request, arrival)).await.map_err(|_| Error::Stopped)
    }
}
