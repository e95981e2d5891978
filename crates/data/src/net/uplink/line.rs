//! The line to somebody who takes chunks, as those see it who have some to bring.
use super::engine::{Engine, Order, Parcel};
use super::flow::{Flow, Speed};
use super::steering::{PushControl, Steering};
use crate::net::Error;
use crate::net::push::Taker;
use crate::port::Mark;
use bytes::Bytes;
use gleaner_wire::Hash;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

/// Bytes of chunks that wait here, are asked about or are on their way.
pub const MEMORY_BYTES_MAX: usize = 24 * 1024 * 1024;
/// What a chunk takes besides its bytes, at most.
const PARCEL_BYTES: usize = 512;

/// The line has ended, and says why when it is asked.
#[derive(Debug)]
pub(in crate::net) struct Ended;

/// Brings chunks, a bounded number of bytes at a time. Ends when it is dropped.
pub(in crate::net) struct Line {
    orders: mpsc::UnboundedSender<Order>,
    room: Arc<Semaphore>,
    why: Arc<OnceLock<Error>>,
    speed: Speed,
    task: Option<JoinHandle<()>>,
}

impl Line {
    pub(in crate::net) fn open(taker: Arc<dyn Taker>, patience: Duration) -> (Self, PushControl) {
        let (orders, ordered) = mpsc::unbounded_channel();
        let (steering, control) = Steering::new();
        let (room, why) = (Arc::new(Semaphore::new(MEMORY_BYTES_MAX)), Arc::new(OnceLock::new()));
        let speed = Speed::default();
        let mut engine = Engine::new(taker, patience, steering, ordered, Flow::new(speed.clone()));
        let (rooms, told) = (Arc::clone(&room), Arc::clone(&why));
        let task = tokio::spawn(async move {
            if let Err(error) = engine.run().await {
                // Nobody finds the line ended before it can find out why.
                let _ = told.set(error);
            }
            rooms.close();
        });
        (Self { orders, room, why, speed, task: Some(task) }, control)
    }

    /// Brings a chunk; waits while too much is under way. `missing`: it is known that the taker lacks it.
    pub(in crate::net) async fn put(&self, id: Hash, bytes: Bytes, missing: bool) -> Result<(), Ended> {
        let weight = u32::try_from((bytes.len() + PARCEL_BYTES).min(MEMORY_BYTES_MAX)).expect("some megabytes");
        let room = Arc::clone(&self.room).acquire_many_owned(weight).await.map_err(|_| Ended)?;
        self.orders.send(Order::Bring(Parcel::new(id, bytes, missing, room))).map_err(|_| Ended)
    }

    /// Counts chunks that the taker has already.
    pub(in crate::net) fn note_known(&self, chunks: u64) -> Result<(), Ended> {
        self.orders.send(Order::Known(chunks)).map_err(|_| Ended)
    }

    /// Returns when everything that was put before is safe there.
    pub(in crate::net) async fn flush(&self) -> Result<(), Ended> {
        let (done, flushed) = oneshot::channel();
        self.orders.send(Order::Flush(done)).map_err(|_| Ended)?;
        flushed.await.map_err(|_| Ended)
    }

    /// Marks what was put so far; the mark is reached when that is safe there.
    pub(in crate::net) fn mark(&self) -> Result<Mark, Ended> {
        let mark = Mark::default();
        self.orders.send(Order::Mark(mark.clone())).map_err(|_| Ended)?;
        Ok(mark)
    }

    /// Bytes a second that go through, if chunks have to wait for it.
    pub(in crate::net) fn speed(&self) -> Option<u64> {
        self.speed.get()
    }

    /// Why it has ended, if it has.
    pub(in crate::net) fn why(&self) -> &Arc<OnceLock<Error>> {
        &self.why
    }

    /// Why it has ended, for the only one who wants to know.
    pub(in crate::net) async fn ended(mut self) -> Error {
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
        let why = Arc::clone(&self.why);
        drop(self);
        Arc::into_inner(why).and_then(OnceLock::into_inner).unwrap_or(Error::Stopped)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.iter().for_each(JoinHandle::abort);
    }
}
