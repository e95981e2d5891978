//! Live events for whoever listens. A slow listener misses some and is told how many.
use axum::extract::ws::Utf8Bytes;
use gleaner_wire::api;
use tokio::sync::broadcast;

/// Events that a slow listener may be behind before it misses some.
const EVENTS_BEHIND_MAX: usize = 1024;

/// The way to all listeners.
#[derive(Clone)]
pub(crate) struct Live {
    sender: broadcast::Sender<Utf8Bytes>,
}

impl Live {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::Sender::new(EVENTS_BEHIND_MAX) }
    }

    /// Whether anyone listens.
    pub(crate) fn is_heard(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    /// How many listen.
    pub(crate) fn listeners(&self) -> usize {
        self.sender.receiver_count()
    }

    /// Tells everyone.
    pub(crate) fn tell(&self, event: &api::Live) {
        if self.is_heard() {
            // The last listener may leave meanwhile.
            let _ = self.sender.send(encode(event));
        }
    }

    /// Listens from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Utf8Bytes> {
        self.sender.subscribe()
    }
}

/// An event as it is sent.
pub(crate) fn encode(event: &api::Live) -> Utf8Bytes {
    serde_json::to_string(event).expect("an event is plain data").into()
}
