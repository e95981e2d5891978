//! Handing out: what each source with room is asked for next.
use super::source::{REQUEST_BYTES_MIN, Role, Silence, Source};
use super::{Effect, RequestId, Scheduler, SourceId};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::time::Duration;

/// A source reached by a worse route is left alone if it is slower than one part in so many of a better one that holds
/// the same chunk.
const WORTH_ASKING: f64 = 4.0;
/// Chunks in a request at most.
const REQUEST_CHUNKS_MAX: usize = 512;
/// Free pieces that are looked at for one request, beyond those it takes.
const LOOK_MAX: usize = 65_536;
/// A piece is asked of a second source only if that one should be faster by this factor and this time.
const FASTER: u32 = 2;
const FASTER_BY: Duration = Duration::from_millis(100);
/// How often it is looked whether a source could overtake another.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// After this time without anything useful a fetch asks the origin, whoever's turn it is.
const STARVED: Duration = Duration::from_secs(10);

impl Scheduler {
    /// What to do now. To be called after anything was told, and every [`super::TICK`].
    pub fn plan(&mut self, now: Duration, effects: &mut Vec<Effect>) {
        self.judge(now, effects);
        // One request for each source in a round, so that the first does not take what little is left.
        loop {
            let mut order: Vec<u32> = self.sources.keys().copied().collect();
            order.sort_by_key(|number| (self.sources[number].route, *number));
            let before = effects.len();
            for number in order {
                if self.sources[&number].has_room(now)
                    && let Some(positions) = self.choose(now, number)
                {
                    self.ask(now, number, positions, effects);
                }
            }
            if effects.len() == before {
                break;
            }
        }
        self.ask_twice(now, effects);
    }

    fn judge(&mut self, now: Duration, effects: &mut Vec<Effect>) {
        let numbers: Vec<u32> = self.sources.keys().copied().collect();
        for number in numbers {
            let silence = self.sources.get_mut(&number).expect("just listed").judge(now);
            self.punish(now, SourceId(number), silence, effects);
        }
    }

    /// Takes back what a source was asked for, and drops it if it has been silent too often: not the only one, which is
    /// tried for as long as anybody waits.
    pub(super) fn punish(&mut self, now: Duration, source: SourceId, silence: Silence, effects: &mut Vec<Effect>) {
        match silence {
            Silence::No => {}
            Silence::Drop if self.sources.len() > 1 => {
                self.remove_source(now, source);
                effects.push(Effect::Drop { source });
            }
            Silence::Pause | Silence::Drop => {
                for request in self.sources[&source.0].outstanding.clone() {
                    self.take_back(now, request);
                    effects.push(Effect::Cancel { request: RequestId(request) });
                }
                effects.push(Effect::Reset { source });
            }
        }
    }

    fn ask(&mut self, now: Duration, number: u32, positions: Vec<u32>, effects: &mut Vec<Effect>) {
        let request = self.next_request;
        self.next_request += 1;
        let mut bytes = 0;
        for position in &positions {
            let piece = self.pieces.get_mut(position).expect("what is asked for is wanted");
            piece.asked.push(request);
            bytes += u64::from(piece.bytes);
            if piece.asked.len() > 1 {
                self.doubled_bytes += u64::from(piece.bytes);
            }
            if self.free.remove(position) {
                self.free_bytes -= u64::from(piece.bytes);
            }
        }
        self.sources.get_mut(&number).expect("a source that is asked is there").asked(now, request, bytes);
        self.requests.insert(request, super::Request { source: number, left: positions.clone() });
        effects.push(Effect::Ask { source: SourceId(number), request: RequestId(request), positions });
    }

    /// What a source is asked for next, or nothing. A source for which there was nothing is not looked at again before
    /// something has changed, or time has.
    fn choose(&mut self, now: Duration, number: u32) -> Option<Vec<u32>> {
        let source = &self.sources[&number];
        if source.barren.is_some_and(|(changes, until)| changes == self.changes && now < until) {
            return None;
        }
        let limit = source.request_bytes().min(self.fair_share(source)).max(source.lacking_bytes());
        let mut view = self.turns.view(now);
        let chosen = match source.role {
            Role::Peer => self.gather(now, number, limit, |_| true),
            Role::Origin | Role::Owner if view.is_alone() || self.is_starved(now) => {
                let spared = source.is_spared();
                self.gather(now, number, limit, |position| !spared || !self.is_elsewhere(now, position))
            }
            Role::Origin | Role::Owner => {
                let spared = source.is_spared();
                let own = |position| {
                    let free = if spared { !self.is_elsewhere(now, position) } else { !self.peer_holds(now, position) };
                    free && view.is_mine(position)
                };
                let chosen = self.gather(now, number, limit, own);
                if chosen.is_empty() && !spared { self.help(now, number, limit) } else { chosen }
            }
        };
        if chosen.is_empty() {
            let changes = self.changes;
            self.sources.get_mut(&number).expect("just looked at").barren = Some((changes, now + super::TICK));
            return None;
        }
        Some(chosen)
    }

    /// Part of what an owner is slow with, from the other end.
    fn help(&self, now: Duration, number: u32, limit: u64) -> Vec<u32> {
        let mut view = self.turns.view(now);
        for position in self.free.iter().take(LOOK_MAX) {
            view.count(*position);
        }
        let mut chosen = Vec::new();
        let mut bytes = 0;
        for &position in self.free.iter().rev().take(LOOK_MAX) {
            if bytes >= limit || chosen.len() >= REQUEST_CHUNKS_MAX {
                break;
            }
            let held = self.sources[&number].holds(position) && !self.peer_holds(now, position);
            if held && view.may_help(position) {
                bytes += u64::from(self.pieces[&position].bytes);
                chosen.push(position);
            }
        }
        chosen
    }

