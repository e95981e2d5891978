//! Results that wait for their check.
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use gleaner_wire::check::Compared;
use gleaner_wire::receipt::{self, Poll, Side};
use gleaner_wire::{Address, Amount, AttemptId, Hash, JobId, Micros, Millis, Output, TaskId, WorkerId};
use serde::{Deserialize, Serialize};

use super::note::DrawNote;
use crate::attempt::Attempt;
use crate::effect::Effect;
use crate::place::SeatId;
use crate::proof::Vote;
use crate::state::Core;

/// A delivered result that is not paid yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// The attempt as it was when it ended.
    pub attempt: Attempt,
    /// Who is paid for it.
    pub provider: Option<Address>,
    pub output: Output,
    /// How long it ran, as its worker says, and what of that counts.
    pub claimed: Micros,
    pub ran: Micros,
    /// What it will be paid; set aside in its job.
    pub gross: Amount,
    /// The number of the signed message that brought it.
    pub batch: u64,
    pub finished: Millis,
    pub hash: Hash,
    pub round: u64,
    /// Nothing before its round is drawn.
    pub draw: Option<DrawNote>,
    /// If the lot fell on it.
    pub audit: Option<Box<Audit>>,
}

/// A worker that may be asked, where, and how much stake speaks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Juror {
    pub worker: WorkerId,
    pub seat: SeatId,
    pub weight: u64,
}

/// What somebody was asked about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Question {
    /// To compute its task.
    Compute,
    /// To compare this worker's answer with the claim.
    Compare(WorkerId),
    /// To compare this worker's answer with that of the next rival.
    CompareWithRival(WorkerId),
    /// To compute its task on another class of devices, only to learn from.
    Calibrate,
    /// To compare what that gave with the claim.
    CompareCalibration,
}

/// What a worker says of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub attempt: AttemptId,
    /// What it computed; nothing if the program failed.
    pub output: Option<Output>,
    /// How long that took, as it says.
    pub claimed: Micros,
    pub batch: u64,
    /// How far it is from the claim, as soon as that is known.
    pub compared: Option<Compared>,
    /// What was tolerated between it and the claim.
    pub tolerated: u64,
    /// How many rivals it was compared with.
    pub rivals: u8,
    /// Whether more than one worker's word says how far: without that nobody loses stake by it.
    pub seconded: bool,
    /// Whom it agrees with, as soon as that is known.
    pub side: Option<Side>,
}

/// The check of a claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Audit {
    pub seed: Hash,
    pub jurors: Vec<Juror>,
    /// Attempts that are out, and what each is to say.
    pub asked: BTreeMap<AttemptId, (WorkerId, Question)>,
    pub answers: BTreeMap<WorkerId, Answer>,
    /// Those who gave none.
    pub gone: BTreeSet<WorkerId>,
    /// Those whom lots pass over through no fault of theirs: they could not be asked, or have seen two answers before they
    /// gave one.
    pub excused: BTreeSet<WorkerId>,
    /// Who was drawn for the poll that is under way.
    pub drawn: Vec<WorkerId>,
    pub poll: u32,
    /// Once an answer has differed.
    pub vote: Option<Vote>,
    pub polls: Vec<Poll>,
    /// Whose answers differed from the claim and from each other, in the order in which that was found.
    pub rivals: Vec<WorkerId>,
    /// Who was asked after the polls had not decided, in order; the platform's own come first.
    pub referees: Vec<Juror>,
    /// The side that was found to be right.
    pub winner: Option<Side>,
    /// What those have found who were asked to make the comparison that is under way.
    pub opinions: Vec<(WorkerId, Compared)>,
    /// Who computes the task on another class of devices, only to learn from, and what it computed.
    pub calibration: Option<(Juror, Option<Output>)>,
}

impl Audit {
    /// Whether lots may fall on somebody.
    pub fn is_out(&self, worker: WorkerId) -> bool {
        self.gone.contains(&worker) || self.excused.contains(&worker)
    }

    /// Where somebody computes who was asked.
    pub fn seat_of(&self, worker: WorkerId) -> Option<SeatId> {
        let asked = self.jurors.iter().chain(&self.referees).find(|juror| juror.worker == worker);
        asked.map(|juror| juror.seat)
    }
}

/// All claims, and the rounds that they are drawn in.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Claims {
    pub all: BTreeMap<AttemptId, Claim>,
    /// Those of the round that is still open.
    pub open: Vec<AttemptId>,
    /// Those of the round that is being drawn.
    pub drawing: Vec<AttemptId>,
    /// The number of the round that is being drawn, or was last.
    pub round: u64,
    /// How long results have waited of late until they were accepted.
    pub wait: Micros,
    /// Unpaid work of each provider.
    pub exposure: BTreeMap<Address, Amount>,
    /// The workers of each provider, whose unpaid work counts together.
    pub owned: BTreeMap<Address, BTreeSet<WorkerId>>,
}

