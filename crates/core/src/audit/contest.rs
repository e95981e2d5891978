//! What is kept of contested results for people to see, as long as their job is known: who answered what, and who was wrong.
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::api::{ContestView, ContestedAnswer};
use gleaner_wire::{Amount, AttemptId, WorkerId};

use super::Verdict;
use crate::state::Core;

/// Contested results that are kept of a job; the newest.
const CONTESTS_KEPT: usize = 64;
/// Answers that are kept of each.
const ANSWERS_KEPT: usize = 32;

impl Core {
    /// Takes down a claim that was voted on, with those who were found wrong about it.
    pub(crate) fn take_down_contest(&mut self, id: AttemptId, verdict: Verdict, wrong: &[WorkerId], takes: Amount) {
        let claim = &self.claims.all[&id];
        let Some(audit) = claim.audit.as_ref().filter(|audit| audit.vote.is_some()) else { return };
        let of = claim.attempt.job;
        let job = &self.jobs[&of];
        let name = |worker: WorkerId| -> String { self.workers[worker.0 as usize].offer.name.clone() };
        let answers = audit.answers.iter().filter_map(|(worker, answer)| {
            Some(ContestedAnswer {
                worker: name(*worker),
                computed: answer.output.map(|output| output.hash()),
                side: answer.side?,
                asked_last: audit.referees.iter().any(|referee| referee.worker == *worker),
                wrong: wrong.contains(worker),
            })
        });
        let contest = ContestView {
            task: self.task_name(job, claim.attempt.group, claim.attempt.index),
            attempt: id,
            worker: name(claim.attempt.worker),
            delivered: claim.output.hash(),
            verdict,
            answers: answers.take(ANSWERS_KEPT).collect(),
            polls: audit.polls.iter().map(|poll| poll.votes.clone()).collect::<Vec<_>>(),
            wrong: wrong.contains(&claim.attempt.worker),
            takes: if wrong.is_empty() { Amount::ZERO } else { takes },
            at: self.now,
        };
        let job = self.jobs.get_mut(&of).expect("it was just read");
        if job.contests.len() >= CONTESTS_KEPT {
            job.contests.pop_front();
        }
        job.contests.push_back(contest);
    }
}
