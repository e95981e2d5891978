//! Whose turn it is to fetch from the origin, so that the origin sends everything about once.
//!
//! Each group of consecutive chunks has an owner among those who fetch the dataset, chosen by rendezvous hashing:
//! everybody who knows the same members chooses the same, and when one comes or goes only its own groups move. The
//! owner fetches the group from the origin; the others fetch it from the owner, or from whoever has it by then. A
//! member that stops making progress owns nothing until it moves again. One that is merely slow is helped, from the
//! other end of its part, by the one member that comes second for a group.
use gleaner_wire::WorkerKey;
use std::collections::BTreeMap;
use std::time::Duration;

/// Chunks in a group: about a megabyte.
pub const GROUP_CHUNKS: u32 = 16;
/// Members that take turns at most; more may fetch, from those.
pub const MEMBERS_MAX: usize = 256;
/// How long a member may make no progress before its turn passes, at least and at most; in between it is measured.
const PATIENCE_MIN: Duration = Duration::from_secs(3);
const PATIENCE_MAX: Duration = Duration::from_secs(30);
/// A member whose part should take longer than this is slow.
const SLOW: Duration = Duration::from_secs(10);
/// How long one who comes late waits for its turns.
const SETTLE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
struct Member {
    held: u64,
    complete: bool,
    grew: Duration,
    /// The usual time between two signs of progress.
    gap: Duration,
    /// Chunks a second.
    pace: f64,
}

/// Who fetches a dataset, as one of them sees it.
#[derive(Clone, Debug)]
pub struct Turns {
    me: WorkerKey,
    members: BTreeMap<WorkerKey, Member>,
    /// When this member's own turns begin.
    settled: Duration,
}

impl Turns {
    /// Alone, so far.
    pub fn new(me: WorkerKey) -> Self {
        Self { me, members: BTreeMap::new(), settled: Duration::ZERO }
    }

    /// A member holds this many chunks; `complete` if those are all it wants. Beyond [`MEMBERS_MAX`] new ones are not
    /// counted.
    pub fn seen(&mut self, now: Duration, who: WorkerKey, held: u64, complete: bool) {
        if who == self.me {
            return;
        }
        let Some(member) = self.members.get_mut(&who) else {
            // Who comes late leaves the others the time to hear of it: what they have asked for already is theirs.
            if self.members.is_empty() && held > 0 {
                self.settled = now + SETTLE;
            }
            if self.members.len() < MEMBERS_MAX {
                self.members.insert(who, Member { held, complete, grew: now, gap: Duration::ZERO, pace: 0.0 });
            }
            return;
        };
        member.complete = complete;
        if held > member.held {
            let gap = now.saturating_sub(member.grew).max(Duration::from_millis(1));
            #[expect(clippy::cast_precision_loss, reason = "a rate")]
            let pace = (held - member.held) as f64 / gap.as_secs_f64();
            member.pace = if member.pace > 0.0 { (member.pace + pace) / 2.0 } else { pace };
            member.gap = (member.gap + gap) / 2;
            member.grew = now;
        }
        member.held = held;
    }

    /// A member is gone.
    pub fn left(&mut self, who: &WorkerKey) {
        self.members.remove(who);
    }

    /// The turns as they are at this moment.
    pub fn view(&self, now: Duration) -> View {
        let takes_part = |member: &Member| {
            let patience = (member.gap * 4).clamp(PATIENCE_MIN, PATIENCE_MAX);
            !member.complete && now.saturating_sub(member.grew) < patience
        };
        let me = Candidate { seed: seed_of(&self.me), pace: 0.0, owned: 0 };
        let others = self.members.iter().filter(|(_, member)| takes_part(member));
        let other =
            |(key, member): (&WorkerKey, &Member)| Candidate { seed: seed_of(key), pace: member.pace, owned: 0 };
        View {
            alone: self.members.is_empty(),
            settled: now >= self.settled,
            candidates: std::iter::once(me).chain(others.map(other)).collect(),
            last: None,
        }
    }
}

#[derive(Clone, Debug)]
struct Candidate {
    seed: u64,
    pace: f64,
    owned: u64,
}

/// The turns at one moment. The first candidate is the one who looks.
#[derive(Clone, Debug)]
pub struct View {
    alone: bool,
    settled: bool,
    candidates: Vec<Candidate>,
    /// The group that was asked about last, with who comes first and second for it.
    last: Option<(u32, usize, Option<usize>)>,
}

impl View {
    /// Whether nobody else fetches this dataset.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Whether the chunk at this position is this member's to fetch from the origin.
    pub fn is_mine(&mut self, position: u32) -> bool {
        self.settled && self.ranked(position).0 == 0
    }

    /// Counts a chunk that its owner has still to fetch.
    pub fn count(&mut self, position: u32) {
        let (owner, _) = self.ranked(position);
        self.candidates[owner].owned += 1;
    }

