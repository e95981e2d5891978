//! What results of honest machines differ by, learned for each pair of device classes.
//!
//! Differences are what a comparison measures (`wire::check::Compared::distance`): millionths of what the job's own check
//! tolerates. So each check has its own, and so has each requester: whoever writes a program could make it differ as it likes,
//! and must not teach by it what passes for others. Two classes that nothing is known of are not judged against each other at
//! all. What is noted must come from results that are trusted for another reason, because whoever teaches tolerances decides
//! what passes.
use alloc::collections::BTreeMap;
use alloc::string::String;
use gleaner_wire::Hash;
use gleaner_wire::check::{Check, Compared};
use serde::{Deserialize, Serialize};

/// Differences that must have been seen before a pair of classes is judged by them.
pub const SEEN_MIN: u32 = 64;
/// Past this many all count half, so that a new driver is learned within some thousand comparisons.
const SEEN_MAX: u32 = 4096;
/// Pairs that are remembered; the least known one goes.
const PAIRS_MAX: usize = 4096;
/// What is tolerated is so many times the median of what was seen. The median is taken because liars among those who are
/// trusted can move any quantile that their share reaches; the margin has to cover the tail of honest differences instead.
const MARGIN: u64 = 32;

/// Two classes of devices, in either order, and the results that are compared between them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pair {
    requester: u32,
    check: Hash,
    one: String,
    other: String,
}

impl Pair {
    /// The pair of these classes, for results of this requester's tasks with this check.
    pub fn of(requester: u32, check: Check, one: &str, other: &str) -> Self {
        let check = Hash::of(&gleaner_wire::encode(&check));
        Self { requester, check, one: one.min(other).into(), other: one.max(other).into() }
    }

    /// The two classes.
    pub fn classes(&self) -> [&str; 2] {
        [&self.one, &self.other]
    }

    fn is_one_class(&self) -> bool {
        self.one == self.other
    }
}

/// What is known of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// How many differences were seen, fading.
    pub seen: u32,
    /// How far apart results may be, if they are compared.
    pub tolerated: Option<u64>,
}

/// What is known of all pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tolerances {
    pairs: BTreeMap<Pair, Sketch>,
}

impl Tolerances {
    /// Takes down by how much two trusted results of one task differ.
    pub fn note(&mut self, pair: Pair, compared: Compared) {
        // Results of different shape have no difference that a tolerance could cover.
        if compared == Compared::APART {
            return;
        }
        if self.pairs.len() >= PAIRS_MAX && !self.pairs.contains_key(&pair) {
            let least = self.pairs.iter().min_by_key(|(_, sketch)| sketch.seen).map(|(pair, _)| pair.clone());
            least.map(|least| self.pairs.remove(&least));
        }
        self.pairs.entry(pair).or_default().note(compared.distance);
    }

    /// How far apart results of two classes may be, or `None` if they must not be judged against each other: too little is
    /// known of what they differ by. Within a class that is at least what the job's check tolerates.
    pub fn tolerated(&self, pair: &Pair) -> Option<u64> {
        let learned = self.pairs.get(pair).and_then(Sketch::median);
        let learned = learned.map(|median| median.saturating_mul(MARGIN).max(Compared::TOLERATED));
        learned.or(pair.is_one_class().then_some(Compared::TOLERATED))
    }

    /// Whether enough was seen of two classes to blame anybody for a difference between them. Until then even results of one
    /// class are compared without blame: the check of a new kind of job may be narrower than what its machines can keep.
    pub fn is_known(&self, pair: &Pair) -> bool {
        self.pairs.get(pair).is_some_and(|sketch| sketch.seen >= SEEN_MIN)
    }

    /// Whether two results agree, as far as that can be said.
    pub fn agree(&self, pair: &Pair, compared: Compared) -> Option<bool> {
        let tolerated = self.tolerated(pair)?;
        Some(compared.agrees || (compared != Compared::APART && compared.distance <= tolerated))
    }

    /// What is known of the classes that results of a requester's tasks with this check were compared between.
    pub fn of(&self, requester: u32, check: Check) -> impl Iterator<Item = (&Pair, Known)> {
        let first = Pair::of(requester, check, "", "");
        let hash = first.check;
        let theirs =
            self.pairs.range(first..).take_while(move |(pair, _)| (pair.requester, pair.check) == (requester, hash));
        theirs.map(|(pair, sketch)| (pair, Known { seen: sketch.seen, tolerated: self.tolerated(pair) }))
    }
}

/// A fading histogram of differences: quarters of octaves, so that it stays small and a quantile is off by a quarter at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sketch {
    counts: BTreeMap<u8, u32>,
    seen: u32,
}

impl Sketch {
    fn note(&mut self, distance: u64) {
        *self.counts.entry(bucket(distance)).or_default() += 1;
        self.seen += 1;
        if self.seen >= SEEN_MAX {
            self.counts.values_mut().for_each(|count| *count /= 2);
            self.counts.retain(|_, count| *count > 0);
            self.seen = self.counts.values().sum();
        }
    }

