//! How long the tasks of a program are, as a handful of points of their distribution: what quotes and races reckon with.
use gleaner_wire::Micros;

/// Points that stand for a distribution; each for as many tasks as any other.
pub(crate) const POINTS: usize = 16;
/// What a program of which little is known is taken to be like: as many tasks as this, spread by half their length.
const IMAGINED: u64 = 4;
/// No estimate is better than this, in millionths: which seat gets which task is not known beforehand, and what is learned
/// of their speeds is never quite right.
const BLUR: u64 = 100_000;
const MILLION: u64 = 1_000_000;

/// The lengths of a program's tasks on the reference machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    /// How many runs they come from.
    pub runs: u32,
    pub mean: Micros,
    /// In ascending order; the first stands for the shortest sixteenth.
    pub points: [u64; POINTS],
}

/// What one in ten is below, what is expected, and what one in ten is above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    pub low: u64,
    pub expected: u64,
    pub high: u64,
}

impl Range {
    /// One after the other; that all are low or high at once is less likely than each, so this is no narrower than it is.
    pub fn and(self, other: Self) -> Self {
        Self {
            low: self.low.saturating_add(other.low),
            expected: self.expected.saturating_add(other.expected),
            high: self.high.saturating_add(other.high),
        }
    }
}

impl Lengths {
    /// The length that this many of a million tasks do not exceed; a straight line between the points.
    pub fn quantile(&self, millionths: u64) -> u64 {
        let step = MILLION / POINTS as u64;
        let place = millionths.saturating_sub(step / 2);
        let (at, rest) = ((place / step) as usize, place % step);
        let (Some(from), Some(to)) = (self.points.get(at), self.points.get(at + 1)) else {
            return self.points[POINTS - 1];
        };
        from + (to - from) * rest / step
    }

    /// How far below and above the mean one in ten tasks is, in millionths of the mean.
    fn reach(&self) -> (u64, u64) {
        let mean = self.mean.0.max(1);
        let share = |distance: u64| (u128::from(distance) * u128::from(MILLION) / u128::from(mean)) as u64;
        let (runs, imagined) = (u64::from(self.runs), MILLION / 2 * IMAGINED);
        let known = |distance: u64| (share(distance).saturating_mul(runs) + imagined) / (runs + IMAGINED);
        let low = known(mean.saturating_sub(self.quantile(MILLION / 10)));
        (low.min(MILLION), known(self.quantile(MILLION * 9 / 10).saturating_sub(mean)))
    }

    /// The range of a sum over so many tasks: what they differ by evens out, what is not known of their mean does not.
    pub fn sum(&self, tasks: u64, expected: u64) -> Range {
        self.spread(expected, root_of_parts(tasks) + root_of_parts(u64::from(self.runs)))
    }

    /// The range of a time in which so many run side by side until the last is done: everything before the last round, and
    /// then the longest of a round. `body` and `each` are reckoned with the mean.
    pub fn side_by_side(&self, body: Micros, each: Micros, width: u64) -> Range {
        let longest = |of_million: u64| {
            let length = u128::from(each.0) * u128::from(self.quantile(of_million)) / u128::from(self.mean.0.max(1));
            body.0.saturating_add(u64::try_from(length).unwrap_or(u64::MAX))
        };
        let [low, middle, high] = longest_of(width).map(longest);
        let unsure = root_of_parts(u64::from(self.runs));
        Range { low: self.spread(low, unsure).low, expected: middle, high: self.spread(high, unsure).high }
    }

    /// `squares` is the sum of the parts' variances, as a millionth of that of one task.
    fn spread(&self, expected: u64, squares: u64) -> Range {
        let factor = squares.saturating_mul(MILLION).isqrt();
        let (low, high) = self.reach();
        let part = |reach: u64| (reach.saturating_mul(factor) / MILLION).max(BLUR);
        let times =
            |share: u64| u64::try_from(u128::from(expected) * u128::from(share) / 1_000_000).unwrap_or(u64::MAX);
        Range {
            low: expected.saturating_sub(times(part(low).min(MILLION))),
            expected,
            high: expected.saturating_add(times(part(high))),
        }
    }
}

/// One part of so many, in millionths.
fn root_of_parts(parts: u64) -> u64 {
    MILLION / parts.max(1)
}

/// Which of a million tasks is as long as the longest of `width`, with one in ten, one in two and nine in ten chances that
/// none is longer: p^(1/width), by fractions that are right for one and for many.
fn longest_of(width: u64) -> [u64; 3] {
    let width = width.clamp(1, MILLION);
    let (narrow, squared) = (MILLION / width, MILLION / width.saturating_mul(width).min(MILLION));
    let rest = [2_300_000 + 67 * squared / 10, 700_000 + 3 * narrow / 10, 106_000 + narrow / 200];
    rest.map(|rest| {
        u64::try_from(u128::from(width) * 1_000_000_000_000 / u128::from(width * MILLION + rest)).unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(runs: u32) -> Lengths {
        // Lengths from 0 to 2000, all equally likely.
        Lengths { runs, mean: Micros(1000), points: core::array::from_fn(|at| 62 + 125 * at as u64) }
    }

    #[test]
    fn quantiles_lie_between_the_points() {
        let lengths = even(1000);
        assert_eq!(lengths.quantile(500_000), 999);
        assert!((195..=205).contains(&lengths.quantile(100_000)), "{}", lengths.quantile(100_000));
        assert_eq!((lengths.quantile(0), lengths.quantile(1_000_000)), (62, 1937));
    }

    #[test]
    fn a_sum_over_many_is_surer_than_one_and_one_rests_on_what_one_does() {
        let lengths = even(1_000_000);
        let one = lengths.sum(1, 1000);
        assert!((190..=210).contains(&one.low) && (1790..=1810).contains(&one.high), "{one:?}");
        let ten = lengths.sum(10, 100_000);
        assert!((74_000..=76_000).contains(&ten.low) && (124_000..=126_000).contains(&ten.high), "{ten:?}");
        let all = lengths.sum(1_000_000_000, 1_000_000);
        assert_eq!((all.low, all.high), (900_000, 1_100_000), "no estimate is better than the seats are known");
    }

    #[test]
    fn the_more_has_run_the_narrower_a_range_is() {
        let widths = [1, 4, 16, 64, 256].map(|runs| {
            let range = even(runs).sum(100, 100_000);
            range.high - range.low
        });
        assert!(widths.is_sorted_by(|more, less| more > less), "{widths:?}");
    }

    #[test]
    fn the_longest_of_many_is_among_the_longest() {
        assert_eq!(longest_of(1)[1], 500_000);
        let close = |found: [u64; 3], right: [u64; 3]| found.iter().zip(right).all(|(at, of)| at.abs_diff(of) < 25_000);
        assert!(close(longest_of(1), [100_000, 500_000, 900_000]), "{:?}", longest_of(1));
        assert!(close(longest_of(2), [316_000, 707_000, 949_000]), "{:?}", longest_of(2));
        assert!(close(longest_of(10), [794_000, 933_000, 989_500]), "{:?}", longest_of(10));
        assert!(close(longest_of(100), [977_000, 993_000, 999_000]), "{:?}", longest_of(100));
        let one = even(1_000_000).side_by_side(Micros(0), Micros(1000), 1);
        let ten = even(1_000_000).side_by_side(Micros(0), Micros(1000), 10);
        assert!(one.expected < ten.expected && ten.expected < ten.high && ten.high < 2200, "{one:?}, {ten:?}");
    }
}
