//! Parts of tasks: what attempts did that were moved after they had saved how far they were.
//!
//! Where results are checked, a checkpoint is worth something only if the result that was built on it is. So a part is set
//! aside, paid when its task's result is accepted, and not paid when that is refused. Where nothing is checked it is paid at once.
use alloc::vec::Vec;
use gleaner_wire::{Amount, AttemptId, JobId, Micros};
use serde::{Deserialize, Serialize};

use crate::attempt::Attempt;
use crate::audit::Verdict;
use crate::job::Job;
use crate::state::Core;

/// What one attempt did of a task before it was moved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    attempt: Attempt,
    id: AttemptId,
    ran: Micros,
    /// What it will be paid; set aside in its job.
    gross: Amount,
}

impl Job {
    /// What is set aside for parts.
    pub fn held_for_parts(&self) -> Amount {
        let parts = self.groups.iter().flat_map(|group| group.parts.values().flatten());
        Amount(parts.map(|part| part.gross.0).sum())
    }
}

impl Core {
    /// An attempt was moved and leaves a checkpoint: it is paid for what it ran, as soon as it is known to be worth that.
    pub(crate) fn owe_part(&mut self, attempt: &Attempt, id: AttemptId, ran: Micros) {
        if !self.is_checked(attempt) {
            return self.pay(attempt, id, ran, false, Verdict::NotAsked);
        }
        let gross = attempt.price.per_second_over(ran).min(attempt.hold);
        let job = self.jobs.get_mut(&attempt.job).expect("an attempt's job is there");
        job.held = Amount(job.held.0 + gross.0);
        let parts = job.groups[usize::from(attempt.group)].parts.entry(attempt.index).or_default();
        parts.push(Part { attempt: attempt.clone(), id, ran, gross });
    }

    /// The result of a task is accepted: so is what it was built on.
    pub(crate) fn pay_parts(&mut self, id: JobId, at: u16, index: u32, verdict: Verdict) {
        for part in self.take_parts(id, at, index) {
            self.pay(&part.attempt, part.id, part.ran, false, verdict);
        }
    }

    /// The result of a task is refused, or what was saved of it may be why it fails: the next attempt begins anew, and nothing is
    /// paid for what was before.
    pub(crate) fn drop_parts(&mut self, id: JobId, at: u16, index: u32) {
        let job = self.jobs.get_mut(&id).expect("the caller has seen it");
        job.groups[usize::from(at)].checkpoints.remove(&index);
        if !self.take_parts(id, at, index).is_empty() {
            self.money_came_back(id);
        }
    }

    /// A job ends: what nobody contests is paid, as results are.
    pub(crate) fn close_parts(&mut self, id: JobId) {
        let groups = (0..).zip(&self.jobs[&id].groups);
        let open: Vec<(u16, u32)> =
            groups.flat_map(|(at, group)| group.parts.keys().map(move |of| (at, *of))).collect();
        for (at, index) in open {
            self.pay_parts(id, at, index, Verdict::JobEnded);
        }
    }

    /// Takes the parts of a task off the list; what was set aside for them is free again.
    fn take_parts(&mut self, id: JobId, at: u16, index: u32) -> Vec<Part> {
        let job = self.jobs.get_mut(&id).expect("the caller has seen it");
        let parts = job.groups[usize::from(at)].parts.remove(&index).unwrap_or_default();
        job.held = Amount(job.held.0 - parts.iter().map(|part| part.gross.0).sum::<u64>());
        parts
    }
}
