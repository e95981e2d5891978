//! What a job would cost and when it would be done, before anything is paid: prices of the seats that would be chosen, times
//! a length learned from earlier tasks. It reads the state and changes nothing. Results that are known already cost
//! nothing; a quote does not look for them, so it is no less than what is paid.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use gleaner_wire::api::{AskedView, GroupQuote, QuoteView, ReasonView};
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{Amount, Micros, Millis, Needs, WorkerId};

use crate::explain::Because;
use crate::job::program_key;
use crate::learn::ProgramId;
use crate::place::Seat;
use crate::plan::{Graph, Group};
use crate::state::Core;

/// Different needs in one job that are quoted: all seats are looked at for each.
const KINDS_MAX: usize = 64;

/// The job asks for more different things than a quote looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a job with more than {KINDS_MAX} different `needs` is not quoted; it never costs more than budget.price_max")]
pub struct TooManyKinds;

/// A seat that fits, as far as its price and time are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chair {
    /// Its place in the order of the job's preference.
    rank: usize,
    speed: u32,
    price: Amount,
    /// Slots that take tasks, and when: those that are free, or else all of them once what they hold is done.
    slots: u64,
    wait: Micros,
}

/// Everybody here who could do a task with some needs.
struct Suitable {
    /// In the order in which they are chosen.
    chairs: Vec<Chair>,
    asked: Option<AskedView>,
    /// Workers with room now.
    workers: u64,
    /// Why there are none.
    reasons: Vec<ReasonView>,
}

/// What tasks of known length would cost on some seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reckoning {
    price: Amount,
    time: Micros,
    /// How long one takes, on the average.
    each: Micros,
}

impl Core {
    /// What a planned job would cost if it came now.
    pub fn quote(&self, mut graph: Graph) -> Result<QuoteView, TooManyKinds> {
        self.choose_engine(&mut graph);
        let mut kinds: BTreeMap<&Needs, Suitable> = BTreeMap::new();
        for group in &graph.groups {
            if !kinds.contains_key(&group.needs) {
                if kinds.len() >= KINDS_MAX {
                    return Err(TooManyKinds);
                }
                kinds.insert(&group.needs, self.suitable(&group.needs, graph.prefer));
            }
        }
        let groups: Vec<_> = graph.groups.iter().map(|group| self.quote_group(group, &kinds[&group.needs])).collect();
        let sum = |add: fn(&GroupQuote) -> Option<u64>| {
            groups.iter().try_fold(0_u64, |sum, group| Some(sum.saturating_add(add(group)?)))
        };
        Ok(QuoteView {
            tasks: graph.tasks(),
            expected: sum(|group| group.expected.map(|price| price.0)).map(Amount),
            cap: graph.price_max.unwrap_or(self.params.price_max_default),
            time_ms: sum(|group| group.time_ms.map(|time| time.0)).map(Millis),
            rests_on: groups.iter().map(|group| group.rests_on).min().unwrap_or(0),
            groups,
        })
    }

    fn quote_group(&self, group: &Group, suitable: &Suitable) -> GroupQuote {
        let tasks = group.spec.extent.count();
        let program = self.programs.find(&program_key(group)).filter(|program| self.programs.runs(*program) > 0);
        let reckoning = program.and_then(|program| self.reckon(program, tasks, &suitable.chairs));
        GroupQuote {
            task: group.spec.name.clone(),
            tasks,
            each_micros: reckoning.map(|reckoning| reckoning.each.0),
            rests_on: program.map_or(0, |program| u64::from(self.programs.runs(program))),
            per_second: suitable.asked,
            expected: reckoning.map(|reckoning| reckoning.price),
            time_ms: reckoning.map(|reckoning| reckoning.time.millis()),
            workers: suitable.workers,
            reasons: suitable.reasons.clone(),
        }
    }

    fn suitable(&self, needs: &Needs, prefer: Prefer) -> Suitable {
        let mut free: BTreeSet<WorkerId> = BTreeSet::new();
        let mut chairs = Vec::new();
        for seat in &self.seats {
            match self.because(needs, None, seat) {
                None => _ = free.insert(seat.worker),
                Some(Because::AllBusy | Because::StakeUsedUp) => {}
                Some(_) => continue,
            }
            chairs.extend(chair(seat, needs, prefer));
        }
        chairs.sort_by_key(|chair| chair.rank);
        let reasons = if free.is_empty() { self.seat_reasons(needs, None, |_| false) } else { Vec::new() };
        Suitable { asked: asked(&chairs), chairs, workers: free.len() as u64, reasons }
    }