impl Claims {
    /// Unpaid work of a provider.
    pub fn exposure(&self, provider: Option<Address>) -> Amount {
        provider.and_then(|provider| self.exposure.get(&provider)).copied().unwrap_or_default()
    }

    /// A worker belongs to somebody else than before, or to somebody at all.
    pub fn own(&mut self, worker: WorkerId, before: Option<Address>, now: Option<Address>) {
        if let Some(workers) = before.filter(|_| before != now).and_then(|before| self.owned.get_mut(&before)) {
            workers.remove(&worker);
        }
        if let Some(now) = now {
            self.owned.entry(now).or_default().insert(worker);
        }
    }

    /// A result was accepted that came so long ago.
    pub fn note_wait(&mut self, waited: Millis) {
        let (waited, before) = (waited.micros().0, self.wait.0);
        self.wait = Micros(if before == 0 { waited } else { before - before / 8 + waited / 8 });
    }

    fn expose(&mut self, provider: Option<Address>, amount: Amount) {
        if let Some(provider) = provider {
            let sum = self.exposure.entry(provider).or_default();
            *sum = Amount(sum.0.saturating_add(amount.0));
        }
    }

    fn cover(&mut self, provider: Option<Address>, amount: Amount) {
        let Some(provider) = provider else { return };
        if let Some(sum) = self.exposure.get_mut(&provider) {
            *sum = Amount(sum.0.saturating_sub(amount.0));
            if *sum == Amount::ZERO {
                self.exposure.remove(&provider);
            }
        }
    }
}

/// What a worker said when it delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivered {
    /// How long it ran, as it says.
    pub claimed: Micros,
    /// What of that counts.
    pub ran: Micros,
    /// The number of the signed message.
    pub batch: u64,
}

impl Claim {
    pub fn new(
        attempt: Attempt,
        provider: Option<Address>,
        id: AttemptId,
        output: Output,
        result: Delivered,
        now: Millis,
    ) -> Self {
        let task = TaskId { job: attempt.job, group: attempt.group, index: attempt.index };
        let Delivered { claimed, ran, batch } = result;
        let said = receipt::Claim { attempt: id, task, output: Some(output.hash()), ran: claimed };
        let hash = receipt::claim_hash(&said);
        let gross = attempt.price.per_second_over(ran).min(attempt.hold);
        let (finished, round, draw, audit) = (now, 0, None, None);
        Self { attempt, provider, output, claimed, ran, gross, batch, finished, hash, round, draw, audit }
    }
}

impl Core {
    /// Takes down a result, and sets aside what it will be paid.
    pub(crate) fn take_down_claim(&mut self, id: AttemptId, claim: Claim) {
        let job = self.jobs.get_mut(&claim.attempt.job).expect("an attempt's job is there");
        job.held = Amount(job.held.0 + claim.gross.0);
        job.claims += 1;
        job.groups[usize::from(claim.attempt.group)].claimed += 1;
        self.claims.expose(claim.provider, claim.gross);
        self.claims.open.push(id);
        let round = self.claims.round + 1;
        self.claims.all.insert(id, Claim { round, ..claim });
    }

    /// Takes a claim off the list, whatever becomes of it; what was set aside for it is free again.
    pub(crate) fn drop_claim(&mut self, id: AttemptId, effects: &mut Vec<Effect>) -> Claim {
        let claim = self.claims.all.remove(&id).expect("the caller has seen it");
        if let Some(audit) = &claim.audit {
            for attempt in audit.asked.keys() {
                if let Some(slot) = self.attempts.slot(*attempt) {
                    self.cancel_attempt(slot, effects);
                }
            }
        }
        let provider = claim.provider;
        self.claims.cover(provider, claim.gross);
        let job = self.jobs.get_mut(&claim.attempt.job).expect("a claim's job is there");
        job.held = Amount(job.held.0 - claim.gross.0);
        job.claims -= 1;
        job.groups[usize::from(claim.attempt.group)].claimed -= 1;
        self.money_came_back(claim.attempt.job);
        // What was held back because of unpaid work may be placed now.
        let owned = provider.and_then(|provider| self.claims.owned.get(&provider));
        for worker in owned.into_iter().flatten() {
            self.hungry.extend(self.workers[worker.0 as usize].seats.iter().copied());
        }
        claim
    }

    /// The claims of a job.
    pub(crate) fn claims_of(&self, job: JobId) -> Vec<AttemptId> {
        let ours = self.claims.all.iter().filter(|(_, claim)| claim.attempt.job == job);
        ours.map(|(id, _)| *id).collect()
    }
}
