//! From what a hub has on file of a judged claim to the parts of its receipt.
use std::collections::BTreeMap;

use gleaner_core::{AnswerNote, AuditNote, Proof, proof};
use gleaner_wire::commit::Tree;
use gleaner_wire::market::Market;
use gleaner_wire::receipt::{
    Answer, Audit, Batch, Bytes, Claim, Commitment, Ordered, Owned, Placement, Poll, Record, Round, Seed, Signature,
    Verdict, claim_hash,
};
use gleaner_wire::{Address, Amount, AttemptId, Check, Hash, WorkerKey};

use crate::make::{Lot, Parts};
use crate::reckon;

/// What a hub has on file beside the judged claim itself.
pub struct Filed<'a> {
    /// The order, if there is a chain.
    pub order: Option<Ordered>,
    /// The hash of the job file as it was sent.
    pub job: Hash,
    /// How the job finds its workers.
    pub market: Market,
    /// The class of the worker's device.
    pub class: String,
    /// How the task's results are compared.
    pub check: Check,
    /// Which one of the job's receipts this is, from 0.
    pub number: u64,
    /// The hash of the one before.
    pub previous: Option<Hash>,
    /// The round that the claim was drawn in, if it was.
    pub round: Option<Drawn>,
    /// The signed batch in which a worker sent something, by the hub's number of it.
    pub batch: &'a dyn Fn(&WorkerKey, u64) -> Option<SignedBatch>,
    /// What an account has signed for a worker of its own.
    pub owner: &'a dyn Fn(&WorkerKey, &Address) -> Option<Bytes>,
}

/// A round that was drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The hashes of its claims, in order.
    pub claims: Vec<Hash>,
    /// Where its seed comes from.
    pub source: Seed,
    /// Its seed.
    pub seed: Hash,
}

/// What a worker sent and signed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedBatch {
    /// The hashes of its claims, in order.
    pub claims: Vec<Hash>,
    /// The worker's signature.
    pub signature: Signature,
}

/// Something that a receipt needs is not on file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// A batch.
    #[error("batch {batch} of {worker}, with its claim about attempt {attempt}, is not on file")]
    Batch {
        /// Whose.
        worker: WorkerKey,
        /// Its number.
        batch: u64,
        /// The attempt.
        attempt: AttemptId,
    },
    /// What an owner has signed.
    #[error("it is not on file that {worker} is {provider}'s")]
    Owner {
        /// Whose worker.
        worker: WorkerKey,
        /// Who it should be.
        provider: Address,
    },
    /// A claim in its round.
    #[error("round {round} is on file without the claim about attempt {attempt}")]
    Round {
        /// Its number.
        round: u64,
        /// The attempt.
        attempt: AttemptId,
    },
}

impl Parts {
    /// The parts of the receipt of a judged claim.
    pub fn of(proof: &Proof, filed: Filed<'_>) -> Result<Self, Missing> {
        let (attempt, task, output) = (proof.attempt, proof.task, Some(proof.output));
        let claim = Claim { attempt, task, output, ran: proof.claimed };
        let commitment = commitment(&filed, claim, &proof.worker, proof.batch)?;
        let ended = proof.verdict == Verdict::JobEnded;
        let lot = match (&proof.draw, &filed.round) {
            (Some(note), Some(drawn)) => Some(lot(proof, &note.rate, drawn, &claim)?),
            (None, _) | (_, None) => None,
        };
        // What was asked and not answered when the job ended says nothing of the claim.
        let note = proof.audit.as_deref().filter(|_| !ended);
        let audit = note.map(|note| audit(proof, note, &claim, &filed)).transpose()?;
        let stakes = stakes(proof);
        let placement = Placement {
            worker: proof.worker,
            provider: proof.provider,
            runtime: proof.runtime,
            resumed: proof.resumed,
            device: proof.device,
            class: filed.class.clone(),
            per_second: proof.price,
            market: filed.market,
            why: proof.why.clone(),
        };
        let owners = owners(&placement, audit.as_ref(), &filed)?;
        Ok(Self {
            order: filed.order,
            job: filed.job,
            number: filed.number,
            previous: filed.previous,
            placement,
            owners,
            placed: proof.placed,
            finished: proof.finished,
            hold: proof.hold,
            bond: proof.bond,
            share_points: proof.share_points,
            sum_before: proof.sum_before,
            commitment,
            check: filed.check,
            lot,
            audit,
            left: Some(proof.verdict).filter(|verdict| matches!(verdict, Verdict::JobEnded | Verdict::Undecided)),
            blames: proof.blames,
            stakes,
        })
    }
}

