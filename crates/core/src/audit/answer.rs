//! Answers of those who check, and what follows from them.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use gleaner_wire::{AttemptId, Cause, Output, WorkerId};

use super::claim::{Answer, Audit, Delivered};
use super::note::{PollNote, Verdict};
use crate::attempt::{Attempt, Why};
use crate::effect::Effect;
use crate::proof::{Step, Vote};
use crate::state::Core;

impl Core {
    /// A worker has computed the task of a claim, not knowing that it was one.
    pub(crate) fn audit_answered(
        &mut self,
        slot: u32,
        output: Option<Output>,
        result: Delivered,
        effects: &mut Vec<Effect>,
    ) {
        let attempt_id = self.attempts.id(slot);
        let attempt = self.release_attempt(slot, effects);
        let Why::Audit(claim) = attempt.why else { unreachable!("only audits are answered here") };
        if output.is_some() && !attempt.resumed {
            self.learn(&attempt, result.ran, effects);
        }
        let Some(audit) = self.audit_of(claim) else { return };
        let answer = Answer { attempt: attempt_id, output, claimed: result.claimed, batch: result.batch };
        if audit.asked.remove(&attempt.worker).is_some() {
            audit.answers.insert(attempt.worker, answer);
            self.move_on(claim, effects);
        }
    }

    /// A worker gives no answer: somebody else is asked.
    pub(crate) fn audit_unanswered(&mut self, attempt: &Attempt, effects: &mut Vec<Effect>) {
        let Why::Audit(claim) = attempt.why else { unreachable!("only audits are answered here") };
        let Some(audit) = self.audit_of(claim) else { return };
        if audit.asked.remove(&attempt.worker).is_some() {
            audit.gone.insert(attempt.worker);
            self.ask_on(claim, effects);
        }
    }

    fn audit_of(&mut self, claim: AttemptId) -> Option<&mut Audit> {
        self.claims.all.get_mut(&claim)?.audit.as_deref_mut()
    }

    /// An answer came: once all that were asked have given theirs, it is judged.
    fn move_on(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        if self.audit_of(id).is_some_and(|audit| audit.asked.is_empty()) {
            self.judge(id, effects);
        }
    }

    /// Judges a claim by the answers to the questions that were drawn.
    pub(crate) fn judge(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        let claim = &self.claims.all[&id];
        let audit = claim.audit.as_ref().expect("only audited claims are judged");
        let ours = claim.output;
        let answered: Vec<(WorkerId, Answer)> =
            audit.drawn.iter().filter_map(|worker| Some((*worker, *audit.answers.get(worker)?))).collect();
        if answered.is_empty() {
            // Whoever could have been asked is gone.
            let verdict = if audit.vote.is_some() { Verdict::Undecided } else { Verdict::NobodyToCheck };
            return self.conclude(id, verdict, effects);
        }
        if audit.vote.is_none() {
            if answered.iter().all(|(_, answer)| answer.output == Some(ours)) {
                return self.conclude(id, Verdict::Agreed, effects);
            }
            let eligible = audit.jurors.len() - audit.gone.len();
            return self.contest(id, eligible, effects);
        }
        let agree = answered.iter().filter(|(_, answer)| answer.output == Some(ours)).count() as u32;
        let differ = most_alike(&answered, &ours);
        let drawn = answered.iter().map(|(worker, _)| self.workers[worker.0 as usize].key).collect();
        let claim = self.claims.all.get_mut(&id).expect("it was just seen");
        let audit = claim.audit.as_mut().expect("it was just seen");
        let number = audit.poll;
        audit.polls.push(PollNote { number, drawn, agree, differ });
        let step = audit.vote.as_mut().expect("it was just seen").count(agree, differ);
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
    fn contest(&mut self, id: AttemptId, eligible: usize, effects: &mut Vec<Effect>) {
        let vote = Vote::new(&self.params.audits, eligible);
        self.totals.claims_contested += 1;
        let Some(audit) = self.audit_of(id) else { return };
        audit.vote = Some(vote);
        audit.poll = 1;
        self.ask_on(id, effects);
    }

    /// Polls did not decide. If those who differ from the claim differ from each other as well, the program is to blame.
    fn undecided(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        let claim = &self.claims.all[&id];
        let audit = claim.audit.as_ref().expect("only audited claims are judged");
        let mut kinds: BTreeMap<_, u32> = BTreeMap::new();
        for answer in audit.answers.values() {
            *kinds.entry(answer.output.map(|output| output.hash())).or_default() += 1;
        }
        let ours = kinds.remove(&Some(claim.output.hash())).unwrap_or(0);
        let scattered = ours == 0 && kinds.len() > 1 && kinds.values().all(|count| *count == 1);
        self.conclude(id, if scattered { Verdict::NotRepeatable } else { Verdict::Undecided }, effects);
    }
}

/// How many of those who differ from a claim agree with each other.
fn most_alike(answered: &[(WorkerId, Answer)], ours: &Output) -> u32 {
    let mut kinds: BTreeMap<_, u32> = BTreeMap::new();
    for (_, answer) in answered.iter().filter(|(_, answer)| answer.output != Some(*ours)) {
        *kinds.entry(answer.output.map(|output| output.hash())).or_default() += 1;
    }
    kinds.into_values().max().unwrap_or(0)
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
