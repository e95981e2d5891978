//! Which chunk is asked of whom, decided anew with everything that arrives.
//!
//! Nothing here waits, reads a clock or knows a network: time is passed in, counted from when the fetch began; what
//! happens is told by calls, what to do comes out of [`Scheduler::plan`]. Each source gets requests of 15 to 80 ms of
//! its own measured speed, so that a slow one never holds much; a new one is probed with one small request. What a
//! silent source has is given to others. At the end, pieces that a slow source still has are also asked of a faster
//! one, within a budget for what may arrive twice.
mod plan;
mod source;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(in crate::net) mod world;

pub use source::{Figures, Holds, REQUEST_BYTES_MAX, REQUEST_BYTES_MIN, Role, Route};

use super::swarm::Turns;
use source::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// [`Scheduler::plan`] is called at least this often while chunks are wanted.
pub const TICK: Duration = Duration::from_millis(100);

/// One part of what is wanted may arrive twice for each so many.
const TWICE_SHARE: u64 = 64;
/// What may arrive twice however little is wanted: the end of a small fetch need not wait for a slow source.
const TWICE_BYTES_MIN: u64 = 256 * 1024;

/// A source, numbered by the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// A request, numbered by the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// A chunk that is wanted, by its position in the dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Where the chunk is in the dataset's list.
    pub position: u32,
    /// Its length.
    pub bytes: u32,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Ask a source for the chunks at these positions.
    Ask {
        /// Whom.
        source: SourceId,
        /// Under which number.
        request: RequestId,
        /// For which chunks, in this order.
        positions: Vec<u32>,
    },
    /// Stop a request; what it still would bring is not wanted from there any more.
    Cancel {
        /// Which.
        request: RequestId,
    },
    /// Lose the connection to a source that failed or fell silent; it is tried again on a new one.
    Reset {
        /// Whom.
        source: SourceId,
    },
    /// Have nothing more to do with a source that is silent again and again.
    Drop {
        /// Whom.
        source: SourceId,
    },
}

#[derive(Debug)]
struct Piece {
    bytes: u32,
    /// The requests that are to bring it: none, one, or two near the end.
    asked: Vec<u64>,
}

#[derive(Debug)]
struct Request {
    source: u32,
    left: Vec<u32>,
}

/// The state of one fetch.
#[derive(Debug)]
pub struct Scheduler {
    pieces: BTreeMap<u32, Piece>,
    free: BTreeSet<u32>,
    free_bytes: u64,
    requests: BTreeMap<u64, Request>,
    sources: BTreeMap<u32, Source>,
    turns: Turns,
    /// Where in the dataset a fetch from peers begins, so that not all of a swarm want the same chunk at once.
    start: u32,
    next_source: u32,
    next_request: u64,
    wanted_bytes: u64,
    twice_bytes: u64,
    /// Bytes of pieces that two sources are asked for right now.
    doubled_bytes: u64,
    /// When anything useful arrived last.
    fed: Duration,
    /// Counts how often pieces became free.
    changes: u64,
}

impl Scheduler {
    /// Nothing wanted yet. From peers it fetches beginning at the position `start`.
    pub fn new(turns: Turns, start: u32) -> Self {
        Self {
            pieces: BTreeMap::new(),
            free: BTreeSet::new(),
            free_bytes: 0,
            requests: BTreeMap::new(),
            sources: BTreeMap::new(),
            turns,
            start,
            next_source: 0,
            next_request: 0,
            wanted_bytes: 0,
            twice_bytes: 0,
            doubled_bytes: 0,
            fed: Duration::ZERO,
            changes: 0,
        }
    }

    /// Wants one more chunk. One that is wanted already is not wanted twice.
    pub fn want(&mut self, wanted: Wanted) {
        let Wanted { position, bytes } = wanted;
        if self.pieces.contains_key(&position) {
            return;
        }
        self.pieces.insert(position, Piece { bytes, asked: Vec::new() });
        self.wanted_bytes += u64::from(bytes);
        self.release(position, bytes);
    }

    /// How many chunks are wanted and not here.
    pub fn missing(&self) -> usize {
        self.pieces.len()
    }

    /// A source can be asked from now on.
    pub fn add_source(&mut self, now: Duration, route: Route, role: Role, holds: Holds) -> SourceId {
        let number = self.next_source;
        self.next_source += 1;
        self.sources.insert(number, Source::new(now, route, role, holds));
        SourceId(number)
    }

    /// A source holds something else than before.
    pub fn set_holds(&mut self, source: SourceId, holds: Holds) {
        if let Some(source) = self.sources.get_mut(&source.0) {
            source.set_holds(holds);
        }
    }

    /// A source is reached another way than before. Its round trip is measured here if nobody knows it better.
    pub fn set_route(&mut self, source: SourceId, route: Route, round_trip: Option<Duration>) {
        if let Some(source) = self.sources.get_mut(&source.0) {
            source.set_route(route, round_trip);
        }
    }

    /// No more than this many bytes a second are taken, however fast sources are: it is of no use to ask for more.
    pub fn set_limit(&mut self, limit: Option<u64>) {
        if let Some(limit) = limit {
            self.sources.values_mut().for_each(|source| source.cap(limit));
        }
    }

    /// A source is gone, or has lied: what it was asked for is to be asked of others. Returns what it brought.
    pub fn remove_source(&mut self, now: Duration, source: SourceId) -> Option<Figures> {
        for request in self.sources.get(&source.0)?.outstanding.clone() {
            self.take_back(now, request);
        }
        self.sources.remove(&source.0).map(|source| source.figures())
    }

