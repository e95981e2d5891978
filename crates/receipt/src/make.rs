//! Making receipts: from what a hub knows of a task to a receipt that holds. Whatever follows from something else is reckoned
//! here and cannot be said otherwise.
use std::collections::BTreeMap;

use ed25519_dalek::SigningKey;
use gleaner_core::proof;
use gleaner_wire::receipt::{
    Audit, Commitment, Draw, Facts, Meter, Ordered, Placement, Price, Record, Round, Seed, TaskReceipt, VERSION,
    Verdict, claim_hash,
};
use gleaner_wire::{Amount, Check, Hash, Millis, WorkerKey};

use crate::reckon;
use crate::sign::{public, seal};

/// What a hub knows of a task that is settled.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Whose money it is, if there is a chain.
    pub order: Option<Ordered>,
    /// The hash of the job file as it was sent.
    pub job: Hash,
    /// Which one of the job's receipts this is, from 0.
    pub number: u64,
    /// The hash of the one before.
    pub previous: Option<Hash>,
    /// Where the task ran, and why there.
    pub placement: Placement,
    /// When it was placed.
    pub placed: Millis,
    /// When its result was there.
    pub finished: Millis,
    /// What was set aside for it.
    pub hold: Amount,
    /// The platform's share in hundredths of a percent.
    pub share_points: u32,
    /// What was paid for this worker's part of the job before.
    pub sum_before: Amount,
    /// What the worker signed.
    pub commitment: Commitment,
    /// How the job asks for results to be compared.
    pub check: Check,
    /// What the lot was drawn by, if it was.
    pub lot: Option<Lot>,
    /// Who was asked, if anybody was. Counts of polls are reckoned.
    pub audit: Option<Audit>,
    /// Whether the job ended before the claim was judged.
    pub ended: bool,
    /// What each of the workers loses by a wrong answer.
    pub stakes: BTreeMap<WorkerKey, Amount>,
}

/// What a lot is drawn by.
#[derive(Clone, Debug)]
pub struct Lot {
    /// Where the claim stands in its round.
    pub round: Round,
    /// Where the seed comes from.
    pub source: Seed,
    /// The seed.
    pub seed: Hash,
    /// What is known of the worker.
    pub record: Record,
}

/// Makes the receipt of a settled task.
pub fn make(parts: Parts, hub: &SigningKey) -> TaskReceipt {
    let claim = parts.commitment.claim;
    let draw = parts.lot.map(|lot| drawn(lot, &parts.commitment));
    let audit = parts.audit.map(counted);
    let verdict = if parts.ended { reckon::verdict_if_ended(draw.as_ref(), audit.as_ref()) } else { None };
    let verdict = verdict.unwrap_or_else(|| reckon::verdict(parts.check, draw.as_ref(), audit.as_ref()));
    let ran = Meter::counted(parts.placed, parts.finished, claim.ran);
    let gross = reckon::gross(parts.placement.per_second, ran, parts.hold);
    let price = price(gross, parts.hold, parts.share_points, parts.sum_before, verdict);
    let payout = reckon::payout(&price, verdict).unwrap_or_default();
    let mut deductions = reckon::losers(&parts.placement, &claim, parts.check, audit.as_ref(), verdict);
    for deduction in &mut deductions {
        deduction.amount = parts.stakes.get(&deduction.worker).copied().unwrap_or_default();
    }
    let facts = Facts {
        version: VERSION,
        hub: public(hub),
        order: parts.order,
        job: parts.job,
        task: claim.task,
        number: parts.number,
        previous: parts.previous,
        placement: parts.placement,
        meter: Meter { placed: parts.placed, finished: parts.finished, ran },
        price,
        commitment: parts.commitment,
        check: parts.check,
        draw,
        audit,
        verdict,
        payout,
        deductions,
    };
    seal(facts, hub)
}

fn price(gross: Amount, hold: Amount, share_points: u32, sum_before: Amount, verdict: Verdict) -> Price {
    let paid = if verdict.pays() { gross } else { Amount::ZERO };
    let sum_after = Amount(sum_before.0.saturating_add(paid.0));
    Price { hold, gross, share_points: share_points.min(reckon::SHARE_POINTS_MAX), sum_before, sum_after }
}

fn drawn(lot: Lot, commitment: &Commitment) -> Draw {
    let Lot { round, source, seed, record } = lot;
    let (claim, rate) = (claim_hash(&commitment.claim), reckon::rate(&record));
    let selected = proof::is_selected(&seed, &claim, rate);
    let piece = proof::piece(&seed, &claim, commitment.claim.pieces);
    Draw { round, source, seed, record, rate, selected, piece }
}

fn counted(mut audit: Audit) -> Audit {
    for at in 0..audit.polls.len() {
        audit.polls[at].votes = reckon::count(&audit, &audit.polls[at].drawn);
    }
    audit
}
