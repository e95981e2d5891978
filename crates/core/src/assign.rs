//! Gives a task to a seat, and takes it back: money, clocks and counts move together here and nowhere else.
use alloc::vec::Vec;
use gleaner_wire::{Amount, JobId, Micros, Millis, State, TaskId, market};

use crate::attempt::{Attempt, Why};
use crate::data::Moving;
use crate::effect::Effect;
use crate::job::{Group, Job};
use crate::market::mode::rules;
use crate::market::tier;
use crate::place::SeatId;
use crate::pool::Trigger;
use crate::quote::uncovered_at;
use crate::state::Core;

/// A task of known length is paid for up to this many times its prediction, plus a second.
const PAID_TIMES: u64 = 8;
/// When a task of unknown length is first looked at.
const SUSPECT_UNKNOWN: Millis = Millis(5000);
/// What a task of unknown length must be paid for at least.
const LEAST_PAID: Micros = Micros(1_000_000);

/// The job's cap leaves too little to start another attempt on this seat.
pub(crate) struct OutOfMoney;

/// An element and the seat that was chosen for it.
pub(crate) struct Placement {
    pub seat: SeatId,
    pub task: TaskId,
    pub why: Why,
    /// The attempt that already runs.
    pub twin: Option<u32>,
    /// The price a second that an auction gave; without one, the seat's own.
    pub price: Option<Amount>,
}

impl Core {
    /// Whether the job can pay for an attempt at this element on this seat.
    pub(crate) fn can_pay(&self, id: SeatId, task: TaskId) -> bool {
        let seat = &self.seats[id.0 as usize];
        let job = &self.jobs[&task.job];
        let group = &job.groups[usize::from(task.group)];
        let Some(offered) = seat.runtime(group.plan.needs.runtime) else { return false };
        let predicted = self.programs.predict(group.program, offered.speed);
        let (price, first) = (self.price_for(id, job), self.first_part(job, group, offered.speed));
        fund(price, paid_span(group, task.index, predicted), predicted, first, job.money_left()).is_some()
    }

    /// What a second on a seat costs a job that did not just win it by auction.
    fn price_for(&self, seat: SeatId, job: &Job) -> Amount {
        let won = self.firmness.won_price(seat, job.id);
        tier::price(won.unwrap_or(self.seats[seat.0 as usize].price), job.market.tier)
    }

    /// What an attempt of a quoted job starts with: its cap leaves nothing to set aside for what rarely happens.
    fn first_part(&self, job: &Job, group: &Group, speed: u32) -> Option<Micros> {
        job.quoted.as_ref().and_then(|_| self.programs.middle(group.program, speed))
    }

