//! What waits for one listener: a few events that all listeners share, and nothing while none waits.
use super::Live;
use super::board::Event;
use super::viewer::Viewer;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Events that may wait for one listener; when there are more, it is told that it missed some.
const WAITING_MAX: usize = 64;

/// What a listener gets next.
#[derive(Debug)]
pub(crate) enum Next {
    /// An event.
    Event(Arc<Event>),
    /// It was too slow, or was away: so many were missed, if that is known. The number is the last event's.
    Missed {
        /// How many.
        count: Option<u64>,
        /// The last event before.
        id: u64,
    },
}

/// The part that the board knows.
pub(super) struct Inner {
    pub(super) number: u64,
    pub(super) viewer: Viewer,
    queue: Mutex<Queue>,
    bell: Notify,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Arc<Event>>,
    /// What was missed before them, and the last number then.
    missed: Option<(Option<u64>, u64)>,
    last: u64,
}

/// A listener's mailbox; it watches nothing any more once it is dropped.
pub(crate) struct Mailbox {
    inner: Arc<Inner>,
    /// Whose place it takes, if those are counted.
    address: Option<IpAddr>,
    live: Live,
}

impl Mailbox {
    pub(super) fn new(number: u64, viewer: Viewer, address: Option<IpAddr>, live: Live) -> Self {
        let inner = Inner { number, viewer, queue: Mutex::default(), bell: Notify::new() };
        Self { inner: Arc::new(inner), address, live }
    }

    pub(super) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    pub(super) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Who listens.
    pub(crate) fn viewer(&self) -> &Viewer {
        &self.inner.viewer
    }

    /// Waits for what comes next. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&self) -> Next {
        loop {
            if let Some(next) = self.inner.take() {
                return next;
            }
            self.inner.bell.notified().await;
        }
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        self.live.leave(self);
    }
}

impl Inner {
    fn take(&self) -> Option<Next> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((count, id)) = queue.missed.take() {
            return Some(Next::Missed { count, id });
        }
        let event = queue.events.pop_front().map(Next::Event);
        if queue.events.is_empty() {
            // Ten thousand listeners that wait for something hold on to nothing.
            queue.events = VecDeque::new();
        }
        event
    }

    /// Puts an event in, unless it is there already: it may be on two topics that are both watched.
    pub(super) fn put(&self, event: &Arc<Event>) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.last >= event.id {
            return;
        }
        queue.last = event.id;
        if queue.events.len() >= WAITING_MAX {
            let before = queue.missed.map_or(Some(0), |(count, _)| count);
            let count = before.map(|before| before + queue.events.len() as u64 + 1);
            queue.missed = Some((count, event.id));
            queue.events = VecDeque::new();
        } else {
            queue.events.push_back(Arc::clone(event));
        }
        drop(queue);
        self.bell.notify_one();
    }

    /// Nobody knows what it missed up to the event with this number.
    pub(super) fn missed(&self, id: u64) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.missed = Some((None, id));
        queue.last = queue.last.max(id);
        queue.events = VecDeque::new();
        drop(queue);
        self.bell.notify_one();
    }
}
