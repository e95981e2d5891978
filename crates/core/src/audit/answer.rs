//! Answers of those who check, and what follows from them.
use alloc::vec::Vec;
use gleaner_wire::check::{Check, Compared};
use gleaner_wire::{AttemptId, Cause, Output, WorkerId};

use super::claim::{Answer, Audit, Claim, Delivered, Question};
use super::note::{PollNote, Verdict};
use crate::attempt::{Attempt, Why};
use crate::effect::Effect;
use crate::proof::{Step, Vote};
use crate::state::Core;

impl Core {
    /// A worker has computed the task of a claim, not knowing that it was one, or compared two results of it.
    pub(crate) fn audit_answered(
        &mut self,
        slot: u32,
        output: Option<Output>,
        result: Delivered,
        effects: &mut Vec<Effect>,
    ) {
        let id = self.attempts.id(slot);
        let attempt = self.release_attempt(slot, effects);
        let Why::Audit(claim) = attempt.why else { unreachable!("only audits are answered here") };
        let Some(audit) = self.audit_of(claim) else { return };
        let Some((worker, question)) = audit.asked.remove(&id) else { return };
        let compared = output.as_ref().and_then(Compared::from_output);
        match (question, compared) {
            (Question::Compute, _) => {
                let (claimed, batch, agrees, like_rival) = (result.claimed, result.batch, None, None);
                audit.answers.insert(worker, Answer { attempt: id, output, claimed, batch, agrees, like_rival });
                if output.is_some() {
                    self.learn(&attempt, result.ran, effects);
                }
            }
            (Question::Compare(of), Some(compared)) => audit.note(of, |answer| answer.agrees = Some(compared)),
            (Question::CompareWithRival(of), Some(compared)) => {
                audit.note(of, |answer| answer.like_rival = Some(compared.agrees));
            }
            (Question::Compare(_) | Question::CompareWithRival(_), None) => _ = audit.gone.insert(worker),
        }
        self.move_on(claim, effects);
    }

    /// A worker gives no answer: somebody else is asked.
    pub(crate) fn audit_unanswered(&mut self, id: AttemptId, attempt: &Attempt, effects: &mut Vec<Effect>) {
        let Why::Audit(claim) = attempt.why else { unreachable!("only audits are answered here") };
        let Some(audit) = self.audit_of(claim) else { return };
        let Some((worker, question)) = audit.asked.remove(&id) else { return };
        audit.gone.insert(worker);
        match question {
            Question::Compute => self.ask_on(claim, effects),
            Question::Compare(_) | Question::CompareWithRival(_) => self.move_on(claim, effects),
        }
    }

    pub(crate) fn audit_of(&mut self, claim: AttemptId) -> Option<&mut Audit> {
        self.claims.all.get_mut(&claim)?.audit.as_deref_mut()
    }

    /// How two results of a claim's task are compared.
    pub(crate) fn check_of_task(&self, claim: &Claim) -> Check {
        self.jobs[&claim.attempt.job].groups[usize::from(claim.attempt.group)].plan.spec.check
    }

    /// Something came: once nobody computes any more, answers are compared, and once all are, the claim is judged.
    pub(crate) fn move_on(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        let Some(audit) = self.audit_of(id) else { return };
        if audit.asked.is_empty() && !self.compare_next(id, effects) {
            self.judge(id, effects);
        }
    }

