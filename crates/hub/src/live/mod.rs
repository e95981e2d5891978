//! Live events for whoever listens: clients hear all of them, pages what they watch.
//!
//! The keeper says what happened and never waits: a task of its own encodes it once and puts it into the mailboxes of those
//! who watch. A slow listener misses some and is told so. Nothing is said that nobody watches.
mod board;
mod mailbox;
#[cfg(test)]
mod tests;
mod viewer;

pub(crate) use mailbox::{Mailbox, Next};
pub(crate) use viewer::{About, Viewer};

use crate::people::network;
use axum::extract::ws::Utf8Bytes;
use board::Board;
use gleaner_wire::api;
use gleaner_wire::live::{LiveEvent, RefusedTopic, Topic};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, watch};

/// Events that a slow listener may be behind before it misses some.
const EVENTS_BEHIND_MAX: usize = 1024;
/// Events that wait to be put into mailboxes; when there are more, everybody misses some.
const TOLD_MAX: usize = 4096;
/// How often topics that nobody watches any more are looked for.
const TIDY_EVERY: Duration = Duration::from_secs(5);
/// Topics that one listener may watch.
pub(crate) const TOPICS_MAX: usize = 64;
/// Pages that may listen at a time.
pub(crate) const MAILBOXES_MAX: usize = 20_000;
/// Of those, pages from one address: a large office fits, and nobody alone takes every place. The hub's own machine is trusted
/// with all of them.
const PER_ADDRESS_MAX: usize = MAILBOXES_MAX / 20;

/// Why somebody cannot listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// Too many do.
    Everywhere,
    /// Too many do from the same address.
    Address,
}

/// Something to tell those who watch, and who of them may hear of it.
struct Told {
    event: LiveEvent,
    about: About,
    topics: [Option<Topic>; 2],
}

/// The way to all listeners.
#[derive(Clone)]
pub(crate) struct Live {
    sender: broadcast::Sender<Utf8Bytes>,
    told: mpsc::Sender<Told>,
    shared: Arc<Shared>,
}

struct Shared {
    board: Mutex<Board>,
    /// Topics that are watched, so that nothing is locked while none is.
    watched: AtomicUsize,
    /// Events that found no room on their way.
    lost: AtomicUsize,
    mailboxes: AtomicUsize,
    /// How many of them are whose.
    addresses: Mutex<HashMap<IpAddr, usize>>,
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for an address; false if it has as many as it may.
    fn take_place(&self, address: IpAddr) -> bool {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = addresses.entry(address).or_default();
        let has_room = *taken < PER_ADDRESS_MAX;
        *taken += usize::from(has_room);
        has_room
    }

    fn give_place_back(&self, address: IpAddr) {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = addresses.get_mut(&address) {
            *taken -= 1;
            if *taken == 0 {
                addresses.remove(&address);
            }
        }
    }
}

/// What puts events into mailboxes; it has to run for anybody to hear anything.
pub(crate) struct Postman {
    told: mpsc::Receiver<Told>,
    shared: Arc<Shared>,
}

impl Live {
    /// Starts counting events from this number on.
    pub(crate) fn new(first: u64) -> (Self, Postman) {
        let (told, receiver) = mpsc::channel(TOLD_MAX);
        let shared = Arc::new(Shared {
            board: Mutex::new(Board::new(first)),
            watched: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            mailboxes: AtomicUsize::new(0),
            addresses: Mutex::default(),
        });
        let postman = Postman { told: receiver, shared: Arc::clone(&shared) };
        (Self { sender: broadcast::Sender::new(EVENTS_BEHIND_MAX), told, shared }, postman)
    }

    /// Whether anyone hears everything.
    pub(crate) fn is_heard(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    /// How many hear everything.
    pub(crate) fn listeners(&self) -> usize {
        self.sender.receiver_count()
    }

    /// How many pages watch something.
    pub(crate) fn watchers(&self) -> usize {
        self.shared.mailboxes.load(Relaxed)
    }

    /// Tells everyone who hears everything.
    pub(crate) fn tell(&self, event: &api::Live) {
        if self.is_heard() {
            // The last listener may leave meanwhile.
            let _ = self.sender.send(encode(event));
        }
    }

    /// Listens to everything from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Utf8Bytes> {
        self.sender.subscribe()
    }

    /// Whether one of these topics is watched.
    pub(crate) fn wants(&self, topics: &[Topic]) -> bool {
        self.shared.watched.load(Relaxed) > 0 && self.shared.board().wants(topics)
    }

    /// Tells those who watch one of up to two topics.
    pub(crate) fn publish(&self, event: LiveEvent, about: About, topics: [Option<Topic>; 2]) {
        if self.told.try_send(Told { event, about, topics }).is_err() {
            self.shared.lost.fetch_add(1, Relaxed);
        }
    }

    /// A mailbox for somebody who will watch, unless too many have one.
    pub(crate) fn mailbox(&self, viewer: Viewer, address: Option<IpAddr>) -> Result<Mailbox, Full> {
        let address = address.filter(|address| !address.to_canonical().is_loopback()).map(network);
        if address.is_some_and(|address| !self.shared.take_place(address)) {
            return Err(Full::Address);
        }
        let taken = self.shared.mailboxes.fetch_add(1, Relaxed);
        if taken >= MAILBOXES_MAX {
            self.shared.mailboxes.fetch_sub(1, Relaxed);
            address.into_iter().for_each(|address| self.shared.give_place_back(address));
            return Err(Full::Everywhere);
        }
        let number = self.shared.board().number();
        Ok(Mailbox::new(number, viewer, address, self.clone()))
    }

    /// Watches these topics from now on and no others, and says so in the mailbox. What came after the event `after` is told
    /// first.
    pub(crate) fn watch(&self, mailbox: &Mailbox, topics: Vec<Topic>, refused: Vec<RefusedTopic>, after: Option<u64>) {
        let mut board = self.shared.board();
        board.watch(mailbox.inner(), topics, refused, after);
        self.shared.watched.store(board.watched(), Relaxed);
    }

    fn leave(&self, mailbox: &Mailbox) {
        let mut board = self.shared.board();
        board.leave(mailbox.inner());
        self.shared.watched.store(board.watched(), Relaxed);
        self.shared.mailboxes.fetch_sub(1, Relaxed);
        mailbox.address().into_iter().for_each(|address| self.shared.give_place_back(address));
    }
}

impl Postman {
    /// Puts events into mailboxes until the hub stops.
    pub(crate) async fn run(mut self, mut stopping: watch::Receiver<bool>) {
        let mut tidy = tokio::time::interval(TIDY_EVERY);
        loop {
            let told = tokio::select! {
                told = self.told.recv() => told,
                _ = stopping.changed() => return,
                _ = tidy.tick() => {
                    let mut board = self.shared.board();
                    board.tidy();
                    self.shared.watched.store(board.watched(), Relaxed);
                    continue;
                }
            };
            let Some(Told { event, about, topics }) = told else { return };
            let mut board = self.shared.board();
            if self.shared.lost.swap(0, Relaxed) > 0 {
                board.everybody_missed();
            }
            board.post(event, about, topics);
        }
    }
}

/// An event as it is sent.
pub(crate) fn encode(event: &api::Live) -> Utf8Bytes {
    serde_json::to_string(event).expect("an event is plain data").into()
}
