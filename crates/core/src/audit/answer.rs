//! Answers of those who check, and what follows from them.
use alloc::vec::Vec;
use gleaner_wire::check::{Check, Compared};
use gleaner_wire::receipt::{Poll, Side};
use gleaner_wire::{AttemptId, Cause, DeviceKind, Output, Stage, Work, WorkerId};

use super::Verdict;
use super::claim::{Answer, Audit, Claim, Delivered, Question};
use crate::attempt::{Attempt, Why};
use crate::effect::Effect;
use crate::proof::{self, Last, Step, Vote};
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
                let Delivered { claimed, batch, .. } = result;
                let (compared, tolerated, rivals, seconded, side) = (None, Compared::TOLERATED, 0, false, None);
                let answer =
                    Answer { attempt: id, output, claimed, batch, compared, tolerated, rivals, seconded, side };
                audit.answers.insert(worker, answer);
                if output.is_some() {
                    self.learn(&attempt, result.ran, effects);
                }
            }
            (Question::Calibrate, _) => self.take_calibration(claim, output),
            (Question::Compare(_) | Question::CompareWithRival(_) | Question::CompareCalibration, Some(compared)) => {
                audit.opinions.push((worker, compared));
            }
            (Question::Compare(_) | Question::CompareWithRival(_) | Question::CompareCalibration, None) => {
                audit.gone.insert(worker);
            }
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
            Question::Compute if audit.referees.is_empty() => self.ask_on(claim, effects),
            Question::Compute
            | Question::Compare(_)
            | Question::CompareWithRival(_)
            | Question::Calibrate
            | Question::CompareCalibration => self.move_on(claim, effects),
        }
    }

    pub(crate) fn audit_of(&mut self, claim: AttemptId) -> Option<&mut Audit> {
        self.claims.all.get_mut(&claim)?.audit.as_deref_mut()
    }

    /// How two results of a claim's task are compared. A card adds up the samples of a pixel in the order in which they are
    /// done, and draws what EEVEE shows by its driver's rules: it does not repeat itself to the bit, whatever a job asks for.
    pub(crate) fn check_of_task(&self, claim: &Claim) -> Check {
        let plan = &self.jobs[&claim.attempt.job].groups[usize::from(claim.attempt.group)].plan;
        let draws = matches!(plan.spec.work, Work::Blender { stage: Stage::Pieces { .. }, .. });
        let by_card = self.seats[claim.attempt.seat.0 as usize].kind != DeviceKind::Cpu || plan.needs.eevee;
        match plan.spec.check {
            Check::Exact if draws && by_card => Check::PICTURE,
            check => check,
        }
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
        if !audit.referees.is_empty() {
            return self.judge_by_referee(id, effects);
        }
        let answered: Vec<(WorkerId, Answer)> =
            audit.drawn.iter().filter_map(|worker| Some((*worker, *audit.answers.get(worker)?))).collect();
        if answered.is_empty() && audit.vote.is_none() {
            return self.conclude(id, Verdict::NobodyToCheck, effects);
        }
        let Some(mut vote) = audit.vote.clone() else {
            if answered.iter().all(|(_, answer)| answer.is_for()) {
                // Somebody on another class of devices may be asked as well, and all of this be gone through again.
                if !self.calibrate(id, effects) {
                    self.decide(id, Side::Claim, Verdict::Agreed, effects);
                }
                return;
            }
            return self.contest(id, effects);
        };
        let drawn = answered.iter().map(|(worker, _)| self.workers[worker.0 as usize].key).collect();
        let votes = Side::counts(answered.iter().filter_map(|(_, answer)| answer.side), audit.rivals.len());
        let step = vote.count(&votes);
        let Some(audit) = self.audit_of(id) else { return };
        audit.polls.push(Poll { drawn, votes });
        audit.vote = Some(vote);
        match step {
            Step::Again => {
                audit.poll += 1;
                self.ask_on(id, effects);
            }
            Step::Decided(side) => self.decide(id, side, verdict_for(side), effects),
            Step::Undecided => self.undecided(id, effects),
        }
    }

    /// An answer differs: more are asked, in polls.
    fn contest(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        self.totals.claims_contested += 1;
        let policy = self.params.audits.clone();
        let referees = self.has_referee(id);
        let Some(audit) = self.audit_of(id) else { return };
        let eligible = audit.jurors.iter().filter(|juror| !audit.is_out(juror.worker)).count();
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

    /// Polls did not decide: the platform's own workers have the last word.
    fn undecided(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        if !self.ask_referee(id, effects) {
            self.judge_by_referee(id, effects);
        }
    }

    /// Judges a claim that polls did not decide, by all answers there are. If they do not say, somebody else is asked as long
    /// as there is anybody.
    fn judge_by_referee(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        let audit = self.claims.all[&id].audit.as_ref().expect("only audited claims are judged");
        let referee = audit.referee();
        let place = audit.answers.keys().position(|worker| Some(*worker) == referee);
        let sides: Vec<Side> = audit.answers.values().filter_map(|answer| answer.side).collect();
        match proof::last_word(&sides, place) {
            Last::Decided(side) => self.decide(id, side, verdict_for(side), effects),
            Last::Unrepeatable | Last::Undecided if self.ask_referee(id, effects) => (),
            Last::Unrepeatable => self.conclude(id, Verdict::NotRepeatable, effects),
            Last::Undecided => self.conclude(id, Verdict::Undecided, effects),
        }
    }

    fn decide(&mut self, id: AttemptId, side: Side, verdict: Verdict, effects: &mut Vec<Effect>) {
        if let Some(audit) = self.audit_of(id) {
            audit.winner = Some(side);
        }
        self.conclude(id, verdict, effects);
    }
}

/// What it means for a claim that a vote has found this side to be right.
fn verdict_for(side: Side) -> Verdict {
    match side {
        Side::Claim => Verdict::Upheld,
        Side::Rival(_) | Side::Alone => Verdict::Refuted,
    }
}

impl Answer {
    /// Whether it agrees with the claim.
    pub(crate) fn is_for(&self) -> bool {
        self.side == Some(Side::Claim)
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
