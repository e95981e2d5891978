//! The price index: for each class of devices a price that rises while they are short and falls while they are idle.
//!
//! It is reckoned once for each minute of the events' own time, from the state before the first event after that minute:
//! between events nothing changes, so nothing is missed, and replay gives the same prices. It suggests and decides
//! nothing: what is paid is what the worker asks.
use alloc::collections::{BTreeMap, VecDeque};
use gleaner_wire::prices::{PriceHistory, PricePoint, PriceView};
use gleaner_wire::{Amount, DeviceClass, Millis};
use serde::{Deserialize, Serialize};

use super::Sample;

/// One step of the index.
const MINUTE_MS: u64 = 60_000;
const MINUTES_PER_HOUR: u64 = 60;
/// Minutes that are kept: a day.
const MINUTES_KEPT: usize = 24 * 60;
/// Hours that are kept: thirty days.
const HOURS_KEPT: usize = 30 * 24;
/// The pressure, in thousandths of the slots, at which a price stays: most devices work, and some are free for what comes.
const PRESSURE_TARGET: i64 = 700;
/// The most that waiting tasks add to the pressure.
const QUEUE_MAX: u64 = 3000;
/// Each minute, the smoothed pressure moves by this part of what it is away from the pressure of now.
const SMOOTHING: i64 = 5;
/// Pressure is kept in this many parts of a thousandth, so that small differences are not rounded away.
const PRESSURE_PARTS: i64 = 256;
/// Millionths that a price moves in a minute for each thousandth of pressure away from the target.
const GAIN: i64 = 20;
/// The most that a price moves in a minute: two parts of a hundred.
const STEP_MAX: i64 = 20_000;
const MILLION: i64 = 1_000_000;
/// Prices are kept in this many parts of a unit, so that small ones can move.
const PRICE_PARTS: u64 = 1 << 16;
/// No offer may ask for more a second.
const PRICE_MAX: u64 = 1000 * Amount::UNITS_PER_GLN;
/// Who joins with a price that was suggested within so many minutes follows the index.
const FOLLOWED_MINUTES: usize = 60;

/// The index of all classes that were ever here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PriceIndex {
    /// The last minute that was reckoned, since 1970.
    minute: Option<u64>,
    tracks: BTreeMap<DeviceClass, Track>,
}

/// The price of a class, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Track {
    /// In parts of a unit.
    price: u64,
    /// In parts of a thousandth.
    pressure: i64,
    minutes: VecDeque<Point>,
    hours: VecDeque<Point>,
    hour: HourSum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Point {
    /// The minute at whose end it was.
    minute: u64,
    price: Amount,
    utilisation: u16,
    queue: u16,
}

/// What of an hour has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct HourSum {
    count: u64,
    price: u128,
    utilisation: u64,
    queue: u64,
}

impl PriceIndex {
    /// Whether a minute has passed since the last look.
    pub fn is_due(&self, now: Millis) -> bool {
        self.minute.is_none_or(|minute| now.0 / MINUTE_MS > minute)
    }

    /// Goes on to the present without reckoning: while the hub was down nobody knows what would have been.
    pub fn skip_to(&mut self, now: Millis) {
        self.minute = self.minute.max(Some(now.0 / MINUTE_MS));
    }

    /// Reckons the minutes that have passed, in all of which the classes stood as the samples say.
    pub fn advance(&mut self, now: Millis, samples: &BTreeMap<DeviceClass, Sample>) {
        let last = now.0 / MINUTE_MS;
        // Of a long silence the end is enough: by then prices stand still.
        let next = self.minute.map_or(last, |minute| minute + 1);
        let first = next.max(last.saturating_sub(MINUTES_KEPT as u64));
        for (class, sample) in samples.iter().filter(|(_, sample)| sample.slots > 0) {
            let track = self.tracks.entry(*class).or_insert_with(|| Track::at(sample.median));
            (first..=last).for_each(|minute| track.step(minute, sample));
        }
        self.minute = Some(last);
    }

    /// Whether a price is what the index has lately suggested for a class.
    pub fn suggested(&self, class: DeviceClass, price: Amount) -> bool {
        let minutes = self.tracks.get(&class).map(|track| track.minutes.iter().rev().take(FOLLOWED_MINUTES));
        minutes.is_some_and(|mut minutes| minutes.any(|point| point.price == price))
    }

