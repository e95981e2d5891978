//! What follows a failed attempt: who pays, what it says about the worker, and where the task goes.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::{AttemptId, Cause, JobId, Micros, WorkerId};

use crate::attempt::{Attempt, Why};
use crate::blame::{Consequence, Next, Payer, STOPPED_EARLY, consequence};
use crate::effect::Effect;
use crate::job::{FAILURES_KEPT, Failure, Job, Phase, Trouble};
use crate::market::counts;
use crate::market::mode::{Ended, rules};
use crate::pool::{Standing, Trigger};
use crate::state::Core;

/// Workers that must call an input bad before the job ends; one alone could be lying, and nothing was run.
const BAD_INPUT_WORKERS: u32 = 2;

impl Core {
    /// Fails an attempt of a worker that is not there to be blamed or paid, if it still runs.
    pub(crate) fn fail_by_id(&mut self, id: AttemptId, cause: Cause, detail: &str, effects: &mut Vec<Effect>) {
        if let Some(slot) = self.attempts.slot(id) {
            self.fail_quietly(slot, cause, detail.into(), Micros(0), effects);
        }
    }

    /// Fails an attempt that its worker reported.
    pub(crate) fn fail(&mut self, slot: u32, cause: Cause, detail: String, ran: Micros, effects: &mut Vec<Effect>) {
        let at = self.attempts.at(slot);
        let (worker, test) = (at.worker, at.why == Why::Test);
        let group = &self.jobs[&at.job].groups[usize::from(at.group)];
        // What broke somebody else's device before is more likely the program's doing.
        let first = group.troubles.get(&at.index).is_none_or(|trouble| trouble.failures == 0);
        let trouble = if first { self.consequence(at, cause).trouble } else { 0 };
        self.fail_quietly(slot, cause, detail, ran, effects);
        if test && trouble > 0 {
            self.workers[worker.0 as usize].standing = Standing::Disqualified;
            self.trigger(worker, Trigger::FailedTest, effects);
        } else if test {
            self.postpone_test(worker);
        } else if trouble > 0 {
            self.add_trouble(worker, trouble, effects);
        }
    }

    fn fail_quietly(&mut self, slot: u32, cause: Cause, detail: String, ran: Micros, effects: &mut Vec<Effect>) {
        if self.attempts.at(slot).is_audit() {
            let id = self.attempts.id(slot);
            let attempt = self.release_attempt(slot, effects);
            self.doubt_holder(&attempt);
            self.audit_unanswered(id, &attempt, effects);
            return;
        }
        let id = self.attempts.id(slot);
        if self.consequence(self.attempts.at(slot), cause).payer == Payer::Requester {
            self.cover_run(slot, ran);
        }
        let attempt = self.release_attempt(slot, effects);
        self.doubt_holder(&attempt);
        let follows = self.consequence(&attempt, cause);
        if follows.payer == Payer::Requester {
            self.owe_for_fault(&attempt, id, cause, ran);
        }
        if counts(cause) {
            self.workers[attempt.worker.0 as usize].reliability.failed();
        }
        rules(self.jobs[&attempt.job].market.mode).failed(self, &attempt, Ended { cause, ran }, effects);
        self.take_down_failure(&attempt, id, cause, detail, effects);
        if !self.jobs[&attempt.job].is_running() {
            return;
        }
        // What was saved, perhaps by a worker that lies, may be why: the next attempt begins anew.
        if matches!(cause, Cause::ProgramFault | Cause::BadInput) {
            self.drop_parts(attempt.job, attempt.group, attempt.index);
        }
        // What went wrong counts even while another attempt at the task goes on; otherwise the two could fail in turn for
        // ever.
        if self.note_trouble(&attempt, cause, follows.next) {
            self.end_with_fault(&attempt, cause, effects);
        } else if attempt.twin.is_none() {
            self.send_back(&attempt, cause, effects);
        }
    }

    /// Counts a failed attempt and remembers what went wrong.
    pub(crate) fn take_down_failure(
        &mut self,
        attempt: &Attempt,
        id: AttemptId,
        cause: Cause,
        detail: String,
        effects: &mut Vec<Effect>,
    ) {
        let early = self.consequence(attempt, cause) == STOPPED_EARLY;
        self.totals.attempts_failed[cause as usize] += 1;
        self.workers[attempt.worker.0 as usize].failed += 1;
        let job = self.jobs.get_mut(&attempt.job).expect("an attempt's job is there");
        job.retried += 1;
        job.tallies.entry(attempt.worker).or_default().failed += 1;
        if job.failures.len() == FAILURES_KEPT {
            job.failures.pop_front();
        }
        let (group, index, worker) = (attempt.group, attempt.index, attempt.worker);
        job.failures.push_back(Failure { group, index, attempt: id, worker, cause, early, detail, at: self.now });
        effects.push(Effect::AnnounceFailure { job: attempt.job, attempt: id, cause });
    }

