//! Comparing answers: bit by bit where the task's check is exact, else by a worker that may read both.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use gleaner_wire::check::{Check, Compared};
use gleaner_wire::receipt::{RIVALS_MAX, Side};
use gleaner_wire::{AttemptId, Output, TaskId};

use super::ask::Owner;
use super::claim::{Juror, Question};
use crate::effect::Effect;
use crate::proof::{COMPARE_LOT, Mark};
use crate::state::Core;

/// A comparison that is not made yet.
enum Open {
    /// What it comes to, known without looking.
    Known(Compared),
    /// These have to be looked at.
    Asked([Output; 2]),
}

/// What a comparison has come to.
#[derive(Clone, Copy)]
struct Found {
    compared: Compared,
    /// Whether it needed no looking, or two owners have looked and found the same.
    seconded: bool,
}

impl Core {
    /// Makes the next comparison of an audit that is missing. `false` if none is, or nobody is left to make it.
    pub(crate) fn compare_next(&mut self, id: AttemptId, effects: &mut Vec<Effect>) -> bool {
        loop {
            let Some((question, open)) = self.next_comparison(id) else { return false };
            let found = match open {
                Open::Known(compared) => Found { compared, seconded: true },
                Open::Asked(results) => match self.agreed_opinion(id) {
                    Some(compared) => Found { compared, seconded: true },
                    None if self.ask_to_compare(id, question, results, effects) => return true,
                    None => self.lone_opinion(id),
                },
            };
            self.close_opinions(id, found, effects);
            self.take_comparison(id, question, found);
        }
    }

    /// What two of those found who were asked: every rule of a comparison is in whole numbers, so honest ones find the same.
    fn agreed_opinion(&mut self, id: AttemptId) -> Option<Compared> {
        let opinions = &self.audit_of(id)?.opinions;
        let mut found = opinions.iter().map(|(_, compared)| *compared);
        found.find(|compared| opinions.iter().filter(|(_, other)| other == compared).count() > 1)
    }

    /// What is taken where nobody is left to ask: the word of the only one, or if there is none or they contradict each other,
    /// that the results differ, which is held against nobody.
    fn lone_opinion(&mut self, id: AttemptId) -> Found {
        let opinions = self.audit_of(id).map(|audit| audit.opinions.as_slice()).unwrap_or_default();
        let compared = if let [(_, compared)] = opinions { *compared } else { Compared::APART };
        Found { compared, seconded: false }
    }

    /// A comparison is made. Whoever found something else than two others did is doubted.
    fn close_opinions(&mut self, id: AttemptId, found: Found, effects: &mut Vec<Effect>) {
        let Some(audit) = self.audit_of(id) else { return };
        let opinions = core::mem::take(&mut audit.opinions);
        let outvoted = opinions.into_iter().filter(|(_, compared)| found.seconded && *compared != found.compared);
        for (worker, _) in outvoted {
            self.note_record(worker, Mark::Doubted);
            self.add_trouble(worker, 2, effects);
        }
    }

    /// The next comparison that is missing: each answer with the claim, and if it differs with the rivals so far. One that
    /// differs from all of them is a rival itself.
    fn next_comparison(&mut self, id: AttemptId) -> Option<(Question, Open)> {
        let check = self.check_of_task(self.claims.all.get(&id)?);
        let claim = self.claims.all.get_mut(&id)?;
        let ours = claim.output;
        let audit = claim.audit.as_deref_mut()?;
        loop {
            let open_answer = audit.answers.iter().find(|(_, answer)| answer.side.is_none());
            let Some((worker, answer)) = open_answer else {
                let (_, computed) = audit.calibration?;
                return computed.map(|theirs| (Question::CompareCalibration, open(check, Some(ours), Some(theirs))));
            };
            let (worker, theirs) = (*worker, answer.output);
            if answer.compared.is_none() {
                return Some((Question::Compare(worker), open(check, Some(ours), theirs)));
            }
            if let Some(rival) = audit.rivals.get(usize::from(answer.rivals)) {
                let rival = audit.answers.get(rival)?.output;
                return Some((Question::CompareWithRival(worker), open(check, rival, theirs)));
            }
            let is_rival = audit.rivals.len() < RIVALS_MAX;
            if is_rival {
                audit.rivals.push(worker);
            }
            let side = if is_rival { Side::at(audit.rivals.len()) } else { Side::Alone };
            audit.answers.get_mut(&worker)?.side = Some(side);
        }
    }

    /// Has somebody look at two results whom the lot names: another juror than the one whose answer it is, if there is one, and
    /// of another owner than those who have looked already. If it has not computed the task itself, it is not asked to any
    /// more as long as there are enough others. The platform's own are asked where two contradict each other.
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
            Question::Compute | Question::Calibrate => unreachable!("a comparison is none"),
            Question::Compare(of) | Question::CompareWithRival(of) => Some(of),
            Question::CompareCalibration => audit.calibration.map(|(other, _)| other.worker),
        };
        let lots = audit.in_lot_order(&self.workers_keys(audit), &claim.hash, COMPARE_LOT);
        let left = audit.jurors.iter().filter(|juror| !audit.is_out(juror.worker)).count();
        let mut jurors: Vec<Juror> = lots.into_iter().chain(audit.referees.iter().copied()).collect();
        if audit.opinions.len() > 1 {
            jurors.extend(self.referees_of(claim));
        }
        let looked: BTreeSet<Owner> = audit.opinions.iter().map(|(worker, _)| self.owner(*worker)).collect();
        let is_new = |juror: &Juror| looked.is_empty() || Some(juror.worker) != of;
        jurors.retain(|juror| is_new(juror) && !looked.contains(&self.owner(juror.worker)));
        // Whoever has answered cannot be led by what it sees.
        let answered = |juror: &Juror| audit.answers.contains_key(&juror.worker);
        jurors.sort_by_key(|juror| (Some(juror.worker) == of, !answered(juror)));
        let spare = left > self.params.audits.voters_min as usize;
        let led: Vec<bool> = jurors.iter().map(|juror| spare && !answered(juror)).collect();
        for (juror, led) in jurors.into_iter().zip(led) {
            if let Some(attempt) = self.ask(id, juror, task, Some(results), effects) {
                let audit = self.audit_of(id).expect("it was just seen");
                audit.asked.insert(attempt, (juror.worker, question));
                if led {
                    audit.excused.insert(juror.worker);
                }
                return true;
            }
        }
        false
    }
}

impl Core {
    /// Takes down what a comparison has come to.
    fn take_comparison(&mut self, id: AttemptId, question: Question, found: Found) {
        if question == Question::CompareCalibration {
            return self.learn_calibration(id, found.compared);
        }
        let (compared, tolerated) = self.tolerate(id, question, found.compared);
        let Some(audit) = self.audit_of(id) else { return };
        match question {
            Question::Compute | Question::Calibrate | Question::CompareCalibration => {
                unreachable!("a comparison of answers is none of these")
            }
            Question::Compare(of) => {
                let Some(answer) = audit.answers.get_mut(&of) else { return };
                (answer.compared, answer.tolerated, answer.seconded) = (Some(compared), tolerated, found.seconded);
                answer.side = compared.agrees.then_some(Side::Claim);
            }
            Question::CompareWithRival(of) => {
                let Some(answer) = audit.answers.get_mut(&of) else { return };
                answer.rivals += 1;
                answer.side = compared.agrees.then(|| Side::at(usize::from(answer.rivals)));
            }
        }
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
