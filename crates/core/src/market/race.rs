//! Races: a second worker may take a task that the first has had for long enough. The first answer is a claim like any other
//! and paid once it is checked; the other attempt is called off and is not. If the check refutes the answer, the task is
//! raced anew.
//!
//! When that is, is reckoned from how the lengths of a program's tasks are spread: as early as wasted work stays under its
//! share of paid work if all goes as before. And no second attempt starts unless what was wasted so far, together with all
//! that is at risk now, stays under it too, however wrong the reckoning is.
use alloc::vec::Vec;
use gleaner_wire::{Micros, Millis, TaskId};
use serde::{Deserialize, Serialize};

use super::mode::Rules;
use crate::assign::Placement;
use crate::attempt::{Attempt, Why};
use crate::effect::Effect;
use crate::learn::SPEED_REFERENCE;
use crate::lengths::POINTS;
use crate::place::SeatId;
use crate::state::Core;

/// Runs of a program before its tasks are raced.
const RUNS_MIN: u32 = 8;
/// How soon it is looked at again whether a second worker may take a task.
const LOOK_AGAIN_MIN: Millis = Millis(20);
/// A device that is this many times slower than the first would hardly win.
const SLOWER_MAX: u64 = 2;

/// What races of a program have cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meter {
    /// Device time of answers that were paid, in microseconds.
    pub paid: u64,
    /// Device time of attempts that lost.
    pub wasted: u64,
    /// What will be wasted by attempts that run beside others now, at most as far as one can tell.
    pub at_risk: u64,
}

impl Meter {
    /// Whether this much more may be put at risk.
    pub fn allows(&self, risk: Micros, share_points: u32) -> bool {
        let waste = u128::from(self.wasted) + u128::from(self.at_risk) + u128::from(risk.0);
        waste * 10_000 <= u128::from(self.paid) * u128::from(share_points)
    }

    /// What was long ago counts less.
    pub fn fade(&mut self) {
        (self.paid, self.wasted) = (self.paid / 2, self.wasted / 2);
    }
}

/// What a job's races came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub hedges: u64,
    pub wasted: Micros,
}

/// After how long a second worker may take a task, on the reference machine: the least delay at which wasted work stays
/// under its share, if both take as long as any of these. Without variation that is never before the first should be done.
pub(crate) fn delay(points: &[u64; POINTS], share_points: u32) -> u64 {
    let fits = |delay: u64| {
        let (mut wasted, mut paid) = (0_u128, 0_u128);
        for first in points {
            for second in points {
                let (lost, won) = outcome(*first, *second, delay);
                (wasted, paid) = (wasted + u128::from(lost), paid + u128::from(won));
            }
        }
        wasted * 10_000 <= paid * u128::from(share_points)
    };
    let delays = core::iter::once(0).chain(points.iter().copied());
    delays.into_iter().find(|delay| fits(*delay)).unwrap_or(points[POINTS - 1])
}

/// What is wasted and what is paid of two attempts, the second of which starts after a delay.
fn outcome(first: u64, second: u64, delay: u64) -> (u64, u64) {
    if first <= delay {
        return (0, first);
    }
    match first <= delay.saturating_add(second) {
        true => (first - delay, first),
        false => (delay.saturating_add(second), second),
    }
}

/// Tasks may be taken by a second worker too, and the first answer is paid.
pub(crate) struct Race;

impl Rules for Race {
    /// Its own rule says when there is a second attempt.
    fn doubles_last(&self) -> bool {
        false
    }

    fn alone_for(&self, core: &mut Core, task: TaskId, seat: SeatId) -> Option<Millis> {
        core.hedge_after(task, seat)
    }

    fn late(&self, core: &mut Core, slot: u32, effects: &mut Vec<Effect>) {
        core.hedge(slot, effects);
    }

    fn answered(&self, core: &mut Core, winner: &Attempt, loser: &Attempt) {
        core.note_wasted(winner, loser);
    }