    /// What each class is worth: those that are here now, and those that were.
    pub fn views(&self, samples: &BTreeMap<DeviceClass, Sample>) -> alloc::vec::Vec<PriceView> {
        let new = samples.iter().filter(|(class, _)| !self.tracks.contains_key(class));
        let new = new.filter(|(_, sample)| sample.slots > 0);
        let new = new.map(|(class, sample)| view(*class, &Track::at(sample.median), sample));
        let known = self.tracks.iter().map(|(class, track)| {
            let sample = samples.get(class).copied().unwrap_or_default();
            view(*class, track, &sample)
        });
        let mut views: alloc::vec::Vec<_> = known.chain(new).collect();
        views.sort_by_key(|view| view.class);
        views
    }

    /// One class and its past.
    pub fn history(&self, class: DeviceClass, samples: &BTreeMap<DeviceClass, Sample>) -> Option<PriceHistory> {
        let now = self.views(samples).into_iter().find(|view| view.class == class)?;
        let points = |points: &VecDeque<Point>| points.iter().map(Point::view).collect();
        let track = self.tracks.get(&class);
        Some(PriceHistory {
            now,
            minutes: track.map(|track| points(&track.minutes)).unwrap_or_default(),
            hours: track.map(|track| points(&track.hours)).unwrap_or_default(),
        })
    }
}

impl Track {
    /// A class that is new is worth what is asked.
    fn at(price: Amount) -> Self {
        Self {
            price: price.0.clamp(1, PRICE_MAX) * PRICE_PARTS,
            pressure: PRESSURE_TARGET * PRESSURE_PARTS,
            minutes: VecDeque::new(),
            hours: VecDeque::new(),
            hour: HourSum::default(),
        }
    }

    fn suggestion(&self) -> Amount {
        Amount((self.price / PRICE_PARTS).max(1))
    }

    fn step(&mut self, minute: u64, sample: &Sample) {
        let (utilisation, queue) = (sample.utilisation(), sample.queue().min(QUEUE_MAX));
        let pressure = (utilisation + queue) as i64 * PRESSURE_PARTS;
        self.pressure += (pressure - self.pressure) / SMOOTHING;
        let away = self.pressure / PRESSURE_PARTS - PRESSURE_TARGET;
        let step = (away * GAIN).clamp(-STEP_MAX, STEP_MAX);
        let moved = u128::from(self.price) * (MILLION + step) as u128 / MILLION as u128;
        // Nobody sells below the lowest price that somebody asks of his own accord.
        let floor = sample.floor.map_or(1, |floor| floor.0.clamp(1, PRICE_MAX));
        self.price = (moved as u64).clamp(floor * PRICE_PARTS, PRICE_MAX * PRICE_PARTS);
        self.note(Point { minute, price: self.suggestion(), utilisation: utilisation as u16, queue: queue as u16 });
    }

    fn note(&mut self, point: Point) {
        push_bounded(&mut self.minutes, point, MINUTES_KEPT);
        self.hour.count += 1;
        self.hour.price += u128::from(point.price.0);
        self.hour.utilisation += u64::from(point.utilisation);
        self.hour.queue += u64::from(point.queue);
        if (point.minute + 1).is_multiple_of(MINUTES_PER_HOUR) {
            let HourSum { count, price, utilisation, queue } = core::mem::take(&mut self.hour);
            let price = Amount((price / u128::from(count)) as u64);
            let (utilisation, queue) = ((utilisation / count) as u16, (queue / count) as u16);
            push_bounded(&mut self.hours, Point { minute: point.minute, price, utilisation, queue }, HOURS_KEPT);
        }
    }
}

impl Point {
    fn view(&self) -> PricePoint {
        let Self { minute, price, utilisation, queue } = *self;
        PricePoint { at: Millis((minute + 1) * MINUTE_MS), per_second: price, utilisation, queue }
    }
}

fn push_bounded(points: &mut VecDeque<Point>, point: Point, kept: usize) {
    if points.len() >= kept {
        points.pop_front();
    }
    points.push_back(point);
}

