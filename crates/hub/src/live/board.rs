//! Who watches what, and the last events, for those who come back after a moment.
use super::mailbox::Inner;
use super::viewer::About;
use axum::extract::ws::Utf8Bytes;
use gleaner_wire::live::{LiveEvent, Numbered, RefusedTopic, Topic};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Events that are kept for those who come back.
const KEPT_MAX: usize = 2048;
/// How long a topic counts as watched after the last watcher has gone: pages are loaded again, and lines break.
const LINGER: Duration = Duration::from_secs(30);
/// Topics that are watched, lingering ones included.
const TOPICS_MAX: usize = 100_000;

/// An event as all listeners share it.
#[derive(Debug)]
pub(crate) struct Event {
    /// Its number.
    pub(crate) id: u64,
    /// What kind it is, as its JSON says.
    pub(crate) kind: &'static str,
    /// Its JSON.
    pub(crate) json: Utf8Bytes,
    about: About,
    topics: [Option<Topic>; 2],
}

struct Watched {
    by: HashMap<u64, Arc<Inner>>,
    /// The number of the last event before it was watched: everything after that was told. What happened just before was
    /// not, and has no number.
    since: u64,
    /// Since when nobody watches it.
    left: Option<Instant>,
}

pub(super) struct Board {
    /// The number of the last event.
    last: u64,
    mailboxes: u64,
    kept: VecDeque<Arc<Event>>,
    topics: HashMap<Topic, Watched>,
    /// What each mailbox watches.
    watches: HashMap<u64, Vec<Topic>>,
}

impl Board {
    pub(super) fn new(last: u64) -> Self {
        Self { last, mailboxes: 0, kept: VecDeque::new(), topics: HashMap::new(), watches: HashMap::new() }
    }

    /// A number for a mailbox.
    pub(super) fn number(&mut self) -> u64 {
        self.mailboxes += 1;
        self.mailboxes
    }

    /// How many topics are watched.
    pub(super) fn watched(&self) -> usize {
        self.topics.len()
    }

    /// Whether one of the topics is watched.
    pub(super) fn wants(&self, topics: &[Topic]) -> bool {
        topics.iter().any(|topic| self.topics.contains_key(topic))
    }

    /// Watches these topics and no others, tells first what came after an event, and then that it watches.
    pub(super) fn watch(
        &mut self,
        mailbox: &Arc<Inner>,
        topics: Vec<Topic>,
        refused: Vec<RefusedTopic>,
        after: Option<u64>,
    ) {
        self.unwatch(mailbox);
        let topics: Vec<Topic> = topics
            .into_iter()
            .filter(|topic| self.topics.len() < TOPICS_MAX || self.topics.contains_key(topic))
            .collect();
        let since = self.last;
        for topic in &topics {
            let watched =
                self.topics.entry(*topic).or_insert_with(|| Watched { by: HashMap::new(), since, left: None });
            watched.by.insert(mailbox.number, Arc::clone(mailbox));
            watched.left = None;
        }
        if let Some(after) = after {
            self.catch_up(mailbox, &topics, after);
        }
        let names = topics.iter().map(ToString::to_string).collect();
        self.watches.insert(mailbox.number, topics);
        let watching = LiveEvent::Watching { topics: names, refused };
        let event = self.event(watching, About::Anybody, [None; 2]);
        mailbox.put(&event);
    }

    /// Tells what came after an event, or that something was missed.
    fn catch_up(&self, mailbox: &Arc<Inner>, topics: &[Topic], after: u64) {
        let untold = topics.iter().any(|topic| self.topics.get(topic).is_none_or(|watched| watched.since >= after));
        // What is not kept any more came after the event that was seen last.
        let forgotten = self.kept.len() >= KEPT_MAX && self.kept.front().is_some_and(|oldest| oldest.id > after + 1);
        if untold || forgotten || after > self.last {
            mailbox.missed(self.last);
            return;
        }
        let news = self.kept.iter().filter(|event| event.id > after && event.is_on(topics));
        news.filter(|event| mailbox.viewer.sees(&event.about)).for_each(|event| mailbox.put(event));
    }

    /// Watches nothing any more.
    pub(super) fn leave(&mut self, mailbox: &Arc<Inner>) {
        self.unwatch(mailbox);
        self.watches.remove(&mailbox.number);
    }

    fn unwatch(&mut self, mailbox: &Arc<Inner>) {
        for topic in self.watches.remove(&mailbox.number).unwrap_or_default() {
            if let Some(watched) = self.topics.get_mut(&topic) {
                watched.by.remove(&mailbox.number);
                if watched.by.is_empty() {
                    watched.left = Some(Instant::now());
                }
            }
        }
    }

    /// Forgets topics that nobody has watched for a while.
    pub(super) fn tidy(&mut self) {
        self.topics.retain(|_, watched| watched.left.is_none_or(|left| left.elapsed() < LINGER));
    }

    /// Puts an event into the mailboxes of those who watch one of its topics and may see it.
    pub(super) fn post(&mut self, event: LiveEvent, about: About, topics: [Option<Topic>; 2]) {
        let event = self.event(event, about, topics);
        let watched = topics.iter().flatten().filter_map(|topic| self.topics.get(topic));
        for mailbox in watched.flat_map(|watched| watched.by.values()) {
            if mailbox.viewer.sees(&event.about) {
                mailbox.put(&event);
            }
        }
        if self.kept.len() >= KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(event);
    }

    /// Some events found no room on their way here.
    pub(super) fn everybody_missed(&mut self) {
        for watched in self.topics.values_mut() {
            watched.since = self.last;
            watched.by.values().for_each(|mailbox| mailbox.missed(self.last));
        }
    }

    fn event(&mut self, event: LiveEvent, about: About, topics: [Option<Topic>; 2]) -> Arc<Event> {
        self.last += 1;
        let (id, kind) = (self.last, kind_word(&event));
        let json = serde_json::to_string(&Numbered { seq: id, event }).expect("an event is plain data").into();
        Arc::new(Event { id, kind, json, about, topics })
    }
}

impl Event {
    fn is_on(&self, topics: &[Topic]) -> bool {
        self.topics.iter().flatten().any(|topic| topics.contains(topic))
    }
}

/// The word that JSON has for an event.
pub(super) fn kind_word(event: &LiveEvent) -> &'static str {
    match event {
        LiveEvent::Watching { .. } => "watching",
        LiveEvent::Job(_) => "job",
        LiveEvent::Attempts { .. } => "attempts",
        LiveEvent::Failure { .. } => "failure",
        LiveEvent::Worker { .. } => "worker",
        LiveEvent::Prices { .. } => "prices",
        LiveEvent::Status(_) => "status",
        LiveEvent::Missed { .. } => "missed",
    }
}
