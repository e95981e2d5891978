//! How fast the hub is reached, from transfers that were made anyway.
use std::collections::VecDeque;

use gleaner_wire::{ByteSize, Micros, Millis};
use serde::{Deserialize, Serialize};

/// The most samples that are kept.
const SAMPLES_MAX: usize = 64;
/// Older ones say nothing about now.
const AGE_MAX: Millis = Millis(60 * 60_000);
/// What is smaller, or over sooner, measures how long a request takes and not how fast the line is.
const BYTES_MIN: u64 = 64 * 1024;
const TIME_MIN: Micros = Micros(1000);

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When it ended.
    pub at: Millis,
    /// How much was moved.
    pub bytes: ByteSize,
    /// From the first byte to the last.
    pub took: Micros,
}

/// One direction of the way to the hub.
#[derive(Clone, Debug, Default)]
pub struct Line {
    samples: VecDeque<Sample>,
}

impl Sample {
    fn bytes_per_second(&self) -> u64 {
        let rate = u128::from(self.bytes.0) * 1_000_000 / u128::from(self.took.0.max(1));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

impl Line {
    /// Takes a transfer into account, unless it is too small to say anything. The oldest makes room.
    pub fn add(&mut self, sample: Sample) {
        if sample.bytes.0 < BYTES_MIN || sample.took < TIME_MIN {
            return;
        }
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// Bytes a second: the rate that half of the bytes of the last hour reached. A few transfers that were held up, or
    /// that came out of some cache, do not move it. `None` if nothing was measured.
    pub fn bytes_per_second(&self, now: Millis) -> Option<ByteSize> {
        let mut rates: Vec<(u64, u64)> = self
            .samples
            .iter()
            .filter(|sample| now.since(sample.at) <= AGE_MAX)
            .map(|sample| (sample.bytes_per_second(), sample.bytes.0))
            .collect();
        rates.sort_unstable();
        let half = rates.iter().map(|(_, bytes)| u128::from(*bytes)).sum::<u128>().div_ceil(2);
        let mut below = 0;
        rates.into_iter().find_map(|(rate, bytes)| {
            below += u128::from(bytes);
            (below >= half).then_some(ByteSize(rate))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    fn sample(at: u64, bytes: u64, millis: u64) -> Sample {
        Sample { at: Millis(at), bytes: ByteSize(bytes), took: Micros(millis * 1000) }
    }

    fn speed(now: u64, samples: &[Sample]) -> Option<u64> {
        let mut line = Line::default();
        samples.iter().for_each(|sample| line.add(*sample));
        line.bytes_per_second(Millis(now)).map(|rate| rate.0)
    }

    #[test]
    fn one_transfer_is_its_own_speed() {
        assert_eq!(speed(0, &[sample(0, 10 * MIB, 2000)]), Some(5 * MIB));
        assert_eq!(speed(0, &[]), None);
    }

    #[test]
    fn small_answers_measure_nothing() {
        assert_eq!(speed(0, &[sample(0, 1000, 50), sample(0, MIB, 0)]), None);
    }

    #[test]
    fn a_few_transfers_that_were_held_up_do_not_move_it() {
        let mut samples = vec![sample(0, 10 * MIB, 1000); 7];
        samples.extend([sample(0, 10 * MIB, 60_000), sample(0, MIB, 30_000), sample(0, 10 * MIB, 10)]);
        assert_eq!(speed(0, &samples), Some(10 * MIB));
    }

    #[test]
    fn a_large_transfer_says_more_than_small_ones() {
        let mut samples = vec![sample(0, MIB, 1000); 5];
        samples.push(sample(0, 100 * MIB, 2000));
        assert_eq!(speed(0, &samples), Some(50 * MIB));
    }

    #[test]
    fn what_was_measured_long_ago_is_forgotten() {
        let old = sample(0, 10 * MIB, 1000);
        assert_eq!(speed(AGE_MAX.0, &[old]), Some(10 * MIB));
        assert_eq!(speed(AGE_MAX.0 + 1, &[old]), None);
        let mut samples = vec![old; SAMPLES_MAX];
        samples.extend([sample(0, 10 * MIB, 2000); SAMPLES_MAX]);
        assert_eq!(speed(0, &samples), Some(5 * MIB), "new ones make the old ones go");
    }

    proptest! {
        #[test]
        fn it_lies_between_the_slowest_and_the_fastest(
            samples in prop::collection::vec((BYTES_MIN..u64::MAX, 1_u64..u64::MAX / 1000), 1..100)
        ) {
            let samples: Vec<_> = samples.into_iter().map(|(bytes, millis)| sample(0, bytes, millis)).collect();
            let kept = samples.len().saturating_sub(SAMPLES_MAX);
            let rates = || samples[kept..].iter().map(Sample::bytes_per_second);
            let found = speed(0, &samples);
            prop_assert!(found >= rates().min() && found <= rates().max());
        }
    }
}