    /// Who fetches the same dataset.
    pub fn turns_mut(&mut self) -> &mut Turns {
        &mut self.turns
    }

    /// Whether anything is asked of anybody at the moment.
    pub fn is_waiting(&self) -> bool {
        !self.requests.is_empty()
    }

    /// How many sources there are.
    pub fn sources(&self) -> usize {
        self.sources.len()
    }

    /// What was measured of a source.
    pub fn figures(&self, source: SourceId) -> Option<Figures> {
        self.sources.get(&source.0).map(Source::figures)
    }

    /// Bytes of chunks that arrived although they were here already.
    pub fn twice_bytes(&self) -> u64 {
        self.twice_bytes
    }

    /// When anything useful arrived last.
    pub fn fed(&self) -> Duration {
        self.fed
    }

    /// Bytes came from a source, not necessarily a whole chunk.
    pub fn received(&mut self, now: Duration, source: SourceId, bytes: u64) {
        if let Some(source) = self.sources.get_mut(&source.0) {
            source.received(now, bytes);
        }
    }

    /// A whole chunk came and is what its name says. Tells whether it was still wanted; requests that have nothing
    /// left to bring are cancelled.
    pub fn arrived(&mut self, now: Duration, source: SourceId, position: u32, effects: &mut Vec<Effect>) -> bool {
        let Some(piece) = self.pieces.remove(&position) else {
            return false;
        };
        self.fed = now;
        if let Some(source) = self.sources.get_mut(&source.0) {
            source.gave(u64::from(piece.bytes));
        }
        if piece.asked.len() > 1 {
            self.doubled_bytes -= u64::from(piece.bytes);
        }
        if self.free.remove(&position) {
            self.free_bytes -= u64::from(piece.bytes);
        }
        for number in piece.asked {
            let request = self.requests.get_mut(&number).expect("a piece names requests that are outstanding");
            request.left.retain(|other| *other != position);
            let (holder, done) = (request.source, request.left.is_empty());
            let holder_state = self.sources.get_mut(&holder).expect("a request belongs to a source");
            holder_state.outstanding_bytes -= u64::from(piece.bytes);
            if done {
                holder_state.settled(now, number, 0);
                self.requests.remove(&number);
                if holder != source.0 {
                    effects.push(Effect::Cancel { request: RequestId(number) });
                }
            }
        }
        true
    }

    /// Bytes came that nobody wanted any more.
    pub fn wasted(&mut self, source: SourceId, bytes: u64) {
        self.twice_bytes += bytes;
        if let Some(source) = self.sources.get_mut(&source.0) {
            source.wasted += bytes;
        }
    }

    /// A source does not hold a chunk that it was asked for.
    pub fn absent(&mut self, now: Duration, request: RequestId, position: u32) {
        let Some(held) = self.requests.get_mut(&request.0) else { return };
        if !held.left.contains(&position) {
            return;
        }
        held.left.retain(|other| *other != position);
        let (number, done) = (held.source, held.left.is_empty());
        let bytes = self.forget_asked(position, request.0);
        let source = self.sources.get_mut(&number).expect("a request belongs to a source");
        source.lacks(position);
        source.outstanding_bytes -= u64::from(bytes);
        if done {
            source.settled(now, request.0, 0);
            self.requests.remove(&request.0);
        }
    }

    /// It was not the source that took long: its silence does not count.
    pub fn excuse(&mut self, now: Duration, source: SourceId) {
        if let Some(source) = self.sources.get_mut(&source.0) {
            source.excuse(now);
        }
    }

    /// A source could not be reached, or was lost: it is tried again after a pause, until it has failed too often.
    pub fn failed(&mut self, now: Duration, source: SourceId, effects: &mut Vec<Effect>) {
        let Some(state) = self.sources.get_mut(&source.0) else { return };
        let silence = state.strike(now);
        self.punish(now, source, silence, effects);
    }

    /// A request has ended, early or not: what it did not bring is to be asked for again.
    pub fn ended(&mut self, now: Duration, request: RequestId) {
        self.take_back(now, request.0);
    }

    fn take_back(&mut self, now: Duration, number: u64) {
        let Some(request) = self.requests.remove(&number) else { return };
        let mut left = 0;
        for position in request.left {
            left += u64::from(self.forget_asked(position, number));
        }
        self.sources.get_mut(&request.source).expect("a request belongs to a source").settled(now, number, left);
    }

    /// Makes a piece forget that a request was to bring it. Returns its length.
    fn forget_asked(&mut self, position: u32, request: u64) -> u32 {
        let piece = self.pieces.get_mut(&position).expect("what a request has left is wanted");
        if piece.asked.len() > 1 {
            self.doubled_bytes -= u64::from(piece.bytes);
        }
        piece.asked.retain(|other| *other != request);
        let (bytes, alone) = (piece.bytes, piece.asked.is_empty());
        if alone {
            self.release(position, bytes);
        }
        bytes
    }

    fn release(&mut self, position: u32, bytes: u32) {
        if self.free.insert(position) {
            self.free_bytes += u64::from(bytes);
            self.changes += 1;
        }
    }

    fn twice_budget(&self) -> u64 {
        (self.wanted_bytes / TWICE_SHARE).max(TWICE_BYTES_MIN).saturating_sub(self.twice_bytes + self.doubled_bytes)
    }
}