    fn reckon(&self, program: ProgramId, tasks: u64, chairs: &[Chair]) -> Option<Reckoning> {
        let chosen = chosen(tasks, chairs).iter();
        let lengths = chosen.map(|chair| Some((*chair, self.programs.predict(program, chair.speed)?)));
        reckon(tasks, &lengths.collect::<Option<Vec<_>>>()?)
    }
}

fn chair(seat: &Seat, needs: &Needs, prefer: Prefer) -> Option<Chair> {
    let offered = seat.runtime(needs.runtime)?;
    let free = seat.slots.saturating_sub(seat.in_flight);
    let (slots, wait) = match free {
        0 => (seat.slots, Micros(seat.backlog / u64::from(seat.slots.max(1)))),
        _ => (free, Micros(0)),
    };
    let rank = offered.cell.rank(prefer);
    Some(Chair { rank, speed: offered.speed, price: seat.price, slots: u64::from(slots), wait })
}

fn asked(chairs: &[Chair]) -> Option<AskedView> {
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

/// The first seats that have a slot for every task; all of them if there are not so many.
fn chosen(tasks: u64, chairs: &[Chair]) -> &[Chair] {
    let mut slots = 0;
    let wanted = chairs.iter().take_while(|chair| {
        let wanted = slots < tasks;
        slots += chair.slots;
        wanted
    });
    &chairs[..wanted.count()]
}

/// Equal tasks on seats that were chosen, each with how long it takes for one: all are busy until all is done.
fn reckon(tasks: u64, chosen: &[(Chair, Micros)]) -> Option<Reckoning> {
    let time = time_for(tasks, chosen)?;
    let (mut left, mut price, mut ran) = (tasks, 0_u64, 0_u64);
    for (chair, each) in chosen {
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

    fn chair(rank: usize, price: u64, slots: u64, wait: u64) -> Chair {
        Chair { rank, speed: 1000, price: Amount(price), slots, wait: Micros(wait) }
    }

    fn reckoned(tasks: u64, chairs: &[(Chair, u64)]) -> (u64, u64, u64) {
        let seats: Vec<_> = chairs.iter().map(|(chair, _)| *chair).collect();
        let chairs = chairs.iter().map(|(chair, each)| (*chair, Micros(*each)));
        let chosen: Vec<_> = chairs.take(chosen(tasks, &seats).len()).collect();
        let reckoning = reckon(tasks, &chosen).expect("somebody is there");
        (reckoning.price.0, reckoning.time.0, reckoning.each.0)
    }

    const SECOND: u64 = 1_000_000;

    #[test]
    fn few_tasks_cost_what_the_first_seats_ask() {
        let chairs = [(chair(0, 10, 2, 0), SECOND), (chair(1, 1000, 8, 0), SECOND)];
        assert_eq!(reckoned(2, &chairs), (20, SECOND, SECOND));
        assert_eq!(reckoned(3, &chairs), (1020, SECOND, SECOND));
    }

    #[test]
    fn many_tasks_are_shared_out_by_speed() {
        // In nine seconds the fast one does nine and the slow one three.
        let chairs = [(chair(0, 30, 1, 0), SECOND), (chair(1, 10, 1, 0), 3 * SECOND)];
        assert_eq!(reckoned(12, &chairs), (9 * 30 + 3 * 30, 9 * SECOND, 3 * SECOND / 2));
        assert_eq!(reckoned(1_000_000_007, &chairs[..1]).1, 1_000_000_007 * SECOND);
    }

    #[test]
    fn a_busy_seat_is_waited_for_only_where_that_is_sooner() {
        let busy = (chair(0, 10, 1, 5 * SECOND), SECOND);
        assert_eq!(reckoned(2, &[busy]), (20, 7 * SECOND, SECOND));
        assert_eq!(reckoned(3, &[busy, (chair(1, 20, 1, 0), SECOND)]), (60, 3 * SECOND, SECOND));
    }

    #[test]
    fn without_seats_there_is_no_price() {
        assert_eq!(reckon(1, &[]), None);
        assert_eq!(asked(&[]), None);
    }

    #[test]
    fn the_middle_price_counts_slots() {
        let chairs = [chair(0, 30, 1, 0), chair(0, 20, 5, 0), chair(0, 10, 1, 0)];
        assert_eq!(asked(&chairs), Some(AskedView { lowest: Amount(10), median: Amount(20) }));
    }
}