/// The word of everybody who owns one of the workers.
fn owners(placement: &Placement, audit: Option<&Audit>, filed: &Filed<'_>) -> Result<Vec<Owned>, Missing> {
    let owned = reckon::owned(placement, audit).into_iter().map(|(worker, provider)| {
        let signature = (filed.owner)(&worker, &provider).ok_or(Missing::Owner { worker, provider })?;
        Ok(Owned { worker, signature })
    });
    owned.collect()
}

/// What each of the workers loses by a wrong answer: whoever made the claim, what was seen to be locked of its stake when the
/// lot was drawn; those who answered, what a verdict takes.
fn stakes(judged: &Proof) -> BTreeMap<WorkerKey, Amount> {
    let answers = judged.audit.iter().flat_map(|audit| audit.answers.iter());
    let own = judged.draw.as_ref().map_or(Amount::ZERO, |draw| draw.rate.loses);
    answers.map(|answer| (answer.key, judged.takes)).chain([(judged.worker, own)]).collect()
}

/// A claim with its place in the batch that brought it.
fn commitment(filed: &Filed<'_>, claim: Claim, worker: &WorkerKey, number: u64) -> Result<Commitment, Missing> {
    let missing = Missing::Batch { worker: *worker, batch: number, attempt: claim.attempt };
    let SignedBatch { claims, signature } = (filed.batch)(worker, number).ok_or(missing)?;
    let (root, count, place, path) = place_of(claims, &claim).ok_or(missing)?;
    Ok(Commitment { claim, batch: Batch { root, count, place, path, signature } })
}

/// The root over some claims, their number, and the place of one of them with its path.
fn place_of(claims: Vec<Hash>, claim: &Claim) -> Option<(Hash, u32, u32, Vec<Hash>)> {
    let leaf = claim_hash(claim);
    let place = u32::try_from(claims.iter().position(|one| *one == leaf)?).ok()?;
    let count = u32::try_from(claims.len()).ok()?;
    let tree = Tree::of(claims);
    Some((tree.root(), count, place, tree.path(place)?))
}

fn lot(judged: &Proof, rate: &proof::RateView, drawn: &Drawn, claim: &Claim) -> Result<Lot, Missing> {
    let missing = Missing::Round { round: judged.round, attempt: judged.attempt };
    let (root, count, place, path) = place_of(drawn.claims.clone(), claim).ok_or(missing)?;
    let round = Round { number: judged.round, root, count, place, path };
    let proof::RateView { record, loses, exposure, .. } = *rate;
    let record = Record { good: record.good, bad: record.bad, loses, exposure };
    Ok(Lot { round, source: drawn.source.clone(), seed: drawn.seed, record })
}

fn audit(judged: &Proof, note: &AuditNote, claim: &Claim, filed: &Filed<'_>) -> Result<Audit, Missing> {
    let jurors = note.jurors.clone();
    // Answers that nobody has compared when the job ended are none.
    let compared = note.answers.iter().filter_map(|answer| Some((answer, answer.side?)));
    let answers = compared.map(|(answer, side)| {
        let AnswerNote { attempt, output, claimed: ran, .. } = *answer;
        let claim = Claim { attempt, task: judged.task, output, ran };
        let commitment = commitment(filed, claim, &answer.key, answer.batch)?;
        let AnswerNote { key: auditor, distance, tolerated, .. } = *answer;
        Ok(Answer { auditor, commitment, side, distance, tolerated })
    });
    let answers = answers.collect::<Result<Vec<Answer>, Missing>>()?;
    let order = proof::auditors(&note.seed, &claim_hash(claim), 0, &reckon::candidates(&jurors), jurors.len());
    let has_answered = |key: &WorkerKey| answers.iter().any(|answer| answer.auditor == *key);
    let first = order.into_iter().map(|at| jurors[at].key).find(has_answered);
    let polls = [first.into_iter().collect()].into_iter().chain(note.polls.iter().map(|poll| poll.drawn.clone()));
    let polls = polls.map(|drawn| Poll { drawn, votes: Vec::new() }).collect();
    let referees = note.referees.iter().filter(|referee| has_answered(&referee.key)).copied().collect();
    Ok(Audit { answers, sample: note.sample, polls, rivals: note.rivals.clone(), referees, jurors })
}