    /// Starts an attempt at an element that the caller has taken from its queue (or that already runs elsewhere).
    pub(crate) fn assign(&mut self, placement: &Placement, effects: &mut Vec<Effect>) -> Result<u32, OutOfMoney> {
        let Placement { seat: seat_id, task, why, twin, price } = *placement;
        let TaskId { job: job_id, group: group_at, index } = task;
        let audit = matches!(why, Why::Audit(_));
        let hedge = if twin.is_none() && !audit {
            rules(self.jobs[&job_id].market.mode).alone_for(self, task, seat_id)
        } else {
            None
        };
        let seat = &self.seats[seat_id.0 as usize];
        let job = &self.jobs[&job_id];
        let group = &job.groups[usize::from(group_at)];
        let offered = seat.runtime(group.plan.needs.runtime).expect("only fitting seats are chosen");
        let predicted = self.programs.predict(group.program, offered.speed);
        let price = price.map_or_else(|| self.price_for(seat_id, job), |price| tier::price(price, job.market.tier));
        let span = paid_span(group, index, predicted);
        let (hold, time_ms) = match audit {
            true => (Amount::ZERO, span),
            false => {
                let first = self.first_part(job, group, offered.speed);
                fund(price, span, predicted, first, job.money_left()).ok_or(OutOfMoney)?
            }
        };
        let job = self.jobs.get_mut(&job_id).expect("only live jobs are placed");
        let group = &mut job.groups[usize::from(group_at)];
        if !audit {
            group.running += 1;
            group.tasks_running += u32::from(twin.is_none());
            job.running += 1;
            job.held = Amount(job.held.0 + hold.0);
        }
        let requester = job.requester;
        if job.order.is_some() {
            job.crew.insert(seat.worker);
        }

        let wait = Micros(seat.backlog / u64::from(seat.slots));
        let worker_id = seat.worker;
        let worker = &self.workers[worker_id.0 as usize];
        let moving = match &mut group.inputs {
            Some(inputs) => {
                let line = worker.line.unwrap_or(self.params.line_bytes_per_second);
                inputs.begin(&mut self.holders, worker_id, (offered.speed, seat.slots), line, self.now)
            }
            None => Moving::default(),
        };
        let expected = predicted.map(|predicted| self.now.after(Micros(wait.0 + predicted.0 + moving.time.0).millis()));
        let hedge = hedge.map(|delay| delay.after(Micros(wait.0).millis()));
        let suspect = hedge.map_or_else(
            || expected.map_or(SUSPECT_UNKNOWN, |at| Millis(at.since(self.now).0 * 2 + 500)),
            |delay| delay.max(Millis(1)),
        );
        let attempt = Attempt {
            job: job_id,
            group: group_at,
            index,
            worker: worker_id,
            seat: seat_id,
            position: worker.attempts.len() as u32,
            why: if worker.state == State::Probation && !audit { Why::Test } else { why },
            placed: self.now,
            predicted,
            expected,
            suspect_at: self.now.after(suspect).after(moving.patience()),
            lease: self.now.after(self.params.lease_ms),
            deadline: self
                .now
                .after(Micros(wait.0.saturating_mul(4)).millis())
                .after(time_ms)
                .after(moving.deadline())
                .after(self.params.grace_ms),
            moving,
            time_ms,
            hold,
            price,
            twin,
            engine: offered.engine,
            resumed: !audit && group.checkpoints.contains_key(&index),
            compare: None,
            begun: false,
            replaced: 0,
            uncovered_at: None,
            risk: Micros(0),
            notice: None,
            saved: false,
        };
        let starts = self.now.after(wait.millis()).after(moving.time.millis());
        let uncovered_at = (job.quoted.is_some() && !audit).then(|| uncovered_at(price, hold, starts));
        let attempt = Attempt { uncovered_at, ..attempt };
        let wake = attempt.wakes_at();
        let slot = self.attempts.insert(attempt);
        if !audit {
            self.firmness.attempt_started(slot, job.market.tier);
        }
        if let (Some(tail), Some(expected), None, false) = (&mut group.tail, expected, twin, audit) {
            tail.insert((expected, slot));
        }
        if let Some(twin) = twin {
            self.attempts.at_mut(twin).twin = Some(slot);
            self.totals.second_attempts += 1;
        }
        self.workers[worker_id.0 as usize].attempts.push(slot);
        self.occupy(seat_id, predicted, effects);
        self.alarm_worker_by(worker_id, wake);
        self.charge(requester, predicted);
        self.totals.attempts_started += 1;
        effects.push(Effect::StartAttempt { worker: worker_id, attempt: self.attempts.id(slot) });
        self.relist(seat_id);
        Ok(slot)
    }

    /// Takes an attempt away from its seat, whatever became of it. Its twin, if it has one, goes on alone.
    pub(crate) fn release_attempt(&mut self, slot: u32, effects: &mut Vec<Effect>) -> Attempt {
        let attempt = self.attempts.remove(slot);
        self.firmness.attempt_ended(slot);
        self.take_off_risk(&attempt);
        let worker = &mut self.workers[attempt.worker.0 as usize];
        worker.attempts.swap_remove(attempt.position as usize);
        if let Some(moved) = worker.attempts.get(attempt.position as usize) {
            self.attempts.at_mut(*moved).position = attempt.position;
        }
        self.vacate(attempt.seat, attempt.predicted, effects);
        self.hungry.push(attempt.seat);
        if attempt.is_audit() {
            return attempt;
        }
        let job = self.jobs.get_mut(&attempt.job).expect("an attempt's job is there");
        job.held = Amount(job.held.0 - attempt.hold.0);
        job.running -= 1;
        let group = &mut job.groups[usize::from(attempt.group)];
        group.running -= 1;
        if let (Some(tail), Some(expected)) = (&mut group.tail, attempt.expected) {
            tail.remove(&(expected, slot));
        }
        match attempt.twin {
            Some(twin) => {
                let twin_of = self.attempts.at_mut(twin);
                twin_of.twin = None;
                if let (Some(tail), Some(expected)) = (&mut group.tail, twin_of.expected) {
                    tail.insert((expected, twin));
                }
            }
            None => group.tasks_running -= 1,
        }
        if job.running == 0 && job.market.tier == market::Tier::Reserved {
            self.hungry.extend(self.kept_by(attempt.job));
        }
        self.money_came_back(attempt.job);
        attempt
    }

