//! What results of devices may differ by where the job's check learns it, and how it is learned: from answers that agreed, by
//! workers that are trusted, and now and then from somebody on another class of devices who is asked only to learn from.
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::api::ToleranceView;
use gleaner_wire::check::{Check, Compared};
use gleaner_wire::receipt::Side;
use gleaner_wire::{AttemptId, Output, Stage, TaskId, Work, WorkerId};

use super::claim::{Claim, Juror, Question};
use crate::effect::Effect;
use crate::job::Job;
use crate::place::{Seat, SeatId};
use crate::pool::Standing;
use crate::proof::{self, Pair, SEEN_MIN};
use crate::state::Core;

/// One agreement in so many is compared with another class of devices as well, and in so many times as many once that pair
/// is known.
const CALIBRATED_ONE_IN: u64 = 8;
/// Seats that are looked at for one of another class.
const SCAN_MAX: usize = 4096;

impl Core {
    /// The classes of two seats, for results of a claim's task.
    fn pair(&self, claim: &Claim, one: SeatId, other: SeatId) -> Pair {
        let job = &self.jobs[&claim.attempt.job];
        let runtime = job.groups[usize::from(claim.attempt.group)].plan.needs.runtime;
        let class = |seat: SeatId| self.class_of(seat, runtime);
        Pair::of(job.requester.0, self.check_of_task(claim), &class(one), &class(other))
    }

    /// Whether results of these seats may be compared although their classes differ: honest ones of both were seen, and by
    /// how much they differ.
    pub(crate) fn is_comparable(&self, claim: &Claim, seat: SeatId) -> bool {
        self.check_of_task(claim).learns() && self.tolerances.is_known(&self.pair(claim, claim.attempt.seat, seat))
    }

    /// What a measured comparison comes to, and what was tolerated: what the check does, or what honest devices of the two
    /// classes were seen to differ by if that is more and the job wants it.
    pub(crate) fn tolerate(&self, id: AttemptId, question: Question, compared: Compared) -> (Compared, u64) {
        let judged = Compared::at(compared.distance);
        let Some((claim, [one, other])) = self.seats_compared(id, question) else {
            return (judged, Compared::TOLERATED);
        };
        if !self.check_of_task(claim).learns() {
            return (judged, Compared::TOLERATED);
        }
        let pair = self.pair(claim, one, other);
        let Some(tolerated) = self.tolerances.tolerated(&pair) else {
            // Nothing is known of these two classes: nobody is judged by the other.
            let agrees = judged == Compared::SAME;
            return (Compared { agrees, ..judged }, Compared::TOLERATED);
        };
        let agrees = self.tolerances.agree(&pair, judged).unwrap_or(judged.agrees);
        (Compared { agrees, ..judged }, tolerated)
    }

    fn seats_compared(&self, id: AttemptId, question: Question) -> Option<(&Claim, [SeatId; 2])> {
        let claim = self.claims.all.get(&id)?;
        let audit = claim.audit.as_ref()?;
        let seats = match question {
            Question::Compute | Question::Calibrate => return None,
            Question::Compare(of) => [claim.attempt.seat, audit.seat_of(of)?],
            Question::CompareCalibration => [claim.attempt.seat, audit.calibration?.0.seat],
            Question::CompareWithRival(of) => {
                let rival = audit.rivals.get(usize::from(audit.answers.get(&of)?.rivals))?;
                [audit.seat_of(*rival)?, audit.seat_of(of)?]
            }
        };
        Some((claim, seats))
    }

    /// Whether anybody can be blamed for another result of a claim's task: not before it is known what honest ones differ by.
    pub(crate) fn may_blame(&self, claim: &Claim) -> bool {
        let seat = claim.attempt.seat;
        !self.check_of_task(claim).learns() || self.tolerances.is_known(&self.pair(claim, seat, seat))
    }

    /// Learns from a claim that was found right what honest results differ by.
    pub(crate) fn learn_tolerances(&mut self, id: AttemptId) {
        let claim = &self.claims.all[&id];
        let Some(audit) = claim.audit.as_ref().filter(|audit| audit.winner == Some(Side::Claim)) else { return };
        if !self.check_of_task(claim).learns() || !self.is_trusted(claim.attempt.worker) {
            return;
        }
        let honest = audit.answers.iter().filter(|(_, answer)| answer.is_for());
        let honest = honest.filter(|(worker, _)| self.is_trusted(**worker));
        let seen: Vec<(Pair, Compared)> = honest
            .filter_map(|(worker, answer)| {
                Some((self.pair(claim, claim.attempt.seat, audit.seat_of(*worker)?), answer.compared?))
            })
            .collect();
        seen.into_iter().for_each(|(pair, compared)| self.tolerances.note(pair, compared));
    }

