//! What an unpack needs, straight from those who have it: no store in between, and a bounded memory.
mod shelf;
mod stock;

use super::Error;
use super::carrier::Carrier;
use super::engine::{Control, Engine, Plan, Steering, Update};
use super::schedule::{Holds, Role, Scheduler};
use super::swarm::Turns;
use super::uplink::Broken;
use crate::port::{PortError, Source};
use bytes::Bytes;
use gleaner_wire::{BlobRef, WorkerKey};
use shelf::Shelf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use stock::Stock;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How long it waits when nobody has what is wanted.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What those who ask and the one who fetches share.
struct Shared {
    shelf: Mutex<Shelf>,
    /// Something has come, or nothing will any more.
    came: Condvar,
    /// Something is wanted, or there is room again.
    asked: Notify,
    why: Arc<OnceLock<Error>>,
}

impl Shared {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fetches what is announced or asked for. It is used from threads that may block, never from a task.
pub struct Downlink {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Downlink {
    /// From these, each of which may have everything. To be called within a runtime.
    pub fn open(carriers: Vec<Arc<dyn Carrier>>) -> (Self, Control) {
        Self::with_patience(carriers, PATIENCE)
    }

    /// The same, giving up when nobody has had what is wanted for this long.
    pub fn with_patience(carriers: Vec<Arc<dyn Carrier>>, patience: Duration) -> (Self, Control) {
        let shared = Arc::new(Shared {
            shelf: Mutex::new(Shelf::new()),
            came: Condvar::new(),
            asked: Notify::new(),
            why: Arc::default(),
        });
        let (steering, control) = Steering::new();
        // Alone: turns are for those who fetch the same into stores, and serve it.
        let scheduler = Scheduler::new(Turns::new(WorkerKey([0; 32])), 0);
        let mut engine = Engine::new(Stock::new(Arc::clone(&shared)), Plan { scheduler, steering, patience });
        for carrier in carriers {
            engine.told(Update::Joined { carrier, role: Role::Origin, holds: Holds::All }, &mut Vec::new());
        }
        let fetching = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            let _over = Over(&fetching);
            let ended = engine.run().await.err().unwrap_or(Error::Stopped);
            let _ = fetching.why.set(ended);
        });
        (Self { shared, task }, control)
    }

    fn wait_for(&self, blob: BlobRef) -> Result<Bytes, PortError> {
        let mut shelf = self.shared.shelf();
        loop {
            let taken = shelf.take(blob);
            self.shared.asked.notify_one();
            if let Some(bytes) = taken {
                return Ok(bytes);
            }
            if self.shared.why.get().is_some() || self.task.is_finished() {
                return Err(Box::new(Broken::new(Arc::clone(&self.shared.why))));
            }
            shelf = self.shared.came.wait(shelf).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Wakes those who wait when nothing comes any more, however that came about.
struct Over<'a>(&'a Shared);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let _ = self.0.why.set(Error::Stopped);
        let _shelf = self.0.shelf();
        self.0.came.notify_all();
    }
}

impl Drop for Downlink {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Source for Downlink {
    fn chunk(&self, blob: BlobRef) -> Result<Vec<u8>, PortError> {
        self.wait_for(blob).map(Vec::from)
    }

    fn ahead(&self, blobs: &[BlobRef]) {
        self.shared.shelf().announce(blobs);
        self.shared.asked.notify_one();
    }
}
