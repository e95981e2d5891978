//! How hard to squeeze: as hard as brings the most bytes a second to the other side.
//!
//! Pure: speeds are measured while data is on its way, and come in as numbers.

/// A level of zstd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(i32);

impl Level {
    /// The quickest.
    pub const QUICK: Self = Self(1);

    /// The levels that are worth choosing between, with what they cost and save on ordinary files: bytes a second of one
    /// core as a part of level 1's, and what is left of 1000 bytes. From zstd's own published measurements.
    const CHOICES: [(Level, u64, u64); 6] = [
        (Level(1), 1000, 346),
        (Level(3), 600, 317),
        (Level(6), 230, 300),
        (Level(9), 120, 290),
        (Level(12), 50, 286),
        (Level(15), 22, 277),
    ];

    /// Every level that [`level`] chooses between.
    pub fn choices() -> impl Iterator<Item = Self> {
        Self::CHOICES.iter().map(|(level, ..)| *level)
    }

    /// The level of this number, or the nearest that is used.
    pub fn new(number: i32) -> Self {
        Self(number.clamp(1, 15))
    }

    /// The number that zstd knows it by.
    pub fn number(self) -> i32 {
        self.0
    }

    /// What it costs and saves.
    fn known(self) -> (u64, u64) {
        let (_, cost, left) = Self::CHOICES.into_iter().rfind(|(level, ..)| *level <= self).unwrap_or(Self::CHOICES[0]);
        (cost, left)
    }
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Bytes a second that go through the line; none if it takes whatever comes.
    pub line: Option<u64>,
    /// The level at which the next numbers were measured.
    pub at: Level,
    /// Bytes a second that one thread squeezes.
    pub squeeze: u64,
    /// What is left of 1000 bytes that were squeezed.
    pub left: u64,
    /// How many of 1000 bytes are worth squeezing.
    pub worth: u64,
    /// Bytes a second that one thread reads, hashes and seals.
    pub seal: u64,
    /// How many threads work on it.
    pub threads: u64,
}

/// The level to go on with: the one that is expected to bring the most, if it is better than the present one by a tenth.
/// None if squeezing would only hold up a fast line.
pub fn level(now: Option<Level>, measured: &Measured) -> Option<Level> {
    let choices = [None].into_iter().chain(Level::CHOICES.map(|(level, ..)| Some(level)));
    let enough = (measured.delivers(now) / 10).saturating_mul(11);
    choices
        .map(|level| (measured.delivers(level), level))
        .filter(|(speed, _)| *speed > enough)
        .max()
        .map_or(now, |best| best.1)
}

impl Measured {
    /// Bytes a second before squeezing, with processor and line working side by side.
    fn delivers(&self, level: Option<Level>) -> u64 {
        const THOUSAND: u128 = 1000;
        let worth = u128::from(self.worth.min(1000));
        let (cost_known, left_known) = self.at.known();
        let (squeezed, squeeze, left) = match level {
            None => (0, 1, THOUSAND),
            Some(level) => {
                let (cost, left) = level.known();
                let squeeze = u128::from(self.squeeze) * u128::from(cost) / u128::from(cost_known);
                (worth, squeeze, u128::from(self.left) * u128::from(left) / u128::from(left_known))
            }
        };
        // What a thousand bytes take, in units that leave no speed at zero.
        const UNIT: u128 = 1 << 60;
        let time = squeezed * UNIT / squeeze.max(1) + THOUSAND * UNIT / u128::from(self.seal.max(1));
        let processor = (THOUSAND * UNIT / time.max(1)).saturating_mul(u128::from(self.threads));
        let out = squeezed * left.min(THOUSAND) / THOUSAND + (THOUSAND - squeezed);
        let line = self.line.map_or(u128::MAX, |line| u128::from(line) * THOUSAND / out.max(1));
        u64::try_from(processor.min(line)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;
    const TEXT: Measured = Measured {
        line: None,
        at: Level::QUICK,
        squeeze: 400 * MB,
        left: 346,
        worth: 1000,
        seal: 1500 * MB,
        threads: 2,
    };

    fn chosen(line: u64, threads: u64) -> Option<i32> {
        level(None, &Measured { line: Some(line), threads, ..TEXT }).map(Level::number)
    }

    #[test]
    fn a_slow_line_is_worth_hard_work() {
        assert_eq!(chosen(MB, 2), Some(15));
    }

    #[test]
    fn a_fast_line_is_not_held_up() {
        assert_eq!(chosen(10_000 * MB, 2), None);
        assert_eq!(level(Some(Level::new(9)), &TEXT), None, "a line that takes whatever comes");
    }

    #[test]
    fn a_line_in_between_is_matched() {
        assert_eq!(chosen(125 * MB, 2), Some(3));
        assert_eq!(chosen(300 * MB, 2), Some(1));
    }

    #[test]
    fn a_little_better_is_not_worth_a_change() {
        let even = Measured { line: Some(100 * MB), worth: 100, ..TEXT };
        assert_eq!(level(None, &even), None);
        assert_eq!(level(Some(Level::QUICK), &even), Some(Level::QUICK));
    }

    #[test]
    fn what_was_measured_at_one_level_tells_about_the_others() {
        let hard = Measured { line: Some(MB), at: Level::new(15), squeeze: 9 * MB, left: 277, ..TEXT };
        assert_eq!(level(None, &hard), Some(Level::new(15)));
        assert_eq!(level(Some(Level::new(15)), &Measured { line: Some(125 * MB), ..hard }), Some(Level::new(3)));
    }

    #[test]
    fn what_cannot_be_squeezed_changes_nothing() {
        let noise = Measured { line: Some(MB), worth: 0, ..TEXT };
        assert_eq!((level(None, &noise), level(Some(Level::QUICK), &noise)), (None, Some(Level::QUICK)));
    }

    #[test]
    fn a_faster_line_never_means_a_higher_level() {
        for threads in [1, 2, 8, 64] {
            let levels: Vec<_> = (0..40).map(|power| chosen(1 << power, threads)).collect();
            assert!(levels.is_sorted_by(|slow, fast| slow >= fast), "{threads} threads: {levels:?}");
        }
    }

    #[test]
    fn no_speeds_are_too_strange() {
        for number in [0, 1, u64::MAX] {
            for line in [None, Some(number)] {
                let (squeeze, left, worth, seal, threads) = (number, number, number, number, number);
                let _ = level(None, &Measured { line, at: Level::QUICK, squeeze, left, worth, seal, threads });
            }
        }
    }
}
