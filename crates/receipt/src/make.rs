//! Making receipts: from what a hub knows of a task to a receipt that holds. Whatever follows from something else is reckoned
//! here and cannot be said otherwise.
use std::collections::BTreeMap;

use ed25519_dalek::SigningKey;
use gleaner_core::proof;
use gleaner_wire::receipt::{
    Audit, Commitment, Draw, Facts, Meter, Ordered, Owned, Placement, Price, Record, Round, Seed, TaskReceipt, VERSION,
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
    /// The word of those who own the workers in it.
    pub owners: Vec<Owned>,
    /// When it was placed.
    pub placed: Millis,
    /// When its result was there.
    pub finished: Millis,
    /// What was set aside for it.
    pub hold: Amount,
    /// What is withheld of the worker's pay because it won auctions and did not start.
    pub bond: Amount,
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
    /// How the claim was left if nobody judged it: its job ended, or nobody could check it.
    pub left: Option<Verdict>,
    /// Whether it was known well enough what honest devices differ by for somebody to lose stake for a difference.
    pub blames: bool,
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
    let left = parts.left.filter(|left| reckon::may_be_left(*left, draw.as_ref(), audit.as_ref()));
    let verdict = left.unwrap_or_else(|| reckon::verdict(parts.check, draw.as_ref(), audit.as_ref()));
    let ran = Meter::counted(parts.placed, parts.finished, claim.ran);
    let full = reckon::full(parts.placement.per_second, ran, parts.hold);
    let bond = if verdict.pays() { parts.bond.min(reckon::bond_max(full)) } else { Amount::ZERO };
    let gross = Amount(full.0 - bond.0);
    let (hold, sum_before) = (parts.hold, parts.sum_before);
    let sum_after = Amount(sum_before.0.saturating_add(if verdict.pays() { gross.0 } else { 0 }));
    let share_points = parts.share_points.min(reckon::SHARE_POINTS_MAX);
    let price = Price { hold, bond, gross, share_points, sum_before, sum_after };
    let payout = reckon::payout(&price, verdict).unwrap_or_default();
    let losers = reckon::losers(&parts.placement, &claim, parts.check, audit.as_ref(), verdict);
    let mut deductions = if parts.blames { losers } else { Vec::new() };
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
        owners: parts.owners,
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

fn drawn(lot: Lot, commitment: &Commitment) -> Draw {
    let Lot { round, source, seed, record } = lot;
    let (claim, rate) = (claim_hash(&commitment.claim), reckon::rate(&record));
    let selected = proof::is_selected(&seed, &claim, rate);
    Draw { round, source, seed, record, rate, selected }
}

fn counted(mut audit: Audit) -> Audit {
    for at in 0..audit.polls.len() {
        audit.polls[at].votes = reckon::count(&audit, &audit.polls[at].drawn);
    }
    audit
}
