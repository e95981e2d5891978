//! What tasks of a known length would cost on the seats that would be chosen for them.
use alloc::vec::Vec;
use gleaner_wire::api::AskedView;
use gleaner_wire::{Amount, Micros, Needs};

use crate::learn::SPEED_REFERENCE;
use crate::place::{CELLS, PREFERS, Seat};

/// A seat that fits, as far as its price and time are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chair {
    /// Its place in the order of each preference.
    pub ranks: [u8; PREFERS.len()],
    pub speed: u32,
    pub price: Amount,
    /// Slots that take tasks, and when: those that are free, or else all of them once what they hold is done.
    pub slots: u64,
    pub wait: Micros,
}

impl Chair {
    pub fn of(seat: &Seat, needs: &Needs, price: Amount) -> Option<Self> {
        let offered = seat.runtime(needs.runtime)?;
        let free = seat.slots.saturating_sub(seat.in_flight);
        let (slots, wait) = match free {
            0 => (seat.slots, Micros(seat.backlog / u64::from(seat.slots.max(1)))),
            _ => (free, Micros(0)),
        };
        let ranks = PREFERS.map(|prefer| offered.cell.rank(prefer) as u8);
        Some(Self { ranks, speed: offered.speed, price, slots: u64::from(slots), wait })
    }

    /// How long a task takes here that takes so long on the reference machine.
    fn each(&self, mean: Micros) -> Micros {
        let time = u128::from(mean.0) * u128::from(SPEED_REFERENCE) / u128::from(self.speed.max(1));
        Micros(u64::try_from(time).unwrap_or(u64::MAX).max(1))
    }
}

/// What tasks of known length would cost on some seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reckoning {
    pub price: Amount,
    pub time: Micros,
    /// How long one takes, on the average.
    pub each: Micros,
}

/// What they ask for a second: the least, and the middle slot by slot.
pub(super) fn asked(chairs: &[Chair]) -> Option<AskedView> {
    let mut prices: Vec<(Amount, u64)> = chairs.iter().map(|chair| (chair.price, chair.slots)).collect();
    prices.sort_unstable();
    let slots: u64 = prices.iter().map(|(_, slots)| slots).sum();
    let mut below = 0;
    let (median, _) = prices.iter().find(|(_, asking)| {
        below += asking;
        below * 2 >= slots
    })?;
    Some(AskedView { lowest: prices.first()?.0, median: *median })
}

/// The first seats in the order of a preference that have a slot for every task; all of them if there are not so many. Only
/// those are sorted: most jobs need few of many.
pub(super) fn chosen(tasks: u64, chairs: &[Chair], row: usize) -> Vec<Chair> {
    let mut slots = [0_u64; CELLS];
    chairs.iter().for_each(|chair| slots[usize::from(chair.ranks[row])] += chair.slots);
    let mut before = 0;
    let last = slots.iter().position(|at_rank| {
        before += at_rank;
        before >= tasks
    });
    let last = last.unwrap_or(CELLS - 1);
    let mut first: Vec<Chair> = chairs.iter().filter(|chair| usize::from(chair.ranks[row]) <= last).copied().collect();
    first.sort_by_key(|chair| chair.ranks[row]);
    let mut taken = 0;
    let wanted = first.iter().take_while(|chair| {
        let wanted = taken < tasks;
        taken += chair.slots;
        wanted
    });
    first.truncate(wanted.count());
    first
}

/// Equal tasks on seats that were chosen: all are busy until all is done.
pub(super) fn reckon(tasks: u64, chosen: &[Chair], mean: Micros) -> Option<Reckoning> {
    let chosen: Vec<(Chair, Micros)> = chosen.iter().map(|chair| (*chair, chair.each(mean))).collect();
    let time = time_for(tasks, &chosen)?;
    let (mut left, mut price, mut ran) = (tasks, 0_u64, 0_u64);
    for (chair, each) in &chosen {
        let done = done_by(time, chair, *each).min(left);
        left -= done;
        price = price.saturating_add(chair.price.per_second_over(*each).0.saturating_mul(done));
        ran = ran.saturating_add(each.0.saturating_mul(done));
    }
    assert_eq!(left, 0, "that was the time in which all are done");
    Some(Reckoning { price: Amount(price), time, each: Micros(ran / tasks.max(1)) })
}

/// The least time in which the seats are done with all tasks.
fn time_for(tasks: u64, chairs: &[(Chair, Micros)]) -> Option<Micros> {
    let enough = |time: u64| {
        let done = chairs.iter().map(|(chair, each)| done_by(Micros(time), chair, *each));
        done.fold(0, u64::saturating_add) >= tasks
    };
    let (mut short, mut long) = (0, u64::MAX);
    if !enough(long) {
        return None;
    }
    while short < long {
        let middle = short + (long - short) / 2;
        if enough(middle) {
            long = middle;
        } else {
            short = middle + 1;
        }
    }
    Some(Micros(long))
}

fn done_by(time: Micros, chair: &Chair, each: Micros) -> u64 {
    (time.0.saturating_sub(chair.wait.0) / each.0.max(1)).saturating_mul(chair.slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::api::AskedView;

    fn chair(rank: u8, price: u64, slots: u64, wait: u64) -> Chair {
        Chair { ranks: [rank; 3], speed: SPEED_REFERENCE, price: Amount(price), slots, wait: Micros(wait) }
    }

    /// Tasks of a second each on the reference machine.
    fn reckoned(tasks: u64, chairs: &[Chair]) -> (u64, u64, u64) {
        let reckoning = reckon(tasks, &chosen(tasks, chairs, 0), Micros(SECOND)).expect("somebody is there");
        (reckoning.price.0, reckoning.time.0, reckoning.each.0)
    }

    const SECOND: u64 = 1_000_000;

    #[test]
    fn few_tasks_cost_what_the_first_seats_ask() {
        let chairs = [chair(1, 1000, 8, 0), chair(0, 10, 2, 0)];
        assert_eq!(reckoned(2, &chairs), (20, SECOND, SECOND));
        assert_eq!(reckoned(3, &chairs), (1020, SECOND, SECOND));
    }

    #[test]
    fn many_tasks_are_shared_out_by_speed() {
        // In eight seconds the fast one does eight and the slow one two.
        let slow = Chair { speed: 250, ..chair(1, 10, 1, 0) };
        let chairs = [chair(0, 30, 1, 0), slow];
        assert_eq!(reckoned(10, &chairs), (8 * 30 + 2 * 40, 8 * SECOND, 8 * SECOND / 5));
        assert_eq!(reckoned(1_000_000_007, &chairs[..1]).1, 1_000_000_007 * SECOND);
    }

    #[test]
    fn a_busy_seat_is_waited_for_only_where_that_is_sooner() {
        let busy = chair(0, 10, 1, 5 * SECOND);
        assert_eq!(reckoned(2, &[busy]), (20, 7 * SECOND, SECOND));
        assert_eq!(reckoned(3, &[busy, chair(1, 20, 1, 0)]), (60, 3 * SECOND, SECOND));
    }

    #[test]
    fn without_seats_there_is_no_price() {
        assert_eq!(reckon(1, &[], Micros(SECOND)), None);
        assert_eq!(asked(&[]), None);
    }

    #[test]
    fn the_middle_price_counts_slots() {
        let chairs = [chair(0, 30, 1, 0), chair(0, 20, 5, 0), chair(0, 10, 1, 0)];
        assert_eq!(asked(&chairs), Some(AskedView { lowest: Amount(10), median: Amount(20) }));
    }
}
