//! Fetching chunks from many sources at once into a store.
//!
//! What is in the store is not wanted, so a fetch that is run again goes on where the last one ended. Memory is bounded
//! however much is wanted: the list is read as it is needed, and arrivals wait for room.
mod larder;
mod storing;

pub use super::engine::{Control, Pace, Progress, SourceProgress, Update, Wish, pace};

use super::Error;
use super::engine::{Engine, Plan, Steering};
use super::schedule::Scheduler;
use super::swarm::Turns;
use crate::store::Store;
use gleaner_wire::WorkerKey;
use larder::Larder;
use std::sync::Arc;
use std::time::Duration;

/// How long a fetch waits when nobody has what is missing.
const PATIENCE: Duration = Duration::from_secs(30);

/// A fetch that has not begun.
pub struct Fetch<W> {
    larder: Larder<W>,
    plan: Plan,
}

impl<W: Iterator<Item = Wish> + Send + 'static> Fetch<W> {
    /// Fetches what of these is not in the store, for the machine with this key.
    pub fn new(store: Arc<Store>, me: WorkerKey, wishes: W) -> (Self, Control) {
        let (steering, control) = Steering::new();
        // Whoever fetches the same begins somewhere else.
        let start = u32::from_le_bytes(*me.0.first_chunk().expect("a key has 32 bytes")) % (1 << 14);
        let plan = Plan { scheduler: Scheduler::new(Turns::new(me), start), steering, patience: PATIENCE };
        (Self { larder: Larder::new(store, wishes), plan }, control)
    }

    /// Waits this long when nobody has what is missing.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.plan.patience = patience;
        self
    }

    /// Runs until everything is in the store, and says what came from whom.
    pub async fn run(self) -> Result<Progress, Error> {
        Engine::new(self.larder, self.plan).run().await
    }
}
