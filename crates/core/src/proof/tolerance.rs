//! What results of honest machines differ by, learned for each pair of device classes and each type of number.
//!
//! Differences are what a comparison measures (`wire::check::Compared::distance`): millionths of what the job's own check
//! tolerates. Two classes that nothing is known of are not judged against each other at all. What is noted must come from
//! results that are trusted for another reason, because whoever teaches tolerances decides what passes.
use alloc::collections::BTreeMap;
use gleaner_wire::Hash;
use gleaner_wire::check::{Compared, Number};
use serde::{Deserialize, Serialize};

/// Differences that must have been seen before a pair of classes is judged by them.
const SEEN_MIN: u32 = 64;
/// Past this many all count half, so that a new driver is learned within some thousand comparisons.
const SEEN_MAX: u32 = 4096;
/// Pairs that are remembered; the least known one goes.
const PAIRS_MAX: usize = 4096;
/// What is tolerated is so many times the median of what was seen. The median is taken because liars among those who are
/// trusted can move any quantile that their share reaches; the margin has to cover the tail of honest differences instead.
const MARGIN: u64 = 32;

/// What is known of all pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tolerances {
    pairs: BTreeMap<(Hash, Hash, u8), Sketch>,
}

impl Tolerances {
    /// Takes down by how much two trusted results of one task differ.
    pub fn note(&mut self, one: Hash, other: Hash, number: Number, compared: Compared) {
        // Results of different shape have no difference that a tolerance could cover.
        if compared == Compared::APART {
            return;
        }
        let key = key(one, other, number);
        if self.pairs.len() >= PAIRS_MAX && !self.pairs.contains_key(&key) {
            let least = self.pairs.iter().min_by_key(|(_, sketch)| sketch.seen).map(|(key, _)| *key);
            least.map(|least| self.pairs.remove(&least));
        }
        self.pairs.entry(key).or_default().note(compared.distance);
    }

    /// How far apart results of two classes may be, or `None` if they must not be judged against each other: too little is
    /// known of what they differ by. Within a class that is at least what the job's check tolerates.
    pub fn tolerated(&self, one: Hash, other: Hash, number: Number) -> Option<u64> {
        let learned = self.pairs.get(&key(one, other, number)).and_then(Sketch::median);
        let learned = learned.map(|median| median.saturating_mul(MARGIN).max(Compared::TOLERATED));
        learned.or((one == other).then_some(Compared::TOLERATED))
    }

    /// Whether enough was seen of two classes to blame anybody for a difference between them. Until then even results of one
    /// class are compared only to learn: the check of a new kind of job may be narrower than what its machines can keep.
    pub fn is_known(&self, one: Hash, other: Hash, number: Number) -> bool {
        self.pairs.get(&key(one, other, number)).is_some_and(|sketch| sketch.seen >= SEEN_MIN)
    }

    /// Whether two results agree, as far as that can be said.
    pub fn agree(&self, one: Hash, other: Hash, number: Number, compared: Compared) -> Option<bool> {
        let tolerated = self.tolerated(one, other, number)?;
        Some(compared.agrees || (compared != Compared::APART && compared.distance <= tolerated))
    }
}

fn key(one: Hash, other: Hash, number: Number) -> (Hash, Hash, u8) {
    (one.min(other), one.max(other), number as u8)
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
    use proptest::prelude::*;

    fn class(name: &str) -> Hash {
        Hash::of(name.as_bytes())
    }

    fn taught(distances: impl Iterator<Item = u64>) -> Tolerances {
        let mut tolerances = Tolerances::default();
        for distance in distances {
            tolerances.note(class("a"), class("b"), Number::F32, Compared::at(distance));
        }
        tolerances
    }

    #[test]
    fn classes_that_little_is_known_of_are_not_judged_against_each_other() {
        let little = taught((0..63).map(|_| 5_000_000));
        assert_eq!(little.agree(class("a"), class("b"), Number::F32, Compared::at(6_000_000)), None);
        assert_eq!(little.agree(class("a"), class("a"), Number::F32, Compared::at(6_000_000)), Some(false));
        let enough = taught((0..64).map(|_| 5_000_000));
        assert!(
            !little.is_known(class("b"), class("a"), Number::F32)
                && enough.is_known(class("b"), class("a"), Number::F32)
        );
        assert_eq!(
            enough.agree(class("b"), class("a"), Number::F32, Compared::at(6_000_000)),
            Some(true),
            "either way"
        );
        assert_eq!(enough.agree(class("a"), class("b"), Number::F64, Compared::at(6_000_000)), None, "other numbers");
    }

    #[test]
    fn what_is_learned_covers_the_tail_of_honest_differences_and_no_more_than_that() {
        // One in a hundred is ten times as far apart as the others.
        let tolerances = taught((0..2000).map(|number| if number % 100 == 0 { 20_000_000 } else { 2_000_000 }));
        let agree = |distance| tolerances.agree(class("a"), class("b"), Number::F32, Compared::at(distance));
        assert_eq!((agree(20_000_000), agree(100_000_000)), (Some(true), Some(false)));
        assert_eq!(tolerances.agree(class("a"), class("b"), Number::F32, Compared::APART), Some(false));
    }

    #[test]
    fn liars_among_the_trusted_cannot_widen_what_is_tolerated() {
        let honest = taught((0..4000).map(|_| 1_000_000));
        let poisoned = taught((0..4000).map(|number| if number % 5 < 2 { 1 << 50 } else { 1_000_000 }));
        let tolerated = |known: &Tolerances| known.tolerated(class("a"), class("b"), Number::F32);
        assert_eq!(tolerated(&honest), tolerated(&poisoned));
    }

    #[test]
    fn classes_that_agree_to_the_bit_still_have_what_the_check_tolerates() {
        let same = taught((0..100).map(|_| 0));
        assert_eq!(same.tolerated(class("a"), class("b"), Number::F32), Some(Compared::TOLERATED));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut tolerances = Tolerances::default();
        for number in 0..PAIRS_MAX as u64 + 100 {
            tolerances.note(Hash::of(&number.to_le_bytes()), class("b"), Number::F32, Compared::at(1));
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
