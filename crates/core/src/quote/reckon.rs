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

/// What slow seats get where they are left idle in favour of faster ones (see `feed`): a task only if the whole fleet would
/// hardly be done with all that is left before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Restraint {
    /// Seats below this speed are slow.
    speed_min: u64,
    /// When the fleet would be done, if work could be cut at will, and its fastest with one task more.
    until: Micros,
}

impl Restraint {
    /// That of a fleet with so many tasks of a length.
    pub fn of(tasks: u64, fleet: &[Chair], mean: Micros) -> Option<Self> {
        let speed_max = fleet.iter().map(|chair| chair.speed).max()?;
        let speed: u128 = fleet.iter().map(|chair| u128::from(chair.slots) * u128::from(chair.speed)).sum();
        let work = u128::from(tasks) * u128::from(mean.0) * u128::from(SPEED_REFERENCE);
        let best = u128::from(mean.0) * u128::from(SPEED_REFERENCE) / u128::from(speed_max.max(1));
        let until = work.checked_div(speed)? + best;
        let until = Micros(u64::try_from(until).unwrap_or(u64::MAX));
        Some(Self { speed_min: u64::from(speed_max).div_ceil(2), until })
    }
}

/// Equal tasks on seats that were chosen: all are busy until all is done, or slow ones until they are restrained.
pub(super) fn reckon(tasks: u64, chosen: &[Chair], mean: Micros, restraint: Option<Restraint>) -> Option<Reckoning> {
    let all: Vec<(Chair, Micros)> = chosen.iter().map(|chair| (*chair, chair.each(mean))).collect();
    let is_slow = |(chair, _): &(Chair, Micros)| restraint.is_some_and(|of| u64::from(chair.speed) < of.speed_min);
    let gets_none = |(chair, each): &(Chair, Micros)| restraint.is_some_and(|of| done_by(of.until, chair, *each) == 0);
    // Where the next seat in order is left idle, those behind it are not asked.
    let asked = all.iter().position(|at| is_slow(at) && gets_none(at)).unwrap_or(all.len());
    let (mut slow, mut fast): (Vec<_>, Vec<_>) = all[..asked].iter().copied().partition(is_slow);
    if fast.is_empty() {
        (slow, fast) = (Vec::new(), all);
    }
    let mut sum = Sum { left: tasks, price: 0, ran: 0 };
    let mut time = Micros(0);
    for (chair, each) in &slow {
        let until = restraint.map_or(Micros(0), |of| of.until);
        let rounds = sum.add(chair, *each, done_by(until, chair, *each)).div_ceil(chair.slots.max(1));
        let ends = chair.wait.0.saturating_add(each.0.saturating_mul(rounds));
        time = if rounds > 0 { time.max(Micros(ends)) } else { time };
    }
    let fastest = time_for(sum.left, &fast)?;
    fast.iter().for_each(|(chair, each)| _ = sum.add(chair, *each, done_by(fastest, chair, *each)));
    assert_eq!(sum.left, 0, "that was the time in which all are done");
    Some(Reckoning { price: Amount(sum.price), time: time.max(fastest), each: Micros(sum.ran / tasks.max(1)) })
}

/// What was given out so far.
struct Sum {
    left: u64,
    price: u64,
    ran: u64,
}

impl Sum {
    /// Gives up to so many tasks to a seat; returns how many it got.
    fn add(&mut self, chair: &Chair, each: Micros, tasks: u64) -> u64 {
        let done = tasks.min(self.left);
        self.left -= done;
        self.price = self.price.saturating_add(chair.price.per_second_over(each).0.saturating_mul(done));
        self.ran = self.ran.saturating_add(each.0.saturating_mul(done));
        done
    }
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
        let reckoning = reckon(tasks, &chosen(tasks, chairs, 0), Micros(SECOND), None).expect("somebody is there");
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
    fn a_slow_seat_gets_no_task_that_the_fleet_would_be_done_with_before() {
        let fleet = [chair(0, 30, 1, 0), Chair { speed: 250, ..chair(1, 10, 1, 0) }];
        let restrained = |tasks: u64| {
            let restraint = Restraint::of(tasks, &fleet, Micros(SECOND));
            let reckoning = reckon(tasks, &fleet, Micros(SECOND), restraint).expect("somebody is there");
            (reckoning.price.0, reckoning.time.0)
        };
        // Three tasks take both of them 2.4 seconds, and the fast one another: less than the four of the slow one.
        assert_eq!(restrained(3), (3 * 30, 3 * SECOND));
        assert_eq!(restrained(4), (3 * 30 + 40, 4 * SECOND));
    }

    #[test]
    fn a_busy_seat_is_waited_for_only_where_that_is_sooner() {
        let busy = chair(0, 10, 1, 5 * SECOND);
        assert_eq!(reckoned(2, &[busy]), (20, 7 * SECOND, SECOND));
        assert_eq!(reckoned(3, &[busy, chair(1, 20, 1, 0)]), (60, 3 * SECOND, SECOND));
    }

    #[test]
    fn without_seats_there_is_no_price() {
        assert_eq!(reckon(1, &[], Micros(SECOND), None), None);
        assert_eq!(asked(&[]), None);
    }

    #[test]
    fn the_middle_price_counts_slots() {
        let chairs = [chair(0, 30, 1, 0), chair(0, 20, 5, 0), chair(0, 10, 1, 0)];
        assert_eq!(asked(&chairs), Some(AskedView { lowest: Amount(10), median: Amount(20) }));
    }
}