    /// Whether a worker's results are taken to be honest when something is learned from them.
    fn is_trusted(&self, worker: WorkerId) -> bool {
        self.is_managed(worker) || self.audit_rate(worker).by_record <= self.params.audits.trusted
    }

    /// Has somebody on another class of devices compute the task of a claim that was agreed with, to learn how much the classes
    /// differ. `false` if there is nothing to learn or nobody to learn from.
    pub(crate) fn calibrate(&mut self, id: AttemptId, effects: &mut Vec<Effect>) -> bool {
        let claim = &self.claims.all[&id];
        let Some(audit) = claim.audit.as_ref().filter(|audit| audit.calibration.is_none()) else { return false };
        if !self.check_of_task(claim).learns() || !self.is_trusted(claim.attempt.worker) {
            return false;
        }
        let lot = proof::lot(&audit.seed, &claim.hash, b"calibrate", 0);
        let Some(other) = self.other_class(claim, lot).filter(|_| lot.is_multiple_of(CALIBRATED_ONE_IN)) else {
            return false;
        };
        let known = self.tolerances.is_known(&self.pair(claim, claim.attempt.seat, other.seat));
        if known && !(lot / CALIBRATED_ONE_IN).is_multiple_of(CALIBRATED_ONE_IN) {
            return false;
        }
        let task = TaskId { job: claim.attempt.job, group: claim.attempt.group, index: claim.attempt.index };
        let Some(attempt) = self.ask(id, other, task, None, effects) else { return false };
        let audit = self.audit_of(id).expect("it was just seen");
        audit.asked.insert(attempt, (other.worker, Question::Calibrate));
        audit.calibration = Some((other, None));
        true
    }

    /// Takes down what the other class computed. Nobody is judged by it.
    pub(crate) fn take_calibration(&mut self, id: AttemptId, output: Option<Output>) {
        if let Some((_, computed)) = self.audit_of(id).and_then(|audit| audit.calibration.as_mut()) {
            *computed = output;
        }
    }

    /// Learns from what the other class computed, once that was compared with the claim.
    pub(crate) fn learn_calibration(&mut self, id: AttemptId, compared: Compared) {
        let claim = &self.claims.all[&id];
        let Some((other, _)) = claim.audit.as_ref().and_then(|audit| audit.calibration) else { return };
        let pair = self.pair(claim, claim.attempt.seat, other.seat);
        self.tolerances.note(pair, compared);
        self.take_calibration(id, None);
    }

    /// A seat of another class and owner that could have done the task, by a lot.
    fn other_class(&self, claim: &Claim, lot: u64) -> Option<Juror> {
        let count = self.seats.len();
        let start = (lot >> 8) as usize % count.max(1);
        let mut seats = (start..count).chain(0..start).take(SCAN_MAX);
        let found = seats.find(|at| self.may_calibrate(claim, &self.seats[*at]))?;
        Some(Juror { worker: self.seats[found].worker, seat: SeatId(found as u32), weight: 0 })
    }

    fn may_calibrate(&self, claim: &Claim, seat: &Seat) -> bool {
        self.could_compute(claim, seat)
            && !self.is_alike(claim, seat)
            && self.workers[seat.worker.0 as usize].standing == Standing::Good
            && self.is_trusted(seat.worker)
    }

    /// What was learned of what results of a job's tasks differ by.
    pub(crate) fn tolerance_views(&self, job: &Job) -> Vec<ToleranceView> {
        let checks = job.groups.iter().map(|group| match (&group.plan.spec.work, group.plan.spec.check) {
            // What cards draw is compared as pictures.
            (Work::Blender { stage: Stage::Pieces { .. }, .. }, Check::Exact) => (group, Check::PICTURE),
            (_, check) => (group, check),
        });
        let known = checks.filter(|(_, check)| check.learns()).flat_map(|(group, check)| {
            let name = &group.plan.spec.name;
            self.tolerances.of(job.requester.0, check).map(move |(pair, known)| {
                let [one, other] = pair.classes().map(String::from);
                let (task, seen, needed) = (name.clone(), known.seen, SEEN_MIN);
                ToleranceView { task, one, other, seen, needed, tolerated: known.tolerated }
            })
        });
        known.collect()
    }
}
