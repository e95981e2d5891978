//! Fetching chunks from many sources at once into a store.
//!
//! The shell around [`super::schedule`]: it asks, takes what arrives, and stores it in batches on threads that may
//! block. What is in the store is not wanted, so a fetch that is run again goes on where the last one ended. Memory is
//! bounded however much is wanted: the list is read as it is needed, and arrivals wait for room.
pub mod pace;
mod progress;
mod run;
mod storing;

pub use pace::Pace;
pub use progress::{Progress, SourceProgress};

use super::Error;
use super::carrier::Carrier;
use super::schedule::{Holds, Role, Scheduler};
use super::swarm::Turns;
use crate::store::Store;
use gleaner_wire::{BlobRef, WorkerKey};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Updates that may wait to be noticed.
const UPDATES_MAX: usize = 64;
/// How long a fetch waits when nobody has what is missing.
const PATIENCE: Duration = Duration::from_secs(30);

/// A chunk that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Where it is in the dataset's list.
    pub position: u32,
    /// What it is.
    pub blob: BlobRef,
}

/// What a fetch is told while it runs.
pub enum Update {
    /// Somebody can be asked. A source of the same name takes the place of the one before.
    Joined {
        /// Whom.
        carrier: Arc<dyn Carrier>,
        /// Whose data it is.
        role: Role,
        /// What it holds.
        holds: Holds,
    },
    /// A source holds something else.
    Holds {
        /// Which.
        name: String,
        /// What.
        holds: Holds,
    },
    /// A source is gone.
    Left {
        /// Which.
        name: String,
    },
    /// Somebody fetches the same dataset and holds this many chunks of it.
    Member {
        /// Who.
        key: WorkerKey,
        /// How many chunks.
        held: u64,
        /// Whether that is all it wants.
        complete: bool,
    },
    /// Somebody does not fetch the dataset any more.
    MemberLeft {
        /// Who.
        key: WorkerKey,
    },
}

/// Steers a fetch or a downlink while it runs. Clones steer the same one.
#[derive(Clone)]
pub struct Control {
    updates: mpsc::Sender<Update>,
    pace: Arc<Pace>,
    stop: Arc<watch::Sender<bool>>,
    progress: watch::Receiver<Progress>,
}

impl Control {
    pub(super) fn new(
        updates: mpsc::Sender<Update>,
        pace: Arc<Pace>,
        stop: watch::Sender<bool>,
        progress: watch::Receiver<Progress>,
    ) -> Self {
        Self { updates, pace, stop: Arc::new(stop), progress }
    }

    /// Tells it something. Tells nobody if it has ended.
    pub async fn tell(&self, update: Update) {
        let _ = self.updates.send(update).await;
    }

    /// At most this many bytes a second from now on.
    pub fn set_limit(&self, limit: Option<u64>) {
        self.pace.set_limit(limit);
    }

    /// Ends it; what has arrived is stored first, where it is stored.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// How far it is, several times a second.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }
}

/// A fetch that has not begun.
pub struct Fetch<W> {
    store: Arc<Store>,
    wishes: W,
    scheduler: Scheduler,
    patience: Duration,
    updates: mpsc::Receiver<Update>,
    pace: Arc<Pace>,
    stop: watch::Receiver<bool>,
    progress: watch::Sender<Progress>,
}

impl<W: Iterator<Item = Wish> + Send + 'static> Fetch<W> {
    /// Fetches what of these is not in the store, for the machine with this key.
    pub fn new(store: Arc<Store>, me: WorkerKey, wishes: W) -> (Self, Control) {
        let (updates, told) = mpsc::channel(UPDATES_MAX);
        let (stop, stopped) = watch::channel(false);
        let (shown, progress) = watch::channel(Progress::default());
        let pace = Arc::new(Pace::new(None));
        let control = Control::new(updates, Arc::clone(&pace), stop, progress);
        // Whoever fetches the same begins somewhere else.
        let start = u32::from_le_bytes(*me.0.first_chunk().expect("a key has 32 bytes")) % (1 << 14);
        let fetch = Self {
            store,
            wishes,
            scheduler: Scheduler::new(Turns::new(me), start),
            patience: PATIENCE,
            updates: told,
            pace,
            stop: stopped,
            progress: shown,
        };
        (fetch, control)
    }

    /// Waits this long when nobody has what is missing.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs until everything is in the store, and says what came from whom.
    pub async fn run(self) -> Result<Progress, Error> {
        run::run(self).await
    }
}
