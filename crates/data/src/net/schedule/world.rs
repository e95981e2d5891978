//! A small network in which time is a number: nodes with an uplink each, some of which stall, die or lie, and fetchers
//! that run the real scheduler. One uplink serves its requests in turn, in slices.
use super::*;
use crate::store::Bitmap;
use gleaner_wire::WorkerKey;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const SLICE: u32 = 16 * 1024;
const HOUR: Duration = Duration::from_secs(3600);
/// How often members hear of each other.
const ANNOUNCE: Duration = Duration::from_millis(1000);

#[derive(Clone, Debug)]
pub struct Uplink {
    /// Bytes a second.
    pub rate: f64,
    /// One way.
    pub delay: Duration,
    pub dies: Option<Duration>,
    /// From when, for how long.
    pub stalls: Option<(Duration, Duration)>,
    /// The chunk it sends wrong bytes for.
    pub lies_about: Option<u32>,
    pub joins: Duration,
}

impl Uplink {
    pub fn new(rate: f64, delay_ms: u64) -> Self {
        let delay = Duration::from_millis(delay_ms);
        Self { rate, delay, dies: None, stalls: None, lies_about: None, joins: Duration::ZERO }
    }

    fn is_dead(&self, now: Duration) -> bool {
        self.dies.is_some_and(|dies| now >= dies)
    }
}

struct Job {
    fetcher: usize,
    request: RequestId,
    left: VecDeque<u32>,
    sent: u32,
}

struct Fetch {
    scheduler: Scheduler,
    /// Which node each source is.
    sources: BTreeMap<SourceId, usize>,
    /// Requests that were not broken off: of others nothing is taken, though it may be on the wire.
    live: BTreeSet<RequestId>,
    done: Option<Duration>,
}

impl Fetch {
    /// The source that a node is, if what it sends for a request is still taken.
    fn source(&self, node: usize, request: RequestId) -> Option<SourceId> {
        let found = self.sources.iter().find(|(_, known)| **known == node);
        found.filter(|_| self.live.contains(&request)).map(|(source, _)| *source)
    }
}

struct Node {
    uplink: Uplink,
    role: Role,
    jobs: VecDeque<Job>,
    busy: bool,
    holds: Bitmap,
    fetch: Option<Fetch>,
    sent: u64,
    /// What of that went to whom.
    sent_to: BTreeMap<usize, u64>,
}

enum Event {
    Join(usize),
    Asked {
        node: usize,
        job: Job,
    },
    Cancelled {
        node: usize,
        fetcher: usize,
        request: RequestId,
    },
    /// A fetcher has closed its connection.
    Closed {
        node: usize,
        fetcher: usize,
    },
    Sent(usize),
    Slice {
        fetcher: usize,
        node: usize,
        request: RequestId,
        bytes: u32,
    },
    Chunk {
        fetcher: usize,
        node: usize,
        request: RequestId,
        position: u32,
        good: bool,
    },
    Absent {
        fetcher: usize,
        request: RequestId,
        position: u32,
    },
    Tick(usize),
    Announce,
}

struct Entry(Duration, u64, Event);

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

pub struct World {
    now: Duration,
    sequence: u64,
    queue: BinaryHeap<Reverse<Entry>>,
    nodes: Vec<Node>,
    sizes: Vec<u32>,
}

pub fn key(node: usize) -> WorkerKey {
    let mut key = [0x5a; 32];
    key[0] = u8::try_from(node).expect("few nodes");
    WorkerKey(key)
}

impl World {
    pub fn new(sizes: Vec<u32>) -> Self {
        let (now, queue) = (Duration::ZERO, BinaryHeap::new());
        let mut world = Self { now, sequence: 0, queue, nodes: Vec::new(), sizes };
        world.after(Duration::ZERO, Event::Announce);
        world
    }

    /// Somebody who has everything.
    pub fn seed(&mut self, uplink: Uplink, role: Role) -> usize {
        self.seed_part(uplink, role, |_| true)
    }

    /// Somebody who has a part.
    pub fn seed_part(&mut self, uplink: Uplink, role: Role, is_held: impl Fn(usize) -> bool) -> usize {
        let mut holds = Bitmap::new(self.sizes.len());
        for position in (0..self.sizes.len()).filter(|position| is_held(*position)) {
            holds.set(position, true);
        }
        self.node(uplink, role, holds, false)
    }

    /// Somebody who has nothing yet and fetches everything.
    pub fn fetcher(&mut self, uplink: Uplink) -> usize {
        let holds = Bitmap::new(self.sizes.len());
        self.node(uplink, Role::Peer, holds, true)
    }