    fn paid(&self, core: &mut Core, attempt: &Attempt, ran: Micros) {
        core.note_race_paid(attempt, ran);
    }
}

impl Core {
    /// How long an attempt is waited for before a second worker may take its task; none if too little is known.
    fn hedge_after(&mut self, task: TaskId, seat: SeatId) -> Option<Millis> {
        let job = self.jobs.get_mut(&task.job)?;
        let group = &mut job.groups[usize::from(task.group)];
        let speed = self.seats[seat.0 as usize].runtime(group.plan.needs.runtime)?.speed;
        let runs = self.programs.runs(group.program);
        if runs < RUNS_MIN {
            return None;
        }
        if group.hedge.is_none_or(|(known, _)| runs > known + known / 4) {
            let lengths = self.programs.lengths(group.program)?;
            group.hedge = Some((runs, delay(&lengths.points, self.params.waste_share_points)));
        }
        let (_, delay) = group.hedge?;
        let here = u128::from(delay) * u128::from(SPEED_REFERENCE) / u128::from(speed.max(1));
        Some(Micros(u64::try_from(here).unwrap_or(u64::MAX)).millis())
    }

    /// An attempt of a race has run for as long as it had to itself: the best other worker may take its task too.
    fn hedge(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        let attempt = self.attempts.at(slot);
        let elapsed = self.now.since(attempt.placed);
        self.attempts.at_mut(slot).suspect_at = self.now.after(Millis(elapsed.0 / 4).max(LOOK_AGAIN_MIN));
        let attempt = self.attempts.at(slot);
        if attempt.twin.is_some() {
            return;
        }
        let task = TaskId { job: attempt.job, group: attempt.group, index: attempt.index };
        let Some(seat) = self.idle_for(slot).filter(|seat| self.may_race(slot, *seat)) else { return };
        let risk = self.risk(slot, seat);
        let program = self.jobs[&task.job].groups[usize::from(task.group)].program;
        if !self.programs.meter(program).allows(risk, self.params.waste_share_points) {
            return;
        }
        let placement = Placement { seat, task, why: Why::Hedge, twin: Some(slot), price: None };
        if let Ok(new) = self.assign(&placement, effects) {
            self.attempts.at_mut(new).risk = risk;
            self.programs.meter_mut(program).at_risk += risk.0;
            self.totals.hedges += 1;
            self.jobs.get_mut(&task.job).expect("it was just placed").race.hedges += 1;
        }
    }

    /// Whether a seat is one of the few that may take the task of an attempt too: known to be about as fast, and payable.
    fn may_race(&self, slot: u32, seat: SeatId) -> bool {
        let attempt = self.attempts.at(slot);
        let job = &self.jobs[&attempt.job];
        let group = &job.groups[usize::from(attempt.group)];
        if self.programs.runs(group.program) < RUNS_MIN || !job.admits(self.seats[seat.0 as usize].worker) {
            return false;
        }
        let middle = |seat: SeatId| {
            let offered = self.seats[seat.0 as usize].runtime(group.plan.needs.runtime)?;
            self.programs.middle(group.program, offered.speed)
        };
        let (Some(theirs), Some(ours)) = (middle(attempt.seat), middle(seat)) else { return false };
        let task = TaskId { job: attempt.job, group: attempt.group, index: attempt.index };
        ours.0 <= theirs.0.saturating_mul(SLOWER_MAX) && self.can_pay(seat, task)
    }

    /// What is lost if a second attempt wins: all that the first has run until then.
    fn risk(&self, slot: u32, seat: SeatId) -> Micros {
        let attempt = self.attempts.at(slot);
        let group = &self.jobs[&attempt.job].groups[usize::from(attempt.group)];
        let offered = self.seats[seat.0 as usize].runtime(group.plan.needs.runtime);
        let second =
            offered.and_then(|offered| self.programs.predict(group.program, offered.speed)).unwrap_or_default();
        Micros(self.now.since(attempt.placed).micros().0.saturating_add(second.0))
    }

