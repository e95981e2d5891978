//! Attempts ended on a worker.
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::{AttemptId, Cause, Check, DETAIL_BYTES_MAX, Finished, Micros, Outcome, Output, WorkerId};

use crate::attempt::{Attempt, Why};
use crate::audit::{Claim, Delivered, Verdict, is_answer};
use crate::effect::Effect;
use crate::market::mode::rules;
use crate::pool::{Standing, Trigger};
use crate::state::Core;

/// A run this many times longer than predicted, and longer by this much, counts against the worker: what takes a millisecond
/// takes twenty where a machine's owner does something else for a moment.
const OVERRUN: u64 = 4;
const OVERRUN_MIN: Micros = Micros(250_000);

impl Core {
    pub(crate) fn on_attempts_finished(
        &mut self,
        worker: WorkerId,
        batch: u64,
        results: Vec<Finished>,
        effects: &mut Vec<Effect>,
    ) {
        let mut announced = None;
        self.hear(worker);
        for Finished { attempt, ran, outcome } in results {
            let Some(slot) = self.attempts.slot(attempt) else {
                self.totals.results_late += 1;
                continue;
            };
            let at = self.attempts.at(slot);
            if at.worker != worker {
                self.show_out(worker, "it sent a result for another worker's attempt".into(), effects);
                continue;
            }
            if announced.replace(at.job) != Some(at.job) {
                effects.push(Effect::AnnounceJob { job: at.job });
            }
            let audit = at.is_audit();
            let result =
                Delivered { claimed: ran, ran: ran.min(Micros(self.now.since(at.placed).micros().0 + 1000)), batch };
            match outcome {
                Outcome::Done(output) if audit => self.audit_answered(slot, Some(output), result, effects),
                Outcome::Failed { cause, .. } if audit && is_answer(cause) => {
                    self.audit_answered(slot, None, result, effects)
                }
                Outcome::Done(output) => self.finish(slot, output, result, effects),
                Outcome::Failed { cause, detail } => {
                    // Only a check says that a result was wrong.
                    let cause = if cause == Cause::Refuted { Cause::DeviceFault } else { cause };
                    self.fail(slot, cause, clipped(&detail), result.ran, effects);
                }
                Outcome::Cancelled if at.notice.is_some() => self.move_attempt(slot, result.ran, effects),
                Outcome::Cancelled => {
                    self.fail(slot, Cause::RefusedByOwner, "the worker stopped it".into(), result.ran, effects);
                }
            }
        }
    }

    /// The first result of a task: it is learned from, and paid and passed on once it is checked; a second attempt is
    /// called off.
    fn finish(&mut self, slot: u32, output: Output, result: Delivered, effects: &mut Vec<Effect>) {
        let (id, ran) = (self.attempts.id(slot), result.ran);
        self.cover_run(slot, ran);
        let attempt = self.release_attempt(slot, effects);
        let loser = attempt.twin.map(|twin| self.attempts.at(twin).clone());
        if let Some(twin) = attempt.twin {
            self.call_off(twin, effects);
        }
        if let Some(loser) = loser {
            rules(self.jobs[&attempt.job].market.mode).answered(self, &attempt, &loser);
        }
        self.judge_good(&attempt, ran, effects);
        if !attempt.resumed {
            self.learn(&attempt, ran, effects);
            self.learn_holder(&attempt, ran);
        }
        self.follow_engine(&attempt);
        let checked = self.is_checked(&attempt);
        let provider = self.provider(attempt.worker);
        let claim = Claim::new(attempt, provider, id, output, result, self.now);
        if checked {
            self.take_down_claim(id, claim);
        } else {
            self.pay_claim(id, claim, Verdict::NotAsked, effects);
        }
    }

    /// Whether the result of an attempt is checked before it is paid.
    pub(crate) fn is_checked(&self, attempt: &Attempt) -> bool {
        let group = &self.jobs[&attempt.job].groups[usize::from(attempt.group)];
        self.params.checks && group.plan.spec.check != Check::None && !self.is_managed(attempt.worker)
    }

    fn judge_good(&mut self, attempt: &Attempt, ran: Micros, effects: &mut Vec<Effect>) {
        let group = &self.jobs[&attempt.job].groups[usize::from(attempt.group)];
        let accusers = group.troubles.get(&attempt.index).map(|trouble| trouble.faults.clone()).unwrap_or_default();
        let worker = &mut self.workers[attempt.worker.0 as usize];
        worker.done += 1;
        worker.reliability.finished();
        if attempt.why == Why::Test {
            (worker.standing, worker.trouble) = (Standing::Good, 0);
            self.trigger(attempt.worker, Trigger::PassedTest, effects);
        }
        let overran =
            |predicted: Micros| ran.0 > predicted.0.saturating_mul(OVERRUN) && ran.0 - predicted.0 > OVERRUN_MIN.0;
        if attempt.predicted.is_some_and(overran) {
            self.add_trouble(attempt.worker, 2, effects);
        }
        // Whoever called the program faulty was wrong.
        for (accuser, _) in accusers {
            self.add_trouble(accuser, 2, effects);
        }
    }

    pub(crate) fn learn(&mut self, attempt: &Attempt, ran: Micros, effects: &mut Vec<Effect>) {
        let group = &self.jobs[&attempt.job].groups[usize::from(attempt.group)];
        let (program, runtime) = (group.program, group.plan.needs.runtime);
        let Some(offered) = self.seats[attempt.seat.0 as usize].runtime(runtime) else { return };
        let speed = offered.speed;
        let learned = self.programs.learn(program, speed, ran);
        if learned != speed {
            self.set_speed(attempt.seat, runtime, learned);
            self.compare_with_test(attempt.seat, runtime, learned, effects);
        }
    }

    pub(crate) fn remember(&mut self, attempt: &Attempt, output: Output, ran: Micros) {
        let group = &self.jobs[&attempt.job].groups[usize::from(attempt.group)];
        if group.uses_memo() && ran >= self.params.memo_micros_min {
            let key = self.memo_key(attempt.job, attempt.group, attempt.index);
            self.memo.remember(key, output, self.params.memo_entries_max);
        }
    }
}

impl Core {
    /// An attempt has saved how far it is: whoever tries the task next goes on from there.
    pub(crate) fn on_saved(
        &mut self,
        worker: WorkerId,
        attempt: AttemptId,
        checkpoint: Output,
        effects: &mut Vec<Effect>,
    ) {
        self.hear(worker);
        let Some(slot) = self.attempts.slot(attempt) else { return };
        let at = self.attempts.at_mut(slot);
        at.begun |= at.worker == worker;
        let (job, group, index) = (at.job, usize::from(at.group), at.index);
        let theirs = at.worker == worker && !at.is_audit();
        at.saved |= theirs;
        if theirs
            && let Some(state) = self.jobs.get_mut(&job)
            && state.groups[group].checkpoints.insert(index, checkpoint).is_none()
        {
            effects.push(Effect::AnnounceJob { job });
        }
    }
}

fn clipped(text: &str) -> String {
    let mut end = text.len().min(DETAIL_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].into()
}
