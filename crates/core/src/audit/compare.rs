//! Comparing answers: bit by bit where the task's check is exact, else by a worker that may read both.
use alloc::vec::Vec;
use gleaner_wire::check::{Check, Compared};
use gleaner_wire::{AttemptId, Output, TaskId, WorkerId};

use super::claim::{Answer, Juror, Question};
use crate::effect::Effect;
use crate::state::Core;

/// A comparison that is not made yet.
enum Open {
    /// What it comes to, known without looking.
    Known(Compared),
    /// These have to be looked at.
    Asked([Output; 2]),
}

impl Core {
    /// Makes the next comparison of an audit that is missing. `false` if none is, or nobody is left to make it.
    pub(crate) fn compare_next(&mut self, id: AttemptId, effects: &mut Vec<Effect>) -> bool {
        loop {
            let Some((question, open)) = self.next_comparison(id) else { return false };
            let known = match open {
                Open::Known(compared) => compared,
                Open::Asked(results) => match self.ask_to_compare(id, question, results, effects) {
                    true => return true,
                    // With nobody left to look, an answer cannot be held against anybody.
                    false => Compared::APART,
                },
            };
            let Some(audit) = self.audit_of(id) else { return false };
            match question {
                Question::Compute => unreachable!("a comparison is none"),
                Question::Compare(of) => {
                    let answer = audit.answers.get_mut(&of).expect("it was just seen");
                    answer.agrees = Some(known);
                }
                Question::CompareWithRival(of) => {
                    let answer = audit.answers.get_mut(&of).expect("it was just seen");
                    answer.like_rival = Some(known.agrees);
                }
            }
        }
    }

    /// The next comparison that is missing: each answer with the claim, and those that differ with the first of them.
    fn next_comparison(&mut self, id: AttemptId) -> Option<(Question, Open)> {
        let check = self.check_of_task(self.claims.all.get(&id)?);
        let claim = self.claims.all.get_mut(&id)?;
        let ours = claim.output;
        let audit = claim.audit.as_deref_mut()?;
        if let Some((worker, answer)) = audit.answers.iter().find(|(_, answer)| answer.agrees.is_none()) {
            return Some((Question::Compare(*worker), open(check, Some(ours), answer.output)));
        }
        let differs = |(_, answer): &(&WorkerId, &Answer)| !answer.is_for() && answer.like_rival.is_none();
        let (worker, answer) = audit.answers.iter().find(differs)?;
        let (worker, theirs) = (*worker, answer.output);
        let rival = *audit.rival.get_or_insert(worker);
        if rival == worker {
            return Some((Question::CompareWithRival(worker), Open::Known(Compared::SAME)));
        }
        let first = audit.answers.get(&rival)?.output;
        Some((Question::CompareWithRival(worker), open(check, first, theirs)))
    }

    /// Has somebody look at two results: another juror than the one whose answer it is, if there is one.
    fn ask_to_compare(
        &mut self,
        id: AttemptId,
        question: Question,
        results: [Output; 2],
        effects: &mut Vec<Effect>,
    ) -> bool {
        let claim = &self.claims.all[&id];
        let audit = claim.audit.as_ref().expect("the caller has seen it");
        let task = TaskId { job: claim.attempt.job, group: claim.attempt.group, index: claim.attempt.index };
        let of = match question {
            Question::Compute => unreachable!("a comparison is none"),
            Question::Compare(of) | Question::CompareWithRival(of) => of,
        };
        let mut jurors: Vec<Juror> =
            audit.jurors.iter().filter(|juror| !audit.gone.contains(&juror.worker)).copied().collect();
        jurors.sort_by_key(|juror| juror.worker == of);
        for juror in jurors {
            if let Some(attempt) = self.ask(id, juror, task, Some(results), effects) {
                let audit = self.audit_of(id).expect("it was just seen");
                audit.asked.insert(attempt, (juror.worker, question));
                return true;
            }
        }
        false
    }
}

fn open(check: Check, ours: Option<Output>, theirs: Option<Output>) -> Open {
    match (check, ours, theirs) {
        (_, ours, theirs) if ours == theirs => Open::Known(Compared::SAME),
        (Check::Numeric { .. } | Check::Image { .. } | Check::Program { .. }, Some(ours), Some(theirs)) => {
            Open::Asked([ours, theirs])
        }
        (Check::None | Check::Exact | Check::Numeric { .. } | Check::Image { .. } | Check::Program { .. }, _, _) => {
            Open::Known(Compared::APART)
        }
    }
}
