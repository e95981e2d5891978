//! A query made ready: which cells it rules out, between which prices it looks, and what it asks of each seat.
use alloc::collections::btree_set::Range;
use alloc::vec::Vec;
use core::ops::Bound;
use gleaner_wire::query::{Operator, Query, Term, Value};
use gleaner_wire::{Address, Amount, ByteSize};

use super::Cursor;
use super::cells::{Cell, Key, bit};
use crate::place::{Classes, Seat, SeatId, memory_step, octave};
use crate::pool::Worker;

const SECONDS_PER_HOUR: u64 = 3600;

/// The query.
pub struct Criteria<'a> {
    terms: &'a [Term],
    /// The number of each region that is named, in the order of the terms.
    regions: Vec<u32>,
    lowest: Amount,
    highest: Amount,
}

impl<'a> Criteria<'a> {
    pub fn new(query: &'a Query, classes: &Classes) -> Self {
        let (mut lowest, mut highest) = (0, u64::MAX);
        let mut regions = Vec::new();
        for term in &query.terms {
            match &term.value {
                Value::Region(name) => regions.push(classes.region_number(name)),
                // Prices are kept by the second: these bounds take in everything that may match by the hour.
                Value::Price(hourly) => {
                    let (down, up) = (hourly.0 / SECONDS_PER_HOUR, hourly.0.div_ceil(SECONDS_PER_HOUR));
                    match term.operator {
                        Operator::Is => (lowest, highest) = (lowest.max(down), highest.min(up)),
                        Operator::IsNot => {}
                        Operator::Below | Operator::AtMost => highest = highest.min(up),
                        Operator::Above | Operator::AtLeast => lowest = lowest.max(down),
                    }
                }
                Value::Memory(_)
                | Value::Device(_)
                | Value::Score(_)
                | Value::Runtime(_)
                | Value::State(_)
                | Value::Name(_)
                | Value::Owner(_)
                | Value::Managed(_)
                | Value::Slots(_) => {}
            }
        }
        Self { terms: &query.terms, regions, lowest: Amount(lowest), highest: Amount(highest) }
    }