    fn consequence(&self, attempt: &Attempt, cause: Cause) -> Consequence {
        let limit = self.jobs[&attempt.job].groups[usize::from(attempt.group)].plan.spec.limits.time_ms;
        match cause == Cause::TimeLimit && attempt.time_ms < limit {
            true => STOPPED_EARLY,
            false => consequence(cause),
        }
    }

    /// Remembers where a task failed and why. Says whether enough have agreed on its fault, or have failed at all, to end
    /// the job.
    pub(crate) fn note_trouble(&mut self, attempt: &Attempt, cause: Cause, next: Next) -> bool {
        let (agreed_at, failures_max) = (self.agreement(cause), self.params.failures_per_task_max);
        let before = self.jobs[&attempt.job].groups[usize::from(attempt.group)].troubles.get(&attempt.index);
        let faults = before.into_iter().flat_map(|trouble| &trouble.faults).filter(|(_, fault)| *fault == cause);
        // One owner with several machines is one witness.
        let witnesses = faults.map(|(worker, _)| *worker).chain([attempt.worker]).map(|worker| self.owner(worker));
        let witnesses = witnesses.collect::<BTreeSet<_>>().len() as u32;
        let job = self.jobs.get_mut(&attempt.job).expect("a failed attempt's job is there");
        let group = &mut job.groups[usize::from(attempt.group)];
        let trouble = group.troubles.entry(attempt.index).or_default();
        trouble.failures += 1;
        let mut agreed = false;
        match next {
            Next::Elsewhere => trouble.avoid(attempt.worker, true),
            Next::NeverBack => trouble.avoid(attempt.worker, false),
            Next::WithFullTime => {
                trouble.full_time = true;
                trouble.avoid(attempt.worker, true);
            }
            Next::UntilAgreed => {
                trouble.avoid(attempt.worker, false);
                trouble.faults.push((attempt.worker, cause));
                agreed = witnesses >= agreed_at;
            }
        }
        agreed || trouble.failures >= failures_max
    }

    /// Has a task go to others than these, as long as there are any.
    pub(crate) fn pass_over(&mut self, attempt: &Attempt, workers: &[WorkerId]) {
        if workers.is_empty() {
            return;
        }
        let job = self.jobs.get_mut(&attempt.job).expect("the caller has seen it");
        let trouble = job.groups[usize::from(attempt.group)].troubles.entry(attempt.index).or_default();
        workers.iter().for_each(|worker| trouble.avoid(*worker, true));
    }

    /// Puts a failed task back into its queue, or ends the job if it is at fault and nobody is left to try it.
    pub(crate) fn send_back(&mut self, attempt: &Attempt, cause: Cause, effects: &mut Vec<Effect>) {
        let (id, at, index) = (attempt.job, attempt.group, attempt.index);
        let job = self.jobs.get_mut(&id).expect("a failed attempt's job is there");
        let group = &mut job.groups[usize::from(at)];
        group.returned.insert(index);
        let faulty = group.troubles.get(&index).is_some_and(|trouble| !trouble.faults.is_empty());
        self.opened.insert((id, at));
        if faulty && !self.someone_else_can(id, at, index) {
            self.end_with_fault(attempt, cause, effects);
        } else {
            self.relieve(id, at, index);
        }
    }

    fn agreement(&self, cause: Cause) -> u32 {
        if cause == Cause::BadInput { BAD_INPUT_WORKERS } else { self.params.fault_workers }
    }

    pub(crate) fn end_with_fault(&mut self, attempt: &Attempt, cause: Cause, effects: &mut Vec<Effect>) {
        let (job, at, index) = (attempt.job, attempt.group, attempt.index);
        let state = &self.jobs[&job];
        let failures = state.groups[usize::from(at)].troubles.get(&index).map_or(0, |trouble| trouble.failures);
        let last = state.failures.back().map_or("", |failure| failure.detail.as_str());
        let reason = match failures {
            1 => format!("its one attempt failed: {last}"),
            _ => format!("{failures} attempts failed, the last one: {last}"),
        };
        self.pay_for_fault(job, at, index, cause);
        self.end_job(job, Phase::Failed { task: Some((at, index)), cause: Some(cause), reason }, effects);
    }