    /// Judges a claim by the answers of those who were drawn.
    fn judge(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        let audit = self.claims.all[&id].audit.as_ref().expect("only audited claims are judged");
        let answered: Vec<(WorkerId, Answer)> =
            audit.drawn.iter().filter_map(|worker| Some((*worker, *audit.answers.get(worker)?))).collect();
        let count = |counts: fn(&Answer) -> bool| answered.iter().filter(|(_, answer)| counts(answer)).count() as u32;
        let agree = count(Answer::is_for);
        let differ = count(|answer| answer.like_rival == Some(true));
        if audit.refereed {
            let verdict = match (agree, audit.refutes(&answered)) {
                (1.., _) => Verdict::Upheld,
                (0, true) => Verdict::Refuted,
                (0, false) => Verdict::Undecided,
            };
            return self.conclude(id, verdict, effects);
        }
        if answered.is_empty() && audit.vote.is_none() {
            return self.conclude(id, Verdict::NobodyToCheck, effects);
        }
        let Some(mut vote) = audit.vote.clone() else {
            if agree as usize == answered.len() {
                return self.conclude(id, Verdict::Agreed, effects);
            }
            return self.contest(id, effects);
        };
        let drawn = answered.iter().map(|(worker, _)| self.workers[worker.0 as usize].key).collect();
        let step = vote.count(agree, differ);
        let Some(audit) = self.audit_of(id) else { return };
        let number = audit.poll;
        audit.polls.push(PollNote { number, drawn, agree, differ });
        audit.vote = Some(vote);
        match step {
            Step::Again => {
                audit.poll += 1;
                self.ask_on(id, effects);
            }
            Step::Decided(true) => self.conclude(id, Verdict::Upheld, effects),
            Step::Decided(false) => self.conclude(id, Verdict::Refuted, effects),
            Step::Undecided => self.undecided(id, effects),
        }
    }

    /// An answer differs: more are asked, in polls.
    fn contest(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        self.totals.claims_contested += 1;
        let policy = self.params.audits.clone();
        let referees = self.has_referee(id);
        let Some(audit) = self.audit_of(id) else { return };
        let eligible = audit.jurors.len() - audit.gone.len();
        let vote = if referees { Vote::beside_referees(&policy, eligible) } else { Vote::new(&policy, eligible) };
        let step = vote.step();
        audit.vote = Some(vote);
        audit.poll = 1;
        match step {
            // There are too few for a poll.
            Step::Undecided => self.undecided(id, effects),
            Step::Again | Step::Decided(_) => self.ask_on(id, effects),
        }
    }

    /// Polls did not decide. If those who differ from the claim differ from each other as well, the program is to blame;
    /// else the platform's own workers have the last word.
    fn undecided(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        let audit = self.claims.all[&id].audit.as_ref().expect("only audited claims are judged");
        let against = audit.answers.values().filter(|answer| !answer.is_for()).count();
        let alike = audit.answers.values().filter(|answer| answer.like_rival == Some(true)).count();
        let none_for = audit.answers.values().all(|answer| !answer.is_for());
        if none_for && against > 1 && alike == 1 {
            self.conclude(id, Verdict::NotRepeatable, effects);
        } else if !self.ask_referee(id, effects) {
            self.conclude(id, Verdict::Undecided, effects);
        }
    }
}

impl Audit {
    fn note(&mut self, of: WorkerId, set: impl FnOnce(&mut Answer)) {
        if let Some(answer) = self.answers.get_mut(&of) {
            set(answer);
        }
    }

    /// Whether a referee's answer is that of somebody else who differed from the claim.
    fn refutes(&self, answered: &[(WorkerId, Answer)]) -> bool {
        let alike = |(worker, answer): &(WorkerId, Answer)| {
            answer.like_rival == Some(true) && self.rival.is_some_and(|rival| rival != *worker)
        };
        answered.iter().any(alike)
    }
}

impl Answer {
    /// Whether it agrees with the claim.
    pub(crate) fn is_for(&self) -> bool {
        self.agrees.is_some_and(|compared| compared.agrees)
    }
}

/// Whether a failed audit says something of the claim: a program that fails in itself fails everywhere.
pub(crate) fn is_answer(cause: Cause) -> bool {
    match cause {
        Cause::ProgramFault => true,
        Cause::WorkerLeft
        | Cause::DeviceFault
        | Cause::OutOfMemory
        | Cause::TimeLimit
        | Cause::BadInput
        | Cause::RefusedByOwner
        | Cause::HubFault
        | Cause::Refuted => false,
    }
}