fn view(class: DeviceClass, track: &Track, sample: &Sample) -> PriceView {
    let per_second = track.suggestion();
    PriceView {
        class,
        kind: class.kind,
        runtime: class.runtime,
        memory_min: class.band.least(),
        per_second,
        per_hour: Amount(per_second.0.saturating_mul(3600)),
        lowest: (sample.slots > 0).then_some(sample.lowest),
        median: (sample.slots > 0).then_some(sample.median),
        slots: sample.slots,
        busy: sample.busy,
        waiting: sample.waiting,
        pressure: (track.pressure / PRESSURE_PARTS) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::{Band, DeviceKind, Runtime};
    use proptest::prelude::*;

    const CLASS: DeviceClass = DeviceClass { kind: DeviceKind::Nvidia, runtime: Runtime::Wgsl, band: Band::From20 };

    fn sample(busy: u64, waiting: u64) -> Sample {
        let (lowest, median) = (Amount(80_000), Amount(100_000));
        Sample { slots: 100, busy, waiting, lowest, median, floor: Some(lowest) }
    }

    fn after(index: &mut PriceIndex, minutes: u64, sample: Sample) -> u64 {
        let now = Millis((index.minute.unwrap_or(0) + minutes) * MINUTE_MS);
        index.advance(now, &[(CLASS, sample)].into());
        index.views(&[(CLASS, sample)].into())[0].per_second.0
    }

    fn started() -> PriceIndex {
        PriceIndex { minute: Some(60 * 1000), ..PriceIndex::default() }
    }

    #[test]
    fn a_price_stays_at_the_target_rises_under_load_and_falls_when_idle() {
        let mut index = started();
        assert_eq!(after(&mut index, 60, sample(70, 0)), 100_000);
        let high = after(&mut index, 30, sample(100, 50));
        assert!(high > 130_000, "{high}");
        let low = after(&mut index, 120, sample(10, 0));
        assert_eq!(low, 80_000, "down to the lowest that is asked");
    }

    #[test]
    fn those_who_only_follow_are_no_floor() {
        let mut index = started();
        let low = after(&mut index, 120, Sample { floor: None, ..sample(0, 0) });
        assert!(low < 25_000, "{low}");
    }

    #[test]
    fn many_minutes_at_once_are_the_same_as_one_by_one() {
        let (mut at_once, mut one_by_one) = (started(), started());
        after(&mut at_once, 90, sample(95, 3));
        (0..90).for_each(|_| _ = after(&mut one_by_one, 1, sample(95, 3)));
        assert_eq!(at_once, one_by_one);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut index = started();
        after(&mut index, 3 * MINUTES_KEPT as u64, sample(90, 0));
        for _ in 0..40 {
            after(&mut index, MINUTES_KEPT as u64, sample(90, 0));
        }
        let history = index.history(CLASS, &BTreeMap::new()).expect("it was here");
        assert_eq!((history.minutes.len(), history.hours.len()), (MINUTES_KEPT, HOURS_KEPT));
        assert!(history.minutes.is_sorted_by_key(|point| point.at) && history.hours.is_sorted_by_key(|point| point.at));
    }

    #[test]
    fn a_price_that_was_suggested_is_known_again() {
        let mut index = started();
        let price = after(&mut index, 10, sample(100, 100));
        after(&mut index, 10, sample(100, 100));
        assert!(index.suggested(CLASS, Amount(price)));
        assert!(!index.suggested(CLASS, Amount(price + 1)));
    }

    proptest! {
        #[test]
        fn a_price_moves_at_most_two_percent_a_minute_and_never_below_the_floor(
            steps in proptest::collection::vec((0_u64..=100, 0_u64..100_000), 1..200), floor in 1_u64..200_000,
        ) {
            let mut index = started();
            let mut last = None;
            for (busy, waiting) in steps {
                let sample = Sample { floor: Some(Amount(floor)), ..sample(busy, waiting) };
                let price = after(&mut index, 1, sample);
                prop_assert!(price >= floor);
                if let Some(last) = last {
                    prop_assert!(price * 100 <= last * 102 + 100 && price * 100 + 100 >= last * 98);
                }
                last = Some(price);
            }
        }
    }
}
