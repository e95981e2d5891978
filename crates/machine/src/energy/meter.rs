//! What a device drew while it worked for us: for the floor of its price, and for what is left of its earnings.
use gleaner_wire::{Micros, Millis};

use super::{Millijoules, Milliwatts};

/// Readings further apart than this are not joined: nobody knows what was drawn between them.
const GAP_MAX: Millis = Millis(10_000);
/// How long a device has to be measured under load before the figure is believed.
const TRUSTED_AFTER: Millis = Millis(30_000);

/// Adds up readings of one device.
#[derive(Clone, Debug)]
pub struct Meter {
    /// What counts where the device does not tell its draw.
    fallback: Milliwatts,
    last: Option<Millis>,
    /// Thousandths of a millijoule, of which only whole ones are told.
    used_uj: u128,
    measured_uj: u128,
    measured_for: Millis,
}

impl Meter {
    /// Nothing was drawn yet. Where the device does not tell its draw, `fallback` counts.
    pub fn new(fallback: Milliwatts) -> Self {
        Self { fallback, last: None, used_uj: 0, measured_uj: 0, measured_for: Millis(0) }
    }

    /// Adds a reading. `works` says whether our work has been on the device since the last one, and the draw now counts for
    /// all of that time.
    pub fn add(&mut self, now: Millis, draw: Option<Milliwatts>, works: bool) {
        let span = self.last.map_or(Millis(0), |last| now.since(last));
        self.last = Some(self.last.map_or(now, |last| last.max(now)));
        if !works {
            return;
        }
        // Over a gap the fallback counts, so that time in which nobody looked is not free.
        let known = draw.filter(|_| span <= GAP_MAX);
        let energy = |power: Milliwatts| u128::from(power.0) * u128::from(span.0);
        self.used_uj = self.used_uj.saturating_add(energy(known.unwrap_or(self.fallback)));
        if let Some(power) = known {
            self.measured_uj = self.measured_uj.saturating_add(energy(power));
            self.measured_for = self.measured_for.after(span);
        }
    }

    /// What our work has used so far, rounded up.
    pub fn used(&self) -> Millijoules {
        Millijoules(u64::try_from(self.used_uj.div_ceil(1000)).unwrap_or(u64::MAX))
    }

    /// What our work used since an earlier figure of [`Self::used`].
    pub fn used_since(&self, earlier: Millijoules) -> Millijoules {
        Millijoules(self.used().0.saturating_sub(earlier.0))
    }

    /// The mean draw under our work, rounded up; `None` until it has been measured for long enough.
    pub fn under_load(&self) -> Option<Milliwatts> {
        if self.measured_for < TRUSTED_AFTER {
            return None;
        }
        let mean = self.measured_uj.div_ceil(u128::from(self.measured_for.0));
        Some(Milliwatts(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// What a time of work uses by what is known now, rounded up.
    pub fn estimate(&self, time: Micros) -> Millijoules {
        self.under_load().unwrap_or(self.fallback).over(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watts(watts: u64) -> Option<Milliwatts> {
        Some(Milliwatts(watts * 1000))
    }

    #[test]
    fn only_the_time_of_our_work_counts() {
        let mut meter = Meter::new(Milliwatts(300_000));
        for (second, works) in [(0, false), (1, false), (2, true), (3, true), (4, false)] {
            meter.add(Millis(second * 1000), watts(200), works);
        }
        assert_eq!(meter.used(), Millijoules(400_000));
    }

    #[test]
    fn a_device_that_tells_nothing_counts_with_its_fallback() {
        let mut meter = Meter::new(Milliwatts(300_000));
        (0..=60).for_each(|second| meter.add(Millis(second * 1000), None, true));
        assert_eq!(meter.used(), Millijoules(60 * 300_000));
        assert_eq!(meter.under_load(), None);
        assert_eq!(meter.estimate(Micros(1_000_000)), Millijoules(300_000));
    }

    #[test]
    fn the_mean_draw_is_believed_after_a_while_and_rounded_up() {
        let mut meter = Meter::new(Milliwatts(300_000));
        (0..30).for_each(|second| meter.add(Millis(second * 1000), watts(200), true));
        assert_eq!(meter.under_load(), None);
        meter.add(Millis(30_000), Some(Milliwatts(200_001)), true);
        assert_eq!(meter.under_load(), Some(Milliwatts(200_001)));
        assert_eq!(meter.estimate(Micros(500_000)), Millijoules(100_001));
    }

    #[test]
    fn a_gap_in_the_readings_is_not_measured_and_not_free() {
        let mut meter = Meter::new(Milliwatts(300_000));
        meter.add(Millis(0), watts(10), true);
        meter.add(Millis(60_000), watts(10), true);
        assert_eq!(meter.used(), Millijoules(60 * 300_000));
        assert_eq!(meter.under_load(), None);
    }

    #[test]
    fn a_clock_that_goes_back_adds_nothing_twice() {
        let mut meter = Meter::new(Milliwatts(300_000));
        for second in [0, 5, 2, 5] {
            meter.add(Millis(second * 1000), watts(100), true);
        }
        assert_eq!(meter.used(), Millijoules(500_000));
    }
}
