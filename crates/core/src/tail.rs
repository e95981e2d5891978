//! Stragglers: a second attempt beside one that runs far past its prediction, or that an idle seat would overtake.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{JobId, Micros, Millis, TaskId};

use crate::assign::Placement;
use crate::attempt::{Attempt, Why};
use crate::effect::Effect;
use crate::market::mode::rules;
use crate::place::{SeatId, Tier};
use crate::state::Core;

/// Runs of a program before its last tasks are doubled by prediction alone.
const RUNS_MIN: u32 = 3;
/// Second attempts started for one event.
const RESCUES_MAX: usize = 256;
/// How long past twice its prediction an attempt is waited for while there is other work.
const PATIENCE_MIN: Millis = Millis(500);
/// Attempts at one task that are called off for faster ones: where predictions are wrong, one must be left to finish.
const REPLACED_MAX: u8 = 3;
/// Workers that hold a task's data and are looked at for a second attempt.
const HOLDERS_SCAN_MAX: usize = 64;
/// What a second attempt must save at least.
const SAVING_MIN: Millis = Millis(50);

impl Core {
    /// When the last tasks of a group run, sorts them by expected end, so that idle seats can double the latest.
    pub(crate) fn look_at_tail(&mut self, id: JobId, at: u16, effects: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get(&id) else { return };
        let group = &job.groups[usize::from(at)];
        let runs = self.programs.runs(group.program);
        let due = group.tail.is_none() || runs >= group.tail_runs.saturating_mul(4);
        let plain = job.is_running() && job.prefer != Prefer::Cheap && rules(job.market.mode).doubles_last();
        if !plain || !group.is_ending() || runs < RUNS_MIN || !due {
            return;
        }
        self.build_tail(id, at, runs);
        for _ in 0..RESCUES_MAX {
            let Some((slot, seat)) = self.latest_and_idle(id, at) else { return };
            if self.leaves_to_faster(id, at, seat).is_some() || !self.double(id, at, slot, seat, effects) {
                return;
            }
        }
    }

    fn build_tail(&mut self, id: JobId, at: u16, runs: u32) {
        let ours =
            self.attempts.iter().filter(|(_, attempt)| attempt.job == id && attempt.group == at && !attempt.is_audit());
        let ours: Vec<u32> = ours.map(|(slot, _)| slot).collect();
        let mut tail = BTreeSet::new();
        for slot in ours {
            if let Some(expected) = self.expect(slot) {
                let now = self.now.after(Millis(1));
                let attempt = self.attempts.at_mut(slot);
                attempt.expected = Some(expected);
                let due = expected.after(patience_in_tail(attempt, expected));
                attempt.suspect_at = attempt.suspect_at.min(due.max(now));
                let (worker, by) = (attempt.worker, attempt.suspect_at);
                self.alarm_worker_by(worker, by);
                let sooner = self
                    .attempts
                    .at(slot)
                    .twin
                    .is_none_or(|twin| self.expect(twin).is_none_or(|other| (expected, slot) < (other, twin)));
                if sooner {
                    tail.insert((expected, slot));
                }
            }
        }
        let group = &mut self.jobs.get_mut(&id).expect("the caller has seen it").groups[usize::from(at)];
        let shape = group.shape;
        (group.tail, group.tail_runs) = (Some(tail), runs);
        self.shapes[shape].tails.insert((id, at));
        self.shapes.tailing.insert(shape);
    }

    /// When an attempt should be done, by what is known now.
    fn expect(&self, slot: u32) -> Option<Millis> {
        let attempt = self.attempts.at(slot);
        if attempt.predicted.is_some() {
            return attempt.expected;
        }
        let group = &self.jobs[&attempt.job].groups[usize::from(attempt.group)];
        let speed = self.seats[attempt.seat.0 as usize].runtime(group.plan.needs.runtime)?.speed;
        let predicted = self.programs.predict(group.program, speed)?;
        Some(attempt.placed.after(predicted.millis()).after(attempt.moving.time.millis()))
    }

    /// The job has no more use for the group's tail.
    pub(crate) fn leave_tail(&mut self, id: JobId, at: u16) {
        let group = &mut self.jobs.get_mut(&id).expect("only groups of live jobs have tails").groups[usize::from(at)];
        if group.tail.take().is_none() {
            return;
        }
        let shape = group.shape;
        self.shapes[shape].tails.remove(&(id, at));
        if self.shapes[shape].tails.is_empty() {
            self.shapes.tailing.remove(&shape);
        }
    }