    fn median(&self) -> Option<u64> {
        if self.seen < SEEN_MIN {
            return None;
        }
        let mut below = 0;
        let half = self.seen.div_ceil(2);
        let middle = self.counts.iter().find(|(_, count)| {
            below += **count;
            below >= half
        });
        middle.map(|(bucket, _)| top(*bucket))
    }
}

/// Which quarter of which octave a difference is in.
fn bucket(distance: u64) -> u8 {
    let octave = distance.max(4).ilog2();
    let quarter = (distance.max(4) >> (octave - 2)) & 3;
    let bucket = (octave - 2) * 4 + quarter as u32;
    // Below four every whole number is its own.
    if distance < 4 { distance as u8 } else { u8::try_from(bucket + 4).expect("62 octaves have 248 quarters") }
}

/// The largest difference in a bucket.
fn top(bucket: u8) -> u64 {
    let Some(above) = bucket.checked_sub(4) else { return u64::from(bucket) };
    let (octave, quarter) = (u32::from(above / 4), u64::from(above % 4));
    (((4 + quarter + 1) as u128) << octave).saturating_sub(1).try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const CHECK: Check = Check::Image { pixel: 1, perceptual: 1, learned: true };

    fn pair(one: &str, other: &str) -> Pair {
        Pair::of(1, CHECK, one, other)
    }

    fn taught(distances: impl Iterator<Item = u64>) -> Tolerances {
        let mut tolerances = Tolerances::default();
        for distance in distances {
            tolerances.note(pair("a", "b"), Compared::at(distance));
        }
        tolerances
    }

    #[test]
    fn classes_that_little_is_known_of_are_not_judged_against_each_other() {
        let little = taught((0..63).map(|_| 5_000_000));
        assert_eq!(little.agree(&pair("a", "b"), Compared::at(6_000_000)), None);
        assert_eq!(little.agree(&pair("a", "a"), Compared::at(6_000_000)), Some(false));
        let enough = taught((0..64).map(|_| 5_000_000));
        assert!(!little.is_known(&pair("b", "a")) && enough.is_known(&pair("b", "a")));
        assert_eq!(enough.agree(&pair("b", "a"), Compared::at(6_000_000)), Some(true), "either way");
    }

    #[test]
    fn what_one_requesters_programs_differ_by_says_nothing_of_anothers_or_of_another_check() {
        let known = taught((0..64).map(|_| 5_000_000));
        let exact = Pair::of(1, Check::Image { pixel: 1, perceptual: 2, learned: true }, "a", "b");
        for pair in [Pair::of(2, CHECK, "a", "b"), exact] {
            assert_eq!(known.agree(&pair, Compared::at(6_000_000)), None);
        }
        let shown: Vec<_> = known.of(1, CHECK).collect();
        assert_eq!(shown.len(), 1);
        assert_eq!((shown[0].0.classes(), shown[0].1.seen), (["a", "b"], 64));
        assert!(known.of(2, CHECK).next().is_none());
    }

    #[test]
    fn what_is_learned_covers_the_tail_of_honest_differences_and_no_more_than_that() {
        // One in a hundred is ten times as far apart as the others.
        let tolerances = taught((0..2000).map(|number| if number % 100 == 0 { 20_000_000 } else { 2_000_000 }));
        let agree = |distance| tolerances.agree(&pair("a", "b"), Compared::at(distance));
        assert_eq!((agree(20_000_000), agree(100_000_000)), (Some(true), Some(false)));
        assert_eq!(tolerances.agree(&pair("a", "b"), Compared::APART), Some(false));
    }

    #[test]
    fn liars_among_the_trusted_cannot_widen_what_is_tolerated() {
        let honest = taught((0..4000).map(|_| 1_000_000));
        let poisoned = taught((0..4000).map(|number| if number % 5 < 2 { 1 << 50 } else { 1_000_000 }));
        let tolerated = |known: &Tolerances| known.tolerated(&pair("a", "b"));
        assert_eq!(tolerated(&honest), tolerated(&poisoned));
    }

    #[test]
    fn classes_that_agree_to_the_bit_still_have_what_the_check_tolerates() {
        let same = taught((0..100).map(|_| 0));
        assert_eq!(same.tolerated(&pair("a", "b")), Some(Compared::TOLERATED));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut tolerances = Tolerances::default();
        for number in 0..PAIRS_MAX as u64 + 100 {
            tolerances.note(pair(&alloc::format!("{number}"), "b"), Compared::at(1));
        }
        assert_eq!(tolerances.pairs.len(), PAIRS_MAX);
        let long = taught((0..100_000).map(|number| number * 1_000_003));
        assert!(long.pairs.values().all(|sketch| sketch.seen < SEEN_MAX && sketch.counts.len() <= 256));
    }

    proptest! {
        #[test]
        fn a_bucket_holds_what_falls_into_it_and_a_quarter_more_at_most(distance in any::<u64>()) {
            let top = top(bucket(distance));
            prop_assert!(distance <= top && top - distance <= distance / 4, "{distance} {top}");
        }
    }
}