    fn node(&mut self, uplink: Uplink, role: Role, holds: Bitmap, fetches: bool) -> usize {
        let number = self.nodes.len();
        let mut scheduler = Scheduler::new(Turns::new(key(number)), u32::try_from(number).expect("few") * 97);
        for (position, bytes) in self.sizes.iter().enumerate() {
            scheduler.want(Wanted { position: u32::try_from(position).expect("few"), bytes: *bytes });
        }
        let fetch = fetches.then_some(Fetch { scheduler, sources: BTreeMap::new(), live: BTreeSet::new(), done: None });
        self.after(uplink.joins, Event::Join(number));
        self.nodes.push(Node {
            uplink,
            role,
            jobs: VecDeque::new(),
            busy: false,
            holds,
            fetch,
            sent: 0,
            sent_to: BTreeMap::new(),
        });
        number
    }

    fn after(&mut self, time: Duration, event: Event) {
        self.sequence += 1;
        self.queue.push(Reverse(Entry(self.now + time, self.sequence, event)));
    }

    /// Runs until every fetcher that lives has everything. Returns when that was.
    pub fn run(&mut self) -> Duration {
        while let Some(Reverse(Entry(now, _, event))) = self.queue.pop() {
            self.now = now;
            assert!(now < HOUR, "it never ends");
            self.happens(event);
            let waits = |node: &Node| {
                !node.uplink.is_dead(now) && node.fetch.as_ref().is_some_and(|fetch| fetch.done.is_none())
            };
            if !self.nodes.iter().any(waits) {
                return now;
            }
        }
        panic!("nothing happens any more, and chunks are missing");
    }

    pub fn sent(&self, node: usize) -> u64 {
        self.nodes[node].sent
    }

    /// What a node sent to those who have died since.
    pub fn sent_in_vain(&self, node: usize) -> u64 {
        let dead = |fetcher: &usize| self.nodes[*fetcher].uplink.is_dead(self.now);
        self.nodes[node].sent_to.iter().filter(|(fetcher, _)| dead(fetcher)).map(|(_, bytes)| bytes).sum()
    }

    pub fn total(&self) -> u64 {
        self.sizes.iter().map(|bytes| u64::from(*bytes)).sum()
    }

