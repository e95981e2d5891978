//! A quick look whether squeezing a chunk is hopeless.
//!
//! First the frequencies of the bytes in a few small samples: unevenly spread means worth squeezing. Evenly spread
//! bytes are tried on a part of the chunk, until that has failed several times in a row on the same stream.

/// Four samples of this size are looked at.
const SAMPLE_BYTES: usize = 1024;
/// How much of an evenly spread chunk is tried.
const TRIAL_BYTES: usize = 16 * 1024;
/// After so many failures in a row evenly spread chunks of the stream are not tried, except every so often.
const FAILURES_TO_LEARN: u32 = 3;
const TRIED_AGAIN_AFTER: u32 = 32;

/// What was learned about a stream.
#[derive(Debug, Default)]
pub(super) struct Memory {
    failures: u32,
}

impl Memory {
    /// Whether this chunk is not worth squeezing. `saves` tries it on a sample.
    pub(super) fn is_hopeless(&mut self, plain: &[u8], saves: impl FnOnce(&[u8]) -> bool) -> bool {
        if plain.len() < SAMPLE_BYTES * 8 || !is_evenly_spread(plain) {
            return false;
        }
        if self.failures >= FAILURES_TO_LEARN && !self.failures.is_multiple_of(TRIED_AGAIN_AFTER) {
            self.failures = self.failures.wrapping_add(1).max(FAILURES_TO_LEARN);
            return true;
        }
        let middle = plain.len() / 2;
        let trial = &plain[middle.saturating_sub(TRIAL_BYTES / 2)..plain.len().min(middle + TRIAL_BYTES / 2)];
        let saved = saves(trial);
        self.failures = if saved { 0 } else { self.failures.wrapping_add(1) };
        !saved
    }
}

/// Whether byte values occur about equally often in a sample of the chunk. Chance makes the sum of squared counts
/// of 4096 evenly spread bytes 4096 + 4096²/256 on average; what has any structure is far above.
fn is_evenly_spread(plain: &[u8]) -> bool {
    let mut counts = [0_u32; 256];
    let step = (plain.len() - SAMPLE_BYTES) / 3;
    for sample in 0..4 {
        for byte in &plain[sample * step..sample * step + SAMPLE_BYTES] {
            counts[usize::from(*byte)] += 1;
        }
    }
    let squares: u64 = counts.iter().map(|count| u64::from(*count).pow(2)).sum();
    let total = 4 * SAMPLE_BYTES as u64;
    squares < (total + total * total / 256) * 5 / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{noise, words};

    #[test]
    fn words_are_told_from_noise() {
        for seed in 0..100 {
            assert!(is_evenly_spread(&noise(seed, 20_000 + seed as usize)));
            assert!(!is_evenly_spread(&words(seed, 20_000 + seed as usize)));
        }
    }

    #[test]
    fn a_noisy_stream_is_tried_rarely() {
        let mut memory = Memory::default();
        let mut tries = 0;
        for seed in 0..1000 {
            let hopeless = memory.is_hopeless(&noise(seed, 16_384), |_| {
                tries += 1;
                false
            });
            assert!(hopeless);
        }
        assert!((10..40).contains(&tries), "{tries}");
    }

    #[test]
    fn repeated_noise_is_worth_it() {
        let mut repeated = noise(1, 4096);
        repeated.extend_from_within(..);
        repeated.extend_from_within(..);
        let squeezed = |sample: &[u8]| zstd::bulk::compress(sample, 1).expect("squeezed").len() < sample.len() / 2;
        assert!(!Memory::default().is_hopeless(&repeated, squeezed));
    }
}