    /// Something of a job's order is free again: what waited for money may be placed.
    pub(crate) fn money_came_back(&mut self, id: JobId) {
        let job = self.jobs.get_mut(&id).expect("the caller has seen it");
        if job.out_of_money {
            job.out_of_money = false;
            let groups = (0..).zip(&job.groups).filter(|(_, group)| group.ready() > 0);
            self.opened.extend(groups.map(|(at, _)| (id, at)));
        }
    }

    /// Calls off an attempt that nobody needs any more. It is not paid: only delivered work is.
    pub(crate) fn cancel_attempt(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        let id = self.attempts.id(slot);
        let attempt = self.release_attempt(slot, effects);
        effects.push(Effect::CancelAttempt { worker: attempt.worker, attempt: id });
    }

    fn occupy(&mut self, id: SeatId, predicted: Option<Micros>, effects: &mut Vec<Effect>) {
        let unknown = self.params.horizon.0;
        let seat = &mut self.seats[id.0 as usize];
        seat.in_flight += 1;
        seat.backlog += predicted.map_or(unknown * u64::from(seat.slots), |predicted| predicted.0);
        if seat.in_flight > seat.slots {
            return;
        }
        let worker_id = seat.worker;
        let worker = &mut self.workers[worker_id.0 as usize];
        worker.slots_free = worker.slots_free.saturating_sub(1);
        if worker.slots_free == 0 {
            self.trigger(worker_id, Trigger::Filled, effects);
        }
    }

    fn vacate(&mut self, id: SeatId, predicted: Option<Micros>, effects: &mut Vec<Effect>) {
        let unknown = self.params.horizon.0;
        let seat = &mut self.seats[id.0 as usize];
        seat.in_flight -= 1;
        let counted = predicted.map_or(unknown * u64::from(seat.slots), |predicted| predicted.0);
        seat.backlog = if seat.in_flight == 0 { 0 } else { seat.backlog.saturating_sub(counted) };
        if seat.in_flight >= seat.slots || !seat.offered {
            return;
        }
        let worker_id = seat.worker;
        let worker = &mut self.workers[worker_id.0 as usize];
        worker.slots_free += 1;
        if worker.slots_free == 1 {
            self.trigger(worker_id, Trigger::Freed, effects);
        }
    }
}

/// How long an attempt may run: all that the job allows, or less where the length is known.
fn paid_span(group: &Group, index: u32, predicted: Option<Micros>) -> Millis {
    let limit = group.plan.spec.limits.time_ms;
    let full = group.troubles.get(&index).is_some_and(|trouble| trouble.full_time);
    match predicted {
        Some(predicted) if !full => limit.min(Millis(predicted.millis().0.saturating_mul(PAID_TIMES) + 1000)),
        Some(_) | None => limit,
    }
}

/// What to set aside, and how long that lasts; `None` if too little is left for even a likely run. A `first` part is set
/// aside where more can follow.
fn fund(
    price: Amount,
    span: Millis,
    predicted: Option<Micros>,
    first: Option<Micros>,
    left: Amount,
) -> Option<(Amount, Millis)> {
    if let Some(first) = first {
        let part = price.per_second_over(first.min(span.micros()));
        return (part <= left).then_some((part, span));
    }
    let wanted = price.per_second_over(span.micros());
    if wanted <= left {
        return Some((wanted, span));
    }
    let least = price.per_second_over(predicted.unwrap_or(LEAST_PAID).min(span.micros()));
    (least <= left).then(|| (left, span.min(Millis((left.lasts_at(price).0 / 1000).max(1)))))
}
