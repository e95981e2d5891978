//! Faults of programs: what whoever reports one is paid, and when.
//!
//! It is a worker that says that a program fails, and paid on its word alone it would say so of any. So what it ran is set
//! aside. It is paid when as many owners as it takes have come to the same fault, or nobody is left who could try; if somebody
//! finishes the task, it is not. Where results are not checked either, it is paid at once.
use alloc::vec::Vec;
use gleaner_wire::{Amount, AttemptId, Cause, JobId, Micros};
use serde::{Deserialize, Serialize};

use crate::attempt::Attempt;
use crate::audit::Verdict;
use crate::job::Job;
use crate::state::Core;

/// What one attempt ran until it reported a fault.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reported {
    attempt: Attempt,
    id: AttemptId,
    cause: Cause,
    ran: Micros,
    /// What it will be paid; set aside in its job.
    gross: Amount,
}

impl Job {
    /// What is set aside for faults that others have not come to yet.
    pub fn held_for_faults(&self) -> Amount {
        let reported = self.groups.iter().flat_map(|group| group.reported.values().flatten());
        Amount(reported.map(|fault| fault.gross.0).sum())
    }
}

impl Core {
    /// An attempt says that its program is at fault: it is paid for what it ran once that is believed.
    pub(crate) fn owe_for_fault(&mut self, attempt: &Attempt, id: AttemptId, cause: Cause, ran: Micros) {
        let running = self.jobs[&attempt.job].is_running();
        if !self.is_checked(attempt) || !running {
            return self.pay(attempt, id, ran, false, Verdict::NotAsked);
        }
        let gross = attempt.price.per_second_over(ran).min(attempt.hold);
        let job = self.jobs.get_mut(&attempt.job).expect("an attempt's job is there");
        job.held = Amount(job.held.0 + gross.0);
        let reported = job.groups[usize::from(attempt.group)].reported.entry(attempt.index).or_default();
        reported.push(Reported { attempt: attempt.clone(), id, cause, ran, gross });
    }

    /// A task's fault is believed: whoever came to it is paid.
    pub(crate) fn pay_for_fault(&mut self, id: JobId, at: u16, index: u32, cause: Cause) {
        for fault in self.take_reported(id, at, index) {
            if fault.cause == cause {
                self.pay(&fault.attempt, fault.id, fault.ran, false, Verdict::NotAsked);
            }
        }
    }

    /// Somebody has finished a task, so that there was no fault.
    pub(crate) fn drop_faults(&mut self, id: JobId, at: u16, index: u32) {
        if !self.take_reported(id, at, index).is_empty() {
            self.money_came_back(id);
        }
    }

    /// A job ends for another reason: nobody will ever know.
    pub(crate) fn close_faults(&mut self, id: JobId) {
        let groups = (0..).zip(&self.jobs[&id].groups);
        let open: Vec<(u16, u32)> =
            groups.flat_map(|(at, group)| group.reported.keys().map(move |of| (at, *of))).collect();
        open.into_iter().for_each(|(at, index)| drop(self.take_reported(id, at, index)));
    }

    /// Takes what was reported of a task off the list; what was set aside for it is free again.
    fn take_reported(&mut self, id: JobId, at: u16, index: u32) -> Vec<Reported> {
        let job = self.jobs.get_mut(&id).expect("the caller has seen it");
        let reported = job.groups[usize::from(at)].reported.remove(&index).unwrap_or_default();
        job.held = Amount(job.held.0 - reported.iter().map(|fault| fault.gross.0).sum::<u64>());
        reported
    }
}