    /// Whether any worker that is here could still take this element.
    fn someone_else_can(&self, job: JobId, at: u16, index: u32) -> bool {
        let group = &self.jobs[&job].groups[usize::from(at)];
        let named = self.classes.named(&group.plan.needs);
        let trouble = group.troubles.get(&index);
        let managed_too = rules(self.jobs[&job].market.mode).counts_managed();
        self.seats.iter().any(|seat| {
            seat.counted
                && (managed_too || !seat.managed)
                && self.jobs[&job].admits(seat.worker)
                && trouble.is_none_or(|trouble| !trouble.avoids(seat.worker))
                && seat.fits(&group.plan.needs, named)
        })
    }

    /// If only workers are left that merely went away while they had this element, they may have it again; and if only
    /// those are left whose results cannot be checked, they are better than nobody.
    fn relieve(&mut self, job: JobId, at: u16, index: u32) {
        if self.someone_else_can(job, at, index) {
            return;
        }
        self.forgive(job, at, index);
        if !self.someone_else_can(job, at, index) {
            self.unbar(job);
        }
    }

    /// Lets those have an element again that merely went away while they had it, and looks for a place for it. Says whether
    /// there are any.
    pub(crate) fn forgive(&mut self, job: JobId, at: u16, index: u32) -> bool {
        let state = self.jobs.get_mut(&job).expect("the caller has seen it");
        let Some(trouble) = state.groups[usize::from(at)].troubles.get_mut(&index) else { return false };
        let before = trouble.avoided.len();
        trouble.avoided.retain(|(_, forgivable)| !forgivable);
        let forgiven = trouble.avoided.len() < before;
        if forgiven {
            self.opened.insert((job, at));
        }
        forgiven
    }

    /// Lets everybody work on a job again whose results could not be checked. Says whether there is anybody.
    pub(crate) fn unbar(&mut self, job: JobId) -> bool {
        let state = self.jobs.get_mut(&job).expect("the caller has seen it");
        let unbarred = !core::mem::take(&mut state.barred).is_empty();
        if unbarred {
            self.look_again(job);
        }
        unbarred
    }

    /// Whether nobody who may work on a job could take what waits of it.
    fn waits_for_nobody(&self, job: &Job) -> bool {
        let waiting = (0..).zip(&job.groups).filter_map(|(at, group)| Some((at, group.peek(None)?)));
        waiting.into_iter().any(|(at, index)| !self.someone_else_can(job.id, at, index))
    }

    /// Looks for places for all that waits of a job: those who may have it now are idle, and do not ask.
    pub(crate) fn look_again(&mut self, job: JobId) {
        let waiting = (0..).zip(&self.jobs[&job].groups).filter(|(_, group)| group.ready() > 0);
        self.opened.extend(waiting.map(|(at, _)| (job, at)));
    }

    /// A worker is gone: what waited for others to take it may now depend on those it avoided.
    pub(crate) fn relieve_all(&mut self) {
        // Those who could be checked may be gone.
        let running = self.jobs.values().filter(|job| job.is_running() && !job.barred.is_empty());
        let barring: Vec<JobId> = running.filter(|job| self.waits_for_nobody(job)).map(|job| job.id).collect();
        for job in barring {
            self.unbar(job);
        }
        let waiting = self.jobs.values().filter(|job| job.is_running()).flat_map(|job| {
            (0..).zip(&job.groups).flat_map(move |(at, group)| {
                let troubled = group.troubles.iter().filter(|(index, _)| group.returned.contains(index));
                let avoiding =
                    troubled.filter(|(_, trouble)| trouble.avoided.iter().any(|(_, forgivable)| *forgivable));
                avoiding.map(move |(index, _)| (job.id, at, *index))
            })
        });
        let waiting: Vec<_> = waiting.collect();
        for (job, at, index) in waiting {
            self.relieve(job, at, index);
            self.opened.insert((job, at));
        }
    }
}

impl Trouble {
    fn avoid(&mut self, worker: WorkerId, forgivable: bool) {
        match self.avoided.iter_mut().find(|(avoided, _)| *avoided == worker) {
            Some((_, before)) => *before = *before && forgivable,
            None => self.avoided.push((worker, forgivable)),
        }
    }
}