    /// An answer came first; `loser` was called off for it, whatever its check will say: nobody pays for the loser's time.
    fn note_wasted(&mut self, winner: &Attempt, loser: &Attempt) {
        let job = self.jobs.get_mut(&winner.job).expect("an attempt's job is there");
        let ready = loser.placed.after(loser.moving.time.millis());
        let wasted = self.now.since(ready).micros().0;
        job.race.wasted = Micros(job.race.wasted.0.saturating_add(wasted));
        let meter = self.programs.meter_mut(job.groups[usize::from(winner.group)].program);
        meter.wasted = meter.wasted.saturating_add(wasted);
        self.totals.race_wasted_micros = self.totals.race_wasted_micros.saturating_add(wasted);
    }

    /// An answer is paid. Only what is paid lets more be wasted: what a check refutes does not.
    fn note_race_paid(&mut self, winner: &Attempt, ran: Micros) {
        let job = &self.jobs[&winner.job];
        let meter = self.programs.meter_mut(job.groups[usize::from(winner.group)].program);
        meter.paid = meter.paid.saturating_add(ran.0);
        self.totals.race_paid_micros = self.totals.race_paid_micros.saturating_add(ran.0);
    }

    /// An attempt beside another one has ended, however: nothing is at risk for it any more.
    pub(crate) fn take_off_risk(&mut self, attempt: &Attempt) {
        if attempt.risk.0 > 0 {
            let program = self.jobs[&attempt.job].groups[usize::from(attempt.group)].program;
            self.programs.meter_mut(program).at_risk -= attempt.risk.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: u32 = 1000;

    /// Mostly a second, and one in sixteen twenty times as long.
    fn tailed() -> [u64; POINTS] {
        core::array::from_fn(|at| if at == POINTS - 1 { 20_000 } else { 1000 + at as u64 })
    }

    #[test]
    fn where_all_take_the_same_time_nobody_is_hedged_before_they_should_be_done() {
        assert_eq!(delay(&[1000; POINTS], TENTH), 1000);
    }

    #[test]
    fn a_rare_straggler_is_hedged_soon_after_the_others_are_done() {
        let found = delay(&tailed(), 2000);
        assert!((1000..=1014).contains(&found), "{found}");
    }

    #[test]
    fn the_smaller_the_share_the_longer_the_wait() {
        let even: [u64; POINTS] = core::array::from_fn(|at| 100 + 120 * at as u64);
        let delays = [200, TENTH, 5000, 20_000].map(|share| delay(&even, share));
        assert!(delays.is_sorted_by(|longer, shorter| longer >= shorter), "{delays:?}");
        assert_eq!(delays[3], 0, "with twice the work to waste, two start at once");
        assert!(delays[0] > even[8], "{delays:?}");
    }

    #[test]
    fn the_chosen_delay_keeps_its_share_and_the_next_shorter_one_does_not() {
        let points: [u64; POINTS] = core::array::from_fn(|at| 50 * (at as u64 + 1) * (at as u64 + 1));
        let share = |delay: u64| {
            let pairs = points.iter().flat_map(|first| points.iter().map(|second| outcome(*first, *second, delay)));
            let (wasted, paid) = pairs.fold((0, 0), |(wasted, paid), (lost, won)| (wasted + lost, paid + won));
            wasted * 10_000 / paid
        };
        let found = delay(&points, TENTH);
        let before = points.iter().rev().find(|point| **point < found).expect("it is not the first");
        assert!(share(found) <= 1000 && share(*before) > 1000, "{found}: {} and {}", share(found), share(*before));
    }

    #[test]
    fn what_is_wasted_and_at_risk_stays_under_its_share() {
        let mut meter = Meter { paid: 10_000, wasted: 400, at_risk: 300 };
        assert!(meter.allows(Micros(300), TENTH) && !meter.allows(Micros(301), TENTH));
        assert!(!Meter::default().allows(Micros(1), TENTH), "nothing is wasted before anything is paid");
        meter.fade();
        assert_eq!(meter, Meter { paid: 5000, wasted: 200, at_risk: 300 });
    }
}