    /// The name that is asked for, if one is.
    pub fn name(&self) -> Option<&'a str> {
        let same = self.terms.iter().filter(|term| term.operator == Operator::Is);
        same.filter_map(|term| if let Value::Name(name) = &term.value { Some(name.as_str()) } else { None }).next()
    }

    /// The owner who is asked for, if one is.
    pub fn owner(&self) -> Option<Address> {
        let same = self.terms.iter().filter(|term| term.operator == Operator::Is);
        same.filter_map(|term| if let Value::Owner(owner) = term.value { Some(owner) } else { None }).next()
    }

    /// The seats of a cell between the prices, from a place on.
    pub fn walk<'c>(&self, cell: &'c Cell, after: Option<Cursor>) -> Range<'c, (Amount, SeatId)> {
        let first = Bound::Included((self.lowest, SeatId(0)));
        let first = after
            .filter(|cursor| cursor.0 >= self.lowest)
            .map_or(first, |Cursor(price, seat)| Bound::Excluded((price, seat)));
        let nothing_left = after.is_some_and(|cursor| cursor.0 > self.highest) || self.lowest > self.highest;
        if nothing_left {
            return cell.range((Bound::Included((Amount(u64::MAX), SeatId(u32::MAX))), Bound::Unbounded));
        }
        // A range may not be empty from both sides at once.
        let last = (self.highest, SeatId(u32::MAX));
        match first {
            Bound::Excluded(place) if place == last => cell.range((Bound::Included(last), Bound::Included(last))),
            Bound::Excluded(_) | Bound::Included(_) | Bound::Unbounded => cell.range((first, Bound::Included(last))),
        }
    }

    /// Whether a cell may hold what matches.
    pub fn may_match(&self, key: &Key) -> bool {
        let mut regions = self.regions.iter();
        self.terms.iter().all(|Term { operator, value }| match value {
            Value::Memory(asked) => may_compare(*operator, key.memory, memory_step(asked.0)),
            Value::Device(kinds) => (*operator == Operator::Is) == kinds.has(key.kind),
            Value::Region(_) => {
                let number = *regions.next().expect("each has its number");
                *operator != Operator::Is || key.region == number
            }
            Value::Score(asked) => match operator {
                // The key has the best of several: one of them may be as low as one likes.
                Operator::Is | Operator::Above | Operator::AtLeast => key.score >= octave(u64::from(*asked)),
                Operator::IsNot | Operator::Below | Operator::AtMost => key.runtimes != 0,
            },
            Value::Runtime(runtime) => (*operator == Operator::Is) == (key.runtimes & bit(*runtime) != 0),
            Value::Managed(managed) => (*operator == Operator::Is) == (key.managed == *managed),
            Value::Slots(asked) => may_compare(*operator, key.slots, octave(u64::from(*asked))),
            Value::Price(_) | Value::State(_) | Value::Name(_) | Value::Owner(_) => true,
        })
    }

    /// Whether a seat has what is asked of devices.
    pub fn match_seat(&self, seat: &Seat) -> bool {
        let fits = self.terms.iter().all(|Term { operator, value }| match value {
            Value::Memory(asked) => operator.holds(&ByteSize(seat.memory), asked),
            Value::Device(kinds) => (*operator == Operator::Is) == kinds.has(seat.kind),
            Value::Price(hourly) => operator.holds(&Amount(seat.price.0.saturating_mul(SECONDS_PER_HOUR)), hourly),
            Value::Slots(asked) => operator.holds(&seat.slots, asked),
            Value::Managed(managed) => operator.holds(&seat.managed, managed),
            Value::Runtime(runtime) => (*operator == Operator::Is) == seat.runtime(*runtime).is_some(),
            Value::Score(_) | Value::Region(_) | Value::State(_) | Value::Name(_) | Value::Owner(_) => true,
        });
        fits && self.match_score(seat)
    }

    /// Whether one runtime, of those that are named if any are, has the score.
    fn match_score(&self, seat: &Seat) -> bool {
        let is_asked = |value: &Value| matches!(value, Value::Score(_));
        if !self.terms.iter().any(|term| is_asked(&term.value)) {
            return true;
        }
        let named = self.terms.iter().filter(|term| term.operator == Operator::Is);
        let named: Vec<_> = named
            .filter_map(|term| if let Value::Runtime(runtime) = term.value { Some(runtime) } else { None })
            .collect();
        let mut offered = seat.runtimes.iter().flatten().filter(|of| named.is_empty() || named.contains(&of.runtime));
        offered.any(|of| {
            self.terms.iter().all(|Term { operator, value }| match value {
                Value::Score(asked) => operator.holds(&of.score, asked),
                Value::Memory(_)
                | Value::Device(_)
                | Value::Region(_)
                | Value::Price(_)
                | Value::Runtime(_)
                | Value::State(_)
                | Value::Name(_)
                | Value::Owner(_)
                | Value::Managed(_)
                | Value::Slots(_) => true,
            })
        })
    }

    /// Whether a worker is what is asked of workers.
    pub fn match_worker(&self, worker: &Worker) -> bool {
        self.terms.iter().all(|Term { operator, value }| match value {
            Value::Region(name) => operator.holds(&&worker.offer.region, &name),
            Value::State(state) => operator.holds(&worker.state, state),
            Value::Name(name) => operator.holds(&&worker.offer.name, &name),
            Value::Owner(owner) => operator.holds(&worker.offer.provider, &Some(*owner)),
            Value::Memory(_)
            | Value::Device(_)
            | Value::Price(_)
            | Value::Score(_)
            | Value::Runtime(_)
            | Value::Managed(_)
            | Value::Slots(_) => true,
        })
    }
}

/// Whether something in a step may compare so with something in another.
fn may_compare(operator: Operator, step: u32, asked: u32) -> bool {
    match operator {
        Operator::Is => step == asked,
        Operator::IsNot => true,
        Operator::Below | Operator::AtMost => step <= asked,
        Operator::Above | Operator::AtLeast => step >= asked,
    }
}
