//! Leases and other deadlines. One alarm for each worker, at the earliest of what its attempts wait for.
use alloc::vec::Vec;
use gleaner_wire::{Cause, JobId, Millis, State, WorkerId};

use crate::alarms::Alarm;
use crate::effect::Effect;
use crate::job::Phase;
use crate::place::ShapeId;
use crate::state::Core;

/// What is due for an attempt.
enum Due {
    Nothing,
    Lapsed(&'static str),
    Suspect,
    Uncovered,
    NotYielded,
}

impl Core {
    /// Does what is due.
    pub(crate) fn ring_alarms(&mut self, effects: &mut Vec<Effect>) {
        while let Some(alarms) = self.alarms.ring(self.now) {
            for alarm in alarms {
                match alarm {
                    Alarm::Worker(worker) => self.on_worker_alarm(worker, effects),
                    Alarm::Job(job) => self.on_job_deadline(job, effects),
                    Alarm::Shape(shape) => self.on_revisit(shape),
                    Alarm::Auction(auction) => self.on_auction_alarm(auction, effects),
                    Alarm::Demand => self.on_demand_due(effects),
                }
            }
        }
    }

    fn on_revisit(&mut self, shape: ShapeId) {
        if self.shapes[shape].revisit.is_some_and(|at| at <= self.now) {
            self.shapes[shape].revisit = None;
            let waiting = self.shapes[shape].queues.values().flatten().copied();
            self.opened.extend(waiting);
        }
    }

    fn on_job_deadline(&mut self, id: JobId, effects: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get(&id).filter(|job| !job.has_ended() && job.deadline <= self.now) else { return };
        let left = job.tasks - job.done;
        let reason = alloc::format!("its time limit has passed with {left} tasks left; raise budget.time_max");
        self.end_job(id, Phase::Failed { task: None, cause: None, reason }, effects);
    }

    fn on_worker_alarm(&mut self, id: WorkerId, effects: &mut Vec<Effect>) {
        if self.workers[id.0 as usize].alarm.is_none_or(|at| at > self.now) {
            return;
        }
        self.workers[id.0 as usize].alarm = None;
        let held = self.workers[id.0 as usize].attempts.iter().map(|slot| self.attempts.id(*slot));
        let held: Vec<_> = held.collect();
        let mut lapsed = false;
        for attempt in held {
            let Some(slot) = self.attempts.slot(attempt) else { continue };
            match self.due(slot) {
                Due::Nothing => {}
                Due::Lapsed(why) => {
                    lapsed = true;
                    effects.push(Effect::CancelAttempt { worker: id, attempt });
                    self.fail_by_id(attempt, Cause::WorkerLeft, why, effects);
                }
                Due::Suspect => self.suspect(slot, effects),
                Due::Uncovered => self.cover(slot, effects),
                Due::NotYielded => self.take_away(attempt, effects),
            }
        }
        if lapsed {
            self.add_trouble(id, 1, effects);
            self.await_word(id);
        }
        if self.workers[id.0 as usize].silent_until.is_some_and(|until| until <= self.now) {
            self.hear(id);
        }
        let worker = &self.workers[id.0 as usize];
        if worker.state == State::Probation && worker.takes_work(self.now) {
            self.hungry.extend(worker.seats.iter().copied());
        }
        self.test_next(id, effects);
        self.reset_alarm(id);
    }

    fn due(&self, slot: u32) -> Due {
        let attempt = self.attempts.at(slot);
        if attempt.lease <= self.now {
            Due::Lapsed("its lease lapsed: the worker did not renew it")
        } else if attempt.deadline <= self.now {
            Due::Lapsed("the worker did not report it in time")
        } else if attempt.notice.is_some_and(|notice| notice.by <= self.now) {
            Due::NotYielded
        } else if attempt.uncovered_at.is_some_and(|at| at <= self.now) {
            Due::Uncovered
        } else if attempt.suspect_at <= self.now {
            Due::Suspect
        } else {
            Due::Nothing
        }
    }

    /// Makes sure that the worker's alarm rings by this time.
    pub(crate) fn alarm_worker_by(&mut self, id: WorkerId, at: Millis) {
        if self.workers[id.0 as usize].alarm.is_some_and(|set| set <= at) {
            return;
        }
        let rings = self.alarms.set(at, Alarm::Worker(id));
        self.workers[id.0 as usize].alarm = Some(rings);
    }

    /// Sets the worker's alarm to the earliest of what it waits for.
    pub(crate) fn reset_alarm(&mut self, id: WorkerId) {
        let worker = &mut self.workers[id.0 as usize];
        worker.alarm = None;
        let attempts = worker.attempts.iter().map(|slot| self.attempts.at(*slot));
        let wakes = attempts.map(|attempt| attempt.wakes_at());
        let test = (worker.state == State::Probation && worker.test_at > self.now).then_some(worker.test_at);
        let silent = worker.silent_until.filter(|until| *until > self.now);
        let tests = worker.tests.next_due(worker.state);
        if let Some(at) = wakes.chain(test).chain(silent).chain(tests).min() {
            // An alarm in the past would ring for ever within one event.
            self.alarm_worker_by(id, at.max(self.now.after(Millis(1))));
        }
    }
}