    /// Half of what this source would bring if all that is left were shared out by speed: so nobody is left with
    /// much when the others have nothing to do. Who is alone has nobody to share with.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate"
    )]
    fn fair_share(&self, source: &Source) -> u64 {
        let all: f64 = self.sources.values().filter_map(Source::speed).sum();
        let Some(speed) = source.speed() else { return REQUEST_BYTES_MIN };
        if self.sources.len() == 1 {
            return self.free_bytes.max(REQUEST_BYTES_MIN);
        }
        ((self.free_bytes as f64 * speed / all.max(1.0) / 2.0) as u64).max(REQUEST_BYTES_MIN)
    }

    fn gather(&self, now: Duration, number: u32, limit: u64, mut may: impl FnMut(u32) -> bool) -> Vec<u32> {
        let source = &self.sources[&number];
        let start = match source.role {
            Role::Origin | Role::Owner => 0,
            Role::Peer => self.start,
        };
        let better = self.better_than(now, source);
        let after = self.free.range((Included(start), Unbounded));
        let (mut chosen, mut bytes) = (Vec::new(), 0);
        for &position in after.chain(self.free.range((Unbounded, Excluded(start)))).take(LOOK_MAX) {
            if !source.holds(position) || better.iter().any(|other| other.holds(position)) || !may(position) {
                continue;
            }
            bytes += u64::from(self.pieces[&position].bytes);
            chosen.push(position);
            if bytes >= limit || chosen.len() >= REQUEST_CHUNKS_MAX {
                break;
            }
        }
        chosen
    }

    /// Sources that are reached by a better route and so much faster that this one is not worth its while.
    fn better_than(&self, now: Duration, source: &Source) -> Vec<&Source> {
        let Some(speed) = source.speed() else { return Vec::new() };
        let much_faster = |other: &&Source| other.speed().is_some_and(|known| known > speed * WORTH_ASKING);
        let better = |other: &&Source| other.route < source.route && !other.is_paused(now);
        self.sources.values().filter(better).filter(much_faster).collect()
    }

    fn peer_holds(&self, now: Duration, position: u32) -> bool {
        let peers = self.sources.values().filter(|source| source.role == Role::Peer && !source.is_paused(now));
        peers.into_iter().any(|source| source.holds(position))
    }

    /// Whether somebody holds a chunk whose line is not spared.
    fn is_elsewhere(&self, now: Duration, position: u32) -> bool {
        let mut others = self.sources.values().filter(|source| !source.is_spared() && !source.is_paused(now));
        others.any(|source| source.holds(position))
    }

    fn is_starved(&self, now: Duration) -> bool {
        now.saturating_sub(self.fed) > STARVED
    }

    /// Asks idle sources also for what slower ones have outstanding, the latest first.
    fn ask_twice(&mut self, now: Duration, effects: &mut Vec<Effect>) {
        let idle = |source: &Source| {
            let room = source.has_room(now) && source.outstanding.len() < 2;
            room && source.barren.is_some() && source.speed().is_some() && now >= source.looked + LOOK_AGAIN
        };
        let numbers: Vec<u32> =
            self.sources.iter().filter(|(_, source)| idle(source)).map(|(number, _)| *number).collect();
        // Of an origin nothing is asked twice as long as others fetch the same: all of them would.
        let spared = !self.turns.view(now).is_alone() && !self.is_starved(now);
        for number in numbers {
            let source = self.sources.get_mut(&number).expect("just listed");
            source.looked = now;
            if source.is_spared() || (spared && source.role != Role::Peer) {
                continue;
            }
            let positions = self.overtaken(now, number);
            if !positions.is_empty() {
                self.ask(now, number, positions, effects);
            }
        }
    }

    /// Pieces outstanding elsewhere that this source should bring much sooner.
    fn overtaken(&self, now: Duration, number: u32) -> Vec<u32> {
        let source = &self.sources[&number];
        let mut late: Vec<(Duration, u32)> = Vec::new();
        for (other, state) in self.sources.iter().filter(|(other, _)| **other != number) {
            let mut ahead = 0;
            for position in state.outstanding.iter().flat_map(|request| &self.requests[request].left) {
                let piece = &self.pieces[position];
                ahead += u64::from(piece.bytes);
                if piece.asked.len() == 1 && source.holds(*position) {
                    let due = state.time_for(ahead) + state.silent_for(now);
                    late.push((due, *position));
                }
            }
            debug_assert_eq!(ahead, state.outstanding_bytes, "source {other} counts what it has outstanding");
        }
        late.sort_unstable_by(|one, two| two.cmp(one));
        let (mut chosen, mut bytes) = (Vec::new(), 0);
        let mut budget = self.twice_budget();
        for (due, position) in late {
            let size = u64::from(self.pieces[&position].bytes);
            let here = source.round_trip() + source.time_for(source.outstanding_bytes + bytes + size);
            if due <= here * FASTER + FASTER_BY || size > budget || bytes + size > REQUEST_BYTES_MIN.max(size) {
                break;
            }
            budget -= size;
            bytes += size;
            chosen.push(position);
        }
        chosen
    }
}
