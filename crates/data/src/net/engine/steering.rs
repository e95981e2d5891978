//! How a fetch or a downlink is steered and watched.
use super::{Pace, Progress};
use crate::net::carrier::Carrier;
use crate::net::schedule::{Holds, Role};
use gleaner_wire::WorkerKey;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Updates that may wait to be noticed.
const UPDATES_MAX: usize = 64;

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

/// The other end of it.
pub struct Steering {
    pub(super) updates: mpsc::Receiver<Update>,
    pub(super) pace: Arc<Pace>,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) progress: watch::Sender<Progress>,
}

impl Steering {
    pub fn new() -> (Self, Control) {
        let (updates, told) = mpsc::channel(UPDATES_MAX);
        let (stop, stopped) = watch::channel(false);
        let (shown, progress) = watch::channel(Progress::default());
        let pace = Arc::new(Pace::new(None));
        let control = Control { updates, pace: Arc::clone(&pace), stop: Arc::new(stop), progress };
        (Self { updates: told, pace, stop: stopped, progress: shown }, control)
    }
}