    /// An idle seat with nothing waiting for it: is there an attempt that it would overtake?
    pub(crate) fn rescue(&mut self, seat: SeatId, effects: &mut Vec<Effect>) {
        let fitting = self.shapes.tailing.iter().filter(|shape| {
            let needs = &self.shapes[**shape].needs;
            self.seats[seat.0 as usize].fits(needs, self.classes.named(needs))
        });
        let groups: Vec<_> = fitting.flat_map(|shape| self.shapes[*shape].tails.iter().copied()).take(8).collect();
        for (id, at) in groups {
            let Some(slot) = self.most_urgent(id, at) else { continue };
            if self.leaves_to_faster(id, at, seat).is_some() {
                continue;
            }
            if self.double(id, at, slot, seat, effects) {
                return;
            }
        }
    }

    /// If the fleet would be done with all of a group's last tasks well before this seat is with one of them, how soon.
    fn leaves_to_faster(&mut self, id: JobId, at: u16, seat: SeatId) -> Option<Millis> {
        let group = &self.jobs[&id].groups[usize::from(at)];
        let (shape, program, left) = (group.shape, group.program, group.tail.as_ref().map_or(0, BTreeSet::len));
        let offered = self.seats[seat.0 as usize].runtime(group.plan.needs.runtime)?;
        let (speed, mut ours) = (offered.speed, self.programs.predict(program, offered.speed)?);
        let theirs = match group.inputs {
            Some(_) => {
                let moving = self.moving(group, self.seats[seat.0 as usize].worker).time;
                ours = Micros(ours.0.saturating_add(moving.0));
                self.otherwise(id, at, speed, moving, left as u64)?
            }
            None => self.fleet_time(shape, program, left as u64)?,
        };
        (ours.0 > theirs.0).then(|| theirs.millis())
    }

    /// An attempt was overtaken: its seat is at least as slow as the time says that it has taken so far.
    fn learn_from_overtaken(&mut self, slot: u32) {
        let attempt = self.attempts.at(slot);
        // A slow line says nothing about the device behind it.
        let on_device = attempt.why != Why::Ahead && attempt.moving.time.0 == 0;
        let Some(expected) = self.expect(slot).filter(|_| on_device) else { return };
        let (span, elapsed) = (expected.since(attempt.placed).0.max(1), self.now.since(attempt.placed).0);
        if elapsed < span + span / 2 {
            return;
        }
        let (seat, group) = (attempt.seat, &self.jobs[&attempt.job].groups[usize::from(attempt.group)]);
        let runtime = group.plan.needs.runtime;
        let Some(offered) = self.seats[seat.0 as usize].runtime(runtime) else { return };
        let slower = u64::from(offered.speed).saturating_mul(span) / elapsed;
        self.set_speed(seat, runtime, (slower as u32).max(1));
    }

    fn latest_and_idle(&self, id: JobId, at: u16) -> Option<(u32, SeatId)> {
        let slot = self.most_urgent(id, at)?;
        Some((slot, self.idle_for(slot)?))
    }

    /// Of the last attempts of a group, one that is overdue, or else the one that should end last.
    fn most_urgent(&self, id: JobId, at: u16) -> Option<u32> {
        let tail = self.jobs[&id].groups[usize::from(at)].tail.as_ref()?;
        let overdue = tail.first().filter(|(expected, slot)| {
            expected.after(patience_in_tail(self.attempts.at(*slot), *expected)) <= self.now
        });
        overdue.or_else(|| tail.last()).map(|(_, slot)| *slot)
    }

    /// The best idle seat of another worker for the task of an attempt.
    pub(crate) fn idle_for(&self, slot: u32) -> Option<SeatId> {
        let attempt = self.attempts.at(slot);
        let group = &self.jobs[&attempt.job].groups[usize::from(attempt.group)];
        if group.inputs.is_some() {
            let task = TaskId { job: attempt.job, group: attempt.group, index: attempt.index };
            if let Some(seat) = self.idle_holder_beside(task, attempt.worker, HOLDERS_SCAN_MAX) {
                return Some(seat);
            }
        }
        let shape = &self.shapes[group.shape];
        let named = self.classes.named(&shape.needs);
        let trouble = group.troubles.get(&attempt.index);
        let best = self.index.best(Tier::Idle, Prefer::Fast, &shape.classes, 0, |id| {
            let seat = &self.seats[id.0 as usize];
            let other = seat.worker != attempt.worker && trouble.is_none_or(|trouble| !trouble.avoids(seat.worker));
            other && seat.fits(&shape.needs, named) && self.tier(id) == Some(Tier::Idle)
        });
        best.map(|(seat, _)| seat)
    }

