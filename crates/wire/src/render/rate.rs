//! Frames a second, as a fraction: films have 30000/1001 of them.
use core::fmt;
use serde::{Deserialize, Serialize};

/// Frames a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// So many frames.
    pub frames: u32,
    /// In so many seconds; never 0.
    pub seconds: u32,
}

/// Blender has single precision, which is good for six digits.
const PARTS: f64 = 1e6;
const FRAMES_A_SECOND_MAX: u32 = 1000;

impl Rate {
    /// Out of Blender's two numbers: frames a second, and what to divide them by.
    pub fn new(frames: f64, base: f64) -> Option<Self> {
        let whole = |number: f64| {
            let parts = number * PARTS + 0.5;
            (parts >= 1.0 && parts <= f64::from(u32::MAX)).then_some(parts as u32)
        };
        let (frames, seconds) = (whole(frames)?, whole(base)?);
        let most = greatest_divisor(frames, seconds);
        Some(Self { frames: frames / most, seconds: seconds / most }).filter(Self::is_sound)
    }

    /// Whether it is a rate that films have: above 0, and at most 1000.
    pub fn is_sound(&self) -> bool {
        let most = u64::from(FRAMES_A_SECOND_MAX) * u64::from(self.seconds);
        self.frames > 0 && self.seconds > 0 && u64::from(self.frames) <= most
    }
}

fn greatest_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.frames, self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_rates_of_films_are_exact() {
        assert_eq!(Rate::new(24.0, 1.0), Some(Rate { frames: 24, seconds: 1 }));
        assert_eq!(Rate::new(30.0, f64::from(1.001_f32)), Some(Rate { frames: 30_000, seconds: 1001 }));
        assert_eq!(Rate::new(1.0, 2.0), Some(Rate { frames: 1, seconds: 2 }));
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for (frames, base) in
            [(0.0, 1.0), (24.0, 0.0), (f64::NAN, 1.0), (24.0, f64::INFINITY), (-24.0, 1.0), (2e3, 1.0)]
        {
            assert_eq!(Rate::new(frames, base), None, "{frames} {base}");
        }
    }

    proptest! {
        #[test]
        fn no_numbers_make_it_panic(frames: f64, base: f64) {
            prop_assert!(Rate::new(frames, base).is_none_or(|rate| rate.is_sound()));
        }
    }
}
