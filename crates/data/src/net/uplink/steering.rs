//! How a push is steered and watched.
use crate::net::engine::Pace;
use std::sync::Arc;
use tokio::sync::watch;

/// How far a push is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Chunks that were there already.
    pub known: u64,
    /// Their bytes, as far as they were at hand.
    pub known_bytes: u64,
    /// Chunks that were brought and are safe.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that were sent again, because they had not arrived the first time.
    pub again: u64,
}

/// Steers a push while it runs. Clones steer the same one.
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

    /// Waits until it is to be stopped.
    pub(in crate::net) async fn stopped(&self) {
        // The sender lives as long as this does.
        let _ = self.stop.subscribe().wait_for(|stop| *stop).await;
    }
}

/// The other end of it.
pub(super) struct Steering {
    pub(super) pace: Arc<Pace>,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) progress: watch::Sender<Pushed>,
}

impl Steering {
    pub(super) fn new() -> (Self, PushControl) {
        let (stop, stopped) = watch::channel(false);
        let (shown, progress) = watch::channel(Pushed::default());
        let pace = Arc::new(Pace::new(None));
        let control = PushControl { pace: Arc::clone(&pace), stop: Arc::new(stop), progress };
        (Self { pace, stop: stopped, progress: shown }, control)
    }
}