    pub fn twice(&self, node: usize) -> u64 {
        self.nodes[node].fetch.as_ref().expect("a fetcher").scheduler.twice_bytes()
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Join(node) => self.join(node),
            Event::Asked { node, job } => {
                self.nodes[node].jobs.push_back(job);
                self.send(node);
            }
            Event::Cancelled { node, fetcher, request } => {
                self.nodes[node].jobs.retain(|job| (job.fetcher, job.request) != (fetcher, request));
            }
            Event::Closed { node, fetcher } => self.nodes[node].jobs.retain(|job| job.fetcher != fetcher),
            Event::Sent(node) => {
                self.nodes[node].busy = false;
                self.send(node);
            }
            Event::Slice { fetcher, node, request, bytes } => self.with(fetcher, |now, fetch, _| {
                if let Some(source) = fetch.source(node, request) {
                    fetch.scheduler.received(now, source, u64::from(bytes));
                }
            }),
            Event::Chunk { fetcher, node, request, position, good } => {
                self.chunk(fetcher, (node, request), position, good);
            }
            Event::Absent { fetcher, request, position } => {
                self.with(fetcher, |now, fetch, _| fetch.scheduler.absent(now, request, position));
            }
            Event::Tick(fetcher) => {
                self.with(fetcher, |_, _, _| ());
                if self.nodes[fetcher].fetch.as_ref().is_some_and(|fetch| fetch.done.is_none()) {
                    self.after(TICK, Event::Tick(fetcher));
                }
            }
            Event::Announce => self.announce(),
        }
    }

    fn join(&mut self, new: usize) {
        for other in (0..self.nodes.len()).filter(|other| *other != new) {
            if self.nodes[other].uplink.joins <= self.now {
                self.meet(new, other);
                self.meet(other, new);
            }
        }
        if self.nodes[new].fetch.is_some() {
            self.after(Duration::ZERO, Event::Tick(new));
        }
    }

    fn meet(&mut self, fetcher: usize, other: usize) {
        let held = self.nodes[other].holds.count() as u64;
        let holds = Holds::These(self.nodes[other].holds.clone());
        let (role, fetches) = (self.nodes[other].role, self.nodes[other].fetch.is_some());
        let now = self.now;
        let Some(fetch) = self.nodes[fetcher].fetch.as_mut() else { return };
        if fetch.sources.values().any(|known| *known == other) {
            return;
        }
        let source = fetch.scheduler.add_source(now, Route::Direct, role, holds);
        fetch.sources.insert(source, other);
        if fetches {
            fetch.scheduler.turns_mut().seen(now, key(other), held, false);
        }
    }

    fn announce(&mut self) {
        let now = self.now;
        for other in 0..self.nodes.len() {
            if self.nodes[other].fetch.is_none() {
                continue;
            }
            let (holds, dead) = (self.nodes[other].holds.clone(), self.nodes[other].uplink.is_dead(now));
            for node in &mut self.nodes {
                let Some(fetch) = node.fetch.as_mut() else { continue };
                let Some((&source, _)) = fetch.sources.iter().find(|(_, known)| **known == other) else { continue };
                // Nobody is told of a death: that somebody is silent has to be noticed.
                if dead {
                    continue;
                }
                fetch.scheduler.turns_mut().seen(now, key(other), holds.count() as u64, holds.is_full());
                fetch.scheduler.set_holds(source, Holds::These(holds.clone()));
            }
        }
        self.after(ANNOUNCE, Event::Announce);
    }

    fn chunk(&mut self, fetcher: usize, (node, request): (usize, RequestId), position: u32, good: bool) {
        let bytes = u64::from(self.sizes[position as usize]);
        let (mut new, mut lied) = (false, false);
        self.with(fetcher, |now, fetch, effects| {
            let Some(source) = fetch.source(node, request) else { return };
            if !good {
                fetch.scheduler.remove_source(now, source);
                fetch.sources.remove(&source);
                lied = true;
                return;
            }
            new = fetch.scheduler.arrived(now, source, position, effects);
            if !new {
                fetch.scheduler.wasted(source, bytes);
            }
        });
        if lied {
            self.after(self.nodes[fetcher].uplink.delay, Event::Closed { node, fetcher });
        }
        if new {
            assert!(self.nodes[fetcher].holds.set(position as usize, true), "a chunk is new once");
        }
    }

    /// Tells a fetcher's scheduler something, and does what it plans.
    fn with(&mut self, fetcher: usize, tell: impl FnOnce(Duration, &mut Fetch, &mut Vec<Effect>)) {
        let now = self.now;
        let node = &mut self.nodes[fetcher];
        if node.uplink.is_dead(now) {
            return;
        }
        let delay = node.uplink.delay;
        let fetch = node.fetch.as_mut().expect("only fetchers are told");
        let mut effects = Vec::new();
        tell(now, fetch, &mut effects);
        fetch.scheduler.plan(now, &mut effects);
        if fetch.scheduler.missing() == 0 && fetch.done.is_none() {
            fetch.done = Some(now);
        }
        let mut sent = Vec::new();
        for effect in effects {
            match effect {
                Effect::Ask { source, request, positions } => {
                    fetch.live.insert(request);
                    let job = Job { fetcher, request, left: positions.into(), sent: 0 };
                    let node = fetch.sources[&source];
                    sent.push(Event::Asked { node, job });
                }
                Effect::Cancel { request } => {
                    fetch.live.remove(&request);
                    sent.extend(fetch.sources.values().map(|&node| Event::Cancelled { node, fetcher, request }));
                }
                Effect::Reset { .. } => {}
                Effect::Drop { source } => {
                    sent.extend(fetch.sources.remove(&source).map(|node| Event::Closed { node, fetcher }));
                }
            }
        }
        for event in sent {
            self.after(delay, event);
        }
    }

    fn send(&mut self, number: usize) {
        let now = self.now;
        let node = &mut self.nodes[number];
        if node.busy || node.uplink.is_dead(now) {
            return;
        }
        if let Some((from, length)) = node.uplink.stalls
            && now >= from
            && now < from + length
        {
            node.busy = true;
            self.after(from + length - now, Event::Sent(number));
            return;
        }
        let Some(mut job) = node.jobs.pop_front() else { return };
        let (fetcher, request, position) = (job.fetcher, job.request, job.left[0]);
        let delay = node.uplink.delay;
        if !node.holds.contains(position as usize) {
            job.left.pop_front();
            if !job.left.is_empty() {
                node.jobs.push_front(job);
            }
            self.after(delay, Event::Absent { fetcher, request, position });
            return self.send(number);
        }
        let size = self.sizes[position as usize];
        let bytes = SLICE.min(size - job.sent);
        job.sent += bytes;
        node.sent += u64::from(bytes);
        *node.sent_to.entry(fetcher).or_default() += u64::from(bytes);
        node.busy = true;
        let time = Duration::from_secs_f64(f64::from(bytes) / node.uplink.rate);
        let whole = job.sent == size;
        if whole {
            (job.sent, _) = (0, job.left.pop_front());
        }
        let good = node.uplink.lies_about != Some(position);
        if !job.left.is_empty() {
            // The next slice goes to another request, but a chunk is not torn apart for longer than needed.
            if whole { node.jobs.push_back(job) } else { node.jobs.push_front(job) }
        }
        self.after(time, Event::Sent(number));
        self.after(time + delay, Event::Slice { fetcher, node: number, request, bytes });
        if whole {
            self.after(time + delay, Event::Chunk { fetcher, node: number, request, position, good });
        }
    }
}