    /// Whether this member is to help the owner of a chunk, by what was counted.
    pub fn may_help(&mut self, position: u32) -> bool {
        let (owner, second) = self.ranked(position);
        let Candidate { owned, pace, .. } = self.candidates[owner];
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let slow = pace > 0.0 && owned as f64 > pace * SLOW.as_secs_f64();
        self.settled && owner != 0 && second == Some(0) && slow
    }

    fn ranked(&mut self, position: u32) -> (usize, Option<usize>) {
        let group = position / GROUP_CHUNKS;
        if let Some((known, first, second)) = self.last
            && known == group
        {
            return (first, second);
        }
        let score = |candidate: &Candidate| mixed(candidate.seed ^ mixed(u64::from(group)));
        let (mut first, mut second): ((u64, usize), Option<(u64, usize)>) = ((score(&self.candidates[0]), 0), None);
        for (number, candidate) in self.candidates.iter().enumerate().skip(1) {
            let scored = (score(candidate), number);
            if scored.0 > first.0 {
                (first, second) = (scored, Some(first));
            } else if second.is_none_or(|second| scored.0 > second.0) {
                second = Some(scored);
            }
        }
        self.last = Some((group, first.1, second.map(|second| second.1)));
        (first.1, second.map(|second| second.1))
    }
}

fn seed_of(key: &WorkerKey) -> u64 {
    let words = key.0.as_chunks::<8>().0;
    words.iter().fold(0, |seed, word| mixed(seed ^ u64::from_le_bytes(*word)))
}

/// Spreads the bits of a number (the finishing steps of splitmix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1);

    fn key(number: u8) -> WorkerKey {
        WorkerKey([number; 32])
    }

    fn turns(me: u8, others: &[u8]) -> Turns {
        let mut turns = Turns::new(key(me));
        others.iter().for_each(|other| turns.seen(NOW, key(*other), 0, false));
        turns
    }

    #[test]
    fn every_group_has_one_owner_and_parts_are_about_equal() {
        let all: Vec<u8> = (0..8).collect();
        let mut views: Vec<View> = all.iter().map(|me| turns(*me, &all).view(NOW)).collect();
        let mut owned = [0; 8];
        for group in 0..4000 {
            let owners: Vec<usize> = (0..8).filter(|me| views[*me].is_mine(group * GROUP_CHUNKS + 3)).collect();
            assert_eq!(owners.len(), 1, "group {group}: {owners:?}");
            owned[owners[0]] += 1;
        }
        assert!(owned.iter().all(|part| (400..600).contains(part)), "{owned:?}");
    }

    #[test]
    fn who_goes_takes_only_its_own_groups_along() {
        let mut before = turns(0, &[1, 2, 3]).view(NOW);
        let mut after = turns(0, &[1, 2]).view(NOW);
        assert!((0..1000).all(|group| !before.is_mine(group * GROUP_CHUNKS) || after.is_mine(group * GROUP_CHUNKS)));
    }

    #[test]
    fn the_turn_of_a_member_without_progress_passes_and_comes_back() {
        let mut turns = turns(0, &[1]);
        let others = |turns: &Turns, now| {
            let mut view = turns.view(now);
            (0..100).filter(|group| !view.is_mine(group * GROUP_CHUNKS)).count()
        };
        assert!(others(&turns, NOW) > 20);
        let later = NOW + PATIENCE_MIN;
        assert_eq!(others(&turns, later), 0, "it is silent");
        turns.seen(later, key(1), 5, false);
        assert!(others(&turns, later) > 20, "it moves");
        turns.seen(later, key(1), 6, true);
        assert_eq!(others(&turns, later), 0, "it wants nothing more");
        assert!(!turns.view(later).is_alone());
        turns.left(&key(1));
        assert!(turns.view(later).is_alone());
    }

    #[test]
    fn who_comes_late_waits_a_moment_for_its_turns() {
        let mut turns = Turns::new(key(0));
        turns.seen(NOW, key(1), 700, false);
        let owns = |now| (0..100).any(|group| turns.view(now).is_mine(group * GROUP_CHUNKS));
        assert!(!owns(NOW) && owns(NOW + SETTLE));
    }

    #[test]
    fn a_slow_owner_is_helped_by_exactly_one() {
        let later = NOW + Duration::from_secs(1);
        let mut views: Vec<View> = (0..3)
            .map(|me| {
                let mut turns = turns(me, &[0, 1, 2]);
                turns.seen(later, key(0), 1, false);
                turns.seen(later, key(1), 4000, false);
                turns.seen(later, key(2), 4000, false);
                turns.view(later)
            })
            .collect();
        let positions: Vec<u32> = (0..3000).collect();
        views.iter_mut().for_each(|view| positions.iter().for_each(|position| view.count(*position)));
        for position in positions {
            let owner = (0..3).find(|me| views[*me].is_mine(position)).expect("somebody owns it");
            let helpers = (0..3).filter(|me| views[*me].may_help(position)).count();
            assert_eq!(helpers, usize::from(owner == 0), "position {position}");
        }
    }
}