    /// Starts a second attempt if the seat should finish clearly before those that run. Of two that run, the one that should
    /// end later is called off for it.
    fn double(&mut self, id: JobId, at: u16, slot: u32, seat: SeatId, effects: &mut Vec<Effect>) -> bool {
        let attempt = self.attempts.at(slot);
        let (index, twin) = (attempt.index, attempt.twin);
        let group = &self.jobs[&id].groups[usize::from(at)];
        let worker = self.seats[seat.0 as usize].worker;
        let busy = |slot: u32| self.attempts.at(slot).worker == worker;
        let avoided = group.troubles.get(&index).is_some_and(|trouble| trouble.avoids(worker));
        let avoided = avoided || !self.jobs[&id].admits(worker);
        if avoided || busy(slot) || twin.is_some_and(busy) {
            return false;
        }
        let Some(offered) = self.seats[seat.0 as usize].runtime(group.plan.needs.runtime) else { return false };
        let Some(predicted) = self.programs.predict(group.program, offered.speed) else { return false };
        let moving = self.moving(group, worker).time;
        let finish = self.now.after(moving.millis()).after(predicted.millis()).after(SAVING_MIN);
        let (mut first, mut second) = (slot, twin);
        if let Some(other) = twin.filter(|other| self.likely_end(*other) < self.likely_end(slot)) {
            (first, second) = (other, Some(slot));
        }
        let task = TaskId { job: id, group: at, index };
        let before = |slot: u32| self.attempts.at(slot).replaced;
        let replaced = second.map_or(before(first), |second| before(first).max(before(second)) + 1);
        if finish >= self.likely_end(first) || replaced > REPLACED_MAX || !self.can_pay(seat, task) {
            return false;
        }
        if let Some(second) = second {
            self.call_off(second, effects);
        }
        let placement = Placement { seat, task, why: Why::Second, twin: Some(first), price: None };
        let Ok(new) = self.assign(&placement, effects) else { return false };
        self.attempts.at_mut(new).replaced = replaced;
        self.list_sooner(id, at, first, new);
        true
    }

    /// Of two attempts at one task, the one that should end first stands in the tail for both.
    fn list_sooner(&mut self, id: JobId, at: u16, first: u32, new: u32) {
        let (before, after) = (self.attempts.at(first).expected, self.attempts.at(new).expected);
        let group = &mut self.jobs.get_mut(&id).expect("it was just placed").groups[usize::from(at)];
        if let (Some(tail), Some(before), Some(after)) = (&mut group.tail, before, after) {
            tail.remove(&(before, first));
            tail.insert((after, new));
        }
    }

    /// When an attempt will probably end; what is overdue may take as long again.
    fn likely_end(&self, slot: u32) -> Millis {
        let overdue = self.now.after(self.now.since(self.attempts.at(slot).placed));
        self.expect(slot).filter(|expected| *expected > self.now).unwrap_or(overdue)
    }

    /// Calls off an attempt that another one overtakes.
    pub(crate) fn call_off(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        self.learn_from_overtaken(slot);
        let worker = self.attempts.at(slot).worker;
        self.cancel_attempt(slot, effects);
        self.await_word(worker);
    }

    /// An attempt runs far past its prediction: start a second one if someone suitable is idle, or look again later.
    pub(crate) fn suspect(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        let attempt = self.attempts.at(slot);
        if attempt.is_audit() {
            let elapsed = self.now.since(attempt.placed);
            self.attempts.at_mut(slot).suspect_at = self.now.after(Millis(elapsed.0.max(1000)));
            return;
        }
        rules(self.jobs[&attempt.job].market.mode).late(self, slot, effects);
    }

    /// Starts a second attempt beside one that is overdue.
    pub(crate) fn double_if_overdue(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        let attempt = self.attempts.at(slot);
        let (id, at, elapsed) = (attempt.job, attempt.group, self.now.since(attempt.placed));
        let ending = self.jobs[&id].groups[usize::from(at)].tail.is_some();
        let Some(expected) = self.expect(slot).filter(|_| ending || attempt.twin.is_none()) else {
            self.attempts.at_mut(slot).suspect_at = self.now.after(Millis(elapsed.0.max(1000)));
            return;
        };
        let span = expected.since(attempt.placed);
        let patience = match ending {
            true => patience_in_tail(attempt, expected),
            false => span.after(PATIENCE_MIN).after(attempt.moving.patience()),
        };
        let attempt = self.attempts.at_mut(slot);
        attempt.expected.get_or_insert(expected);
        attempt.suspect_at = expected.after(patience);
        if attempt.suspect_at <= self.now {
            attempt.suspect_at = self.now.after(patience.max(Millis(elapsed.0 / 4)));
            let Some(seat) = self.idle_for(slot) else { return };
            let overdue = self.now.since(expected);
            match self.leaves_to_faster(id, at, seat).filter(|theirs| ending && overdue < *theirs) {
                // Whoever is faster should be free soon.
                Some(theirs) => self.attempts.at_mut(slot).suspect_at = self.now.after(theirs),
                None => {
                    self.double(id, at, slot, seat, effects);
                }
            }
        }
    }
}

/// How long past its expected end one of a group's last attempts is waited for, when others have nothing else to do.
fn patience_in_tail(attempt: &Attempt, expected: Millis) -> Millis {
    Millis(expected.since(attempt.placed).0 / 8 + 100).after(attempt.moving.patience())
}
