//! Somebody whom chunks can be asked of: a peer, or the hub's cache. And the way of what they answer into a fetch.
use super::Error;
use super::engine::{Pace, Room};
use super::frames::{Answer, Frame};
use super::inbox::Inbox;
use super::schedule::{RequestId, Route, SourceId};
use crate::store::Verified;
use futures_util::future::BoxFuture;
use gleaner_wire::BlobRef;
use std::sync::Arc;
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

    /// How long a question and the first of its answer are on their way, if that is known.
    fn round_trip(&self) -> Option<Duration> {
        None
    }

    /// Whether it goes on in the middle of a chunk, see [`Delivery::begun`].
    fn goes_on(&self) -> bool {
        false
    }
}

/// What happens on the way of a request.
#[derive(Debug)]
pub(super) enum Arrival {
    /// Bytes came.
    Bytes(u64),
    /// A chunk is whole; it takes its room along.
    Chunk(Verified, Room),
    /// A chunk is not there.
    Absent(BlobRef),
    /// It is not the source that makes this take long.
    Waited,
    /// The request has ended.
    Ended(Result<(), Error>),
}

/// What happened to which request.
pub(super) type Arrived = (SourceId, RequestId, Arrival);

/// Takes what is answered to one request.
pub struct Delivery {
    source: SourceId,
    request: RequestId,
    blobs: Vec<BlobRef>,
    begun: Vec<u32>,
    to: mpsc::Sender<Arrived>,
    room: Arc<Semaphore>,
    pace: Arc<Pace>,
    inbox: Arc<Inbox>,
    /// Bytes that the fetch has not been told of yet, and when it was told last.
    untold: (u64, Instant),
}

impl Delivery {
    /// For a request for chunks, the first of which may have begun; and where to find what it has not handed on.
    pub(super) fn new(
        (source, request): (SourceId, RequestId),
        blobs: Vec<BlobRef>,
        begun: Vec<Vec<u8>>,
        to: mpsc::Sender<Arrived>,
        room: Arc<Semaphore>,
        pace: Arc<Pace>,
    ) -> (Self, Arc<Inbox>) {
        let last = begun.iter().rposition(|bytes| !bytes.is_empty()).map_or(0, |last| last + 1);
        let lengths = begun[..last].iter().map(|bytes| u32::try_from(bytes.len()).expect("chunks are short")).collect();
        let begun = begun.into_iter().chain(std::iter::repeat(Vec::new()));
        let inbox = Arc::new(Inbox::new(Answer::new(blobs.iter().copied().zip(begun))));
        let shared = Arc::clone(&inbox);
        (Self { source, request, blobs, begun: lengths, to, room, pace, inbox, untold: (0, Instant::now()) }, shared)
    }

    /// What is asked for.
    pub fn blobs(&self) -> &[BlobRef] {
        &self.blobs
    }

    /// How many bytes are here already of the first chunks, and are not to be sent again.
    pub fn begun(&self) -> &[u32] {
        &self.begun
    }

    /// Whether everything has been answered.
    pub fn is_complete(&self) -> bool {
        self.inbox.is_complete()
    }

    /// Takes the next bytes of the answer; waits if they come faster than they can be stored or than is allowed.
    /// Returns the bytes that have come so far of chunks that are whole.
    pub async fn take(&mut self, piece: &[u8]) -> Result<u64, Error> {
        self.take_all(&[piece]).await
    }

    /// The same for pieces that came together.
    pub async fn take_all(&mut self, pieces: &[impl AsRef<[u8]>]) -> Result<u64, Error> {
        let came = pieces.iter().map(|piece| piece.as_ref().len() as u64).sum();
        let outcome = self.inbox.push(pieces);
        // Before anything is handed on: a limit that is kept afterwards is not kept.
        self.paced(came).await?;
        self.untold.0 += came;
        let mut first = self.inbox.first();
        if self.untold.0 >= TOLD_BYTES || self.untold.1.elapsed() >= TOLD_TIME || first.is_some() {
            let (bytes, _) = std::mem::replace(&mut self.untold, (0, Instant::now()));
            self.tell(Arrival::Bytes(bytes)).await?;
        }
        while let Some(bytes) = first {
            let room = self.room(u32::try_from(bytes).expect("chunks are short")).await?;
            // What is handed on is in the inbox until the fetch has it.
            let place = self.to.reserve().await.map_err(|_| Error::Stopped)?;
            let arrival = match self.inbox.pop().ok_or(Error::Stopped)? {
                Frame::Absent(blob) => Arrival::Absent(blob),
                Frame::Chunk(chunk) => Arrival::Chunk(chunk, Some(room)),
            };
            place.send((self.source, self.request, arrival));
            first = self.inbox.first();
        }
        outcome.map(|()| self.inbox.whole_bytes())
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
