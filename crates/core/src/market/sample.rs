//! How supply and demand stand: one look over all seats and all that waits.
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use gleaner_wire::prices::{PriceHistory, PriceView};
use gleaner_wire::{Amount, Band, ByteSize, DeviceClass, DeviceKind, DeviceOffer, Millis, Runtime};

use crate::event::Event;
use crate::logarithm::{OCTAVE, log2};
use crate::place::{Seat, ShapeId};
use crate::state::Core;

/// Prices are counted in steps of a 256th of an octave, so that their middle is found without sorting a million of them.
const PRICE_STEPS: usize = 48 * OCTAVE as usize;

/// How a class of devices stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Slots of the community that are online.
    pub slots: u64,
    pub busy: u64,
    /// Tasks that wait for it. What fits several classes is shared among them by their slots.
    pub waiting: u64,
    /// The least that is asked.
    pub lowest: Amount,
    /// The middle of what is asked, slot by slot, to a quarter of a percent.
    pub median: Amount,
    /// The least that is asked by somebody who does not just follow the index.
    pub floor: Option<Amount>,
}

impl Sample {
    /// Busy slots, in thousandths.
    pub fn utilisation(&self) -> u64 {
        (self.busy * 1000).checked_div(self.slots).unwrap_or(0)
    }

    /// Waiting tasks for each thousand slots.
    pub fn queue(&self) -> u64 {
        self.waiting.saturating_mul(1000).checked_div(self.slots).unwrap_or(0)
    }
}

/// A class while its seats are counted.
struct Count {
    sample: Sample,
    /// Slots by step of price, and a price in that step.
    prices: Box<[(u64, Amount)]>,
}

impl Count {
    fn new() -> Self {
        let sample = Sample { lowest: Amount(u64::MAX), ..Sample::default() };
        Self { sample, prices: vec![(0, Amount::ZERO); PRICE_STEPS].into_boxed_slice() }
    }

    fn add(&mut self, seat: &Seat) {
        let slots = u64::from(seat.slots);
        let sample = &mut self.sample;
        sample.slots += slots;
        sample.busy += u64::from(seat.in_flight.min(seat.slots));
        sample.lowest = sample.lowest.min(seat.price);
        if !seat.follows {
            sample.floor = Some(sample.floor.map_or(seat.price, |floor| floor.min(seat.price)));
        }
        let (count, price) = &mut self.prices[(log2(seat.price.0) as usize).min(PRICE_STEPS - 1)];
        (*count, *price) = (*count + slots, (*price).max(seat.price));
    }

    fn done(mut self) -> Sample {
        let mut below = 0;
        let middle = self.prices.iter().find(|(slots, _)| {
            below += slots;
            below * 2 >= self.sample.slots && *slots > 0
        });
        self.sample.median = middle.map_or(self.sample.lowest, |(_, price)| *price);
        self.sample
    }
}

/// The place of a class in a table of all of them.
fn row(class: DeviceClass) -> usize {
    (class.kind as usize * Runtime::ALL.len() + class.runtime as usize) * Band::ALL.len() + class.band as usize
}

fn at_row(row: usize) -> DeviceClass {
    let (of, band) = (row / Band::ALL.len(), row % Band::ALL.len());
    let (kind, runtime) = (of / Runtime::ALL.len(), of % Runtime::ALL.len());
    DeviceClass { kind: DeviceKind::ALL[kind], runtime: Runtime::ALL[runtime], band: Band::ALL[band] }
}

impl Core {
    /// Brings the index up to a time at which something happens.
    pub(crate) fn look_at_market(&mut self, now: Millis, event: &Event) {
        if *event == Event::HubStarted {
            self.prices.skip_to(now);
        } else if self.prices.is_due(now) {
            let samples = self.samples();
            self.prices.advance(now, &samples);
        }
    }

    /// What each class of devices is worth at a time, if nothing happened since the last event.
    pub fn prices(&self, now: Millis) -> Vec<PriceView> {
        let samples = self.samples();
        self.prices_at(now, &samples).views(&samples)
    }

    /// What a class was worth over time.
    pub fn price_history(&self, class: DeviceClass, now: Millis) -> Option<PriceHistory> {
        let samples = self.samples();
        self.prices_at(now, &samples).history(class, &samples)
    }

    fn prices_at(&self, now: Millis, samples: &BTreeMap<DeviceClass, Sample>) -> super::PriceIndex {
        let mut prices = self.prices.clone();
        if prices.is_due(now) {
            prices.advance(now, samples);
        }
        prices
    }

    /// Whether a device is offered at a price that the index has suggested: then it says nothing of its own.
    pub(crate) fn follows_index(&self, device: &DeviceOffer) -> bool {
        let (kind, band, price) = (device.kind, Band::of(device.memory), device.price_per_second);
        let mut classes = device.runtimes.iter().map(|of| DeviceClass { kind, runtime: of.runtime, band });
        classes.any(|class| self.prices.suggested(class, price))
    }

    /// How each class of the community's devices stands.
    fn samples(&self) -> BTreeMap<DeviceClass, Sample> {
        let mut counts: Vec<Option<Count>> = Vec::new();
        counts.resize_with(DeviceClass::COUNT_MAX, || None);
        for seat in self.seats.iter().filter(|seat| seat.counted && !seat.managed) {
            for class in seat.device_classes() {
                counts[row(class)].get_or_insert_with(Count::new).add(seat);
            }
        }
        let counts = counts.into_iter().enumerate();
        let samples = counts.filter_map(|(row, count)| Some((at_row(row), count?.done())));
        let mut samples: BTreeMap<DeviceClass, Sample> = samples.collect();
        for shape in &self.shapes.active {
            self.share_out(*shape, &mut samples);
        }
        samples
    }

    /// Shares the waiting tasks of a shape among the classes that fit, by their slots.
    fn share_out(&self, shape: ShapeId, samples: &mut BTreeMap<DeviceClass, Sample>) {
        let mut slots: BTreeMap<DeviceClass, u64> = BTreeMap::new();
        for class in self.shapes[shape].classes.iter() {
            let (class, online) = self.classes.device_class(class);
            *slots.entry(class).or_default() += online;
        }
        let all: u64 = slots.values().sum();
        let waiting = self.waiting_of(shape);
        for (class, slots) in slots.into_iter().filter(|(_, slots)| *slots > 0) {
            if let Some(sample) = samples.get_mut(&class) {
                let share = u128::from(waiting) * u128::from(slots) / u128::from(all);
                sample.waiting = sample.waiting.saturating_add(share as u64);
            }
        }
    }

    /// Tasks of a shape that could be placed now.
    fn waiting_of(&self, shape: ShapeId) -> u64 {
        let groups = self.shapes[shape].queues.values().flatten();
        groups.map(|(job, at)| u64::from(self.jobs[job].groups[usize::from(*at)].ready())).sum()
    }
}

impl Seat {
    /// The classes of its runtimes.
    pub fn device_classes(&self) -> impl Iterator<Item = DeviceClass> + '_ {
        let band = Band::of(ByteSize(self.memory));
        self.runtimes.iter().flatten().map(move |of| DeviceClass { kind: self.kind, runtime: of.runtime, band })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_a_row_of_its_own() {
        for at in 0..DeviceClass::COUNT_MAX {
            assert_eq!(row(at_row(at)), at);
        }
    }
}
