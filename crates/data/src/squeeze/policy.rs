//! How hard to squeeze: as hard as the processor can while the link is the slower of the two.
//!
//! Pure: speeds are measured elsewhere and come in as numbers.

/// A level of zstd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(i32);

impl Level {
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
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speeds {
    /// Bytes a second that go through the link.
    pub link: u64,
    /// Bytes a second that one core squeezes at level 1.
    pub squeeze: u64,
    /// Bytes a second that one core cuts, hashes and seals.
    pub seal: u64,
    /// How many cores work on it.
    pub cores: u64,
}

/// The level that brings the most bytes a second to the other side; of equal ones the hardest, which spares the link.
/// None if squeezing would only hold up a fast link.
pub fn level(speeds: Speeds) -> Option<Level> {
    let unsqueezed = speeds.link.min(speeds.seal.saturating_mul(speeds.cores));
    let mut best = (unsqueezed, None);
    for (level, cost, left) in Level::CHOICES {
        let delivered = delivered(speeds, cost, left);
        if delivered >= best.0 {
            best = (delivered, Some(level));
        }
    }
    best.1
}

/// Bytes a second before squeezing, with processor and link working side by side.
fn delivered(speeds: Speeds, cost: u64, left: u64) -> u64 {
    let squeeze = (u128::from(speeds.squeeze) * u128::from(cost) / 1000).max(1);
    let seal = u128::from(speeds.seal.max(1));
    let processor = squeeze * seal / (squeeze + seal) * u128::from(speeds.cores);
    let link = u128::from(speeds.link) * 1000 / u128::from(left);
    u64::try_from(processor.min(link)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    fn chosen(link: u64, cores: u64) -> Option<i32> {
        level(Speeds { link, squeeze: 400 * MB, seal: 1500 * MB, cores }).map(Level::number)
    }

    #[test]
    fn a_slow_link_is_worth_hard_work() {
        assert_eq!(chosen(MB, 2), Some(15));
    }

    #[test]
    fn a_fast_link_is_not_held_up() {
        assert_eq!(chosen(10_000 * MB, 2), None);
    }

    #[test]
    fn a_faster_link_never_means_a_higher_level() {
        for cores in [1, 2, 8, 64] {
            let levels: Vec<_> = (0..40).map(|power| chosen(1 << power, cores)).collect();
            assert!(levels.is_sorted_by(|slow, fast| slow >= fast), "{cores} cores: {levels:?}");
        }
    }

    #[test]
    fn more_cores_never_mean_a_lower_level() {
        let levels: Vec<_> = [1, 2, 4, 8, 16, 64].map(|cores| chosen(125 * MB, cores)).into();
        assert!(levels.is_sorted(), "{levels:?}");
    }

    #[test]
    fn no_speeds_are_too_strange() {
        for number in [0, 1, u64::MAX] {
            let _ = level(Speeds { link: number, squeeze: number, seal: number, cores: number });
        }
    }
}
