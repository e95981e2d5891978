//! What follows from what: money from time, votes from answers, a verdict from votes, losses from a verdict.
//!
//! Makers and verifiers of receipts reckon by these same functions. The rules of the draw and of the vote are the ones of
//! `gleaner_core::proof`, in the numbers that stand for this version of receipts.
use std::collections::BTreeSet;

use gleaner_core::market::WITHHELD_POINTS;
use gleaner_core::proof::{self, Candidate, Costs, Last, Policy, RateView, Step, Vote};
use gleaner_wire::check::{Check, Compared};
use gleaner_wire::receipt::{
    Answer, Audit, Claim, Deduction, Draw, Juror, Payout, Placement, Poll, Price, Record, Side, Verdict, claim_hash,
};
use gleaner_wire::{Address, Amount, Micros, WorkerKey};

/// The greatest share that there is, in hundredths of a percent.
pub(crate) const SHARE_POINTS_MAX: u32 = 10_000;

/// What a run costs the requester if no bond is withheld.
pub(crate) fn full(per_second: Amount, ran: Micros, hold: Amount) -> Amount {
    per_second.per_second_over(ran).min(hold)
}

/// The most that may be withheld of a pay.
pub(crate) fn bond_max(full: Amount) -> Amount {
    full.basis_points(WITHHELD_POINTS)
}

/// Who gets what; nothing if the price does not hold together.
pub(crate) fn payout(price: &Price, verdict: Verdict) -> Option<Payout> {
    if !verdict.pays() {
        return Some(Payout::default());
    }
    let points = price.share_points.min(SHARE_POINTS_MAX);
    let platform = price.sum_after.basis_points(points).checked_sub(price.sum_before.basis_points(points))?;
    Some(Payout { worker: price.gross.checked_sub(platform)?, platform })
}

/// How many of a million claims of a worker with this record are checked.
pub(crate) fn rate(record: &Record) -> u32 {
    let Record { good, bad, loses, exposure } = *record;
    let known = proof::Record { good, bad, ..Default::default() };
    RateView::of(&Policy::default(), &known, loses, exposure).rate
}

/// Whether two claims are of the very same result.
pub(crate) fn is_identical(one: &Claim, other: &Claim) -> bool {
    one.output == other.output
}

/// What a comparison of two claims must come to; nothing if somebody has to look at the results.
pub(crate) fn compared(check: Check, one: &Claim, other: &Claim) -> Option<Compared> {
    if is_identical(one, other) {
        return Some(Compared::SAME);
    }
    let delivered = one.output.is_some() && other.output.is_some();
    match check {
        Check::None | Check::Exact => Some(Compared::APART),
        Check::Numeric { .. } | Check::Image { .. } | Check::Program { .. } => (!delivered).then_some(Compared::APART),
    }
}

/// Jurors as lots are drawn among them.
pub(crate) fn candidates(jurors: &[Juror]) -> Vec<Candidate> {
    jurors.iter().map(|juror| Candidate { key: juror.key, weight: juror.weight }).collect()
}

/// What one of those who answered said.
pub(crate) fn answer_of<'a>(audit: &'a Audit, auditor: &WorkerKey) -> Option<&'a Answer> {
    audit.answers.iter().find(|answer| answer.auditor == *auditor)
}

/// Somebody among those whom lots were drawn for.
pub(crate) fn juror_of<'a>(audit: &'a Audit, key: &WorkerKey) -> Option<&'a Juror> {
    audit.jurors.iter().find(|juror| juror.key == *key)
}

/// Whether somebody was asked after the polls.
pub(crate) fn is_referee(audit: &Audit, key: &WorkerKey) -> bool {
    audit.referees.iter().any(|referee| referee.key == *key)
}

/// Who owns somebody who answered.
pub(crate) fn provider_of(audit: &Audit, auditor: &WorkerKey) -> Option<Address> {
    let referee = || audit.referees.iter().find(|referee| referee.key == *auditor)?.provider;
    juror_of(audit, auditor).map_or_else(referee, |juror| juror.provider)
}

/// Every worker in a receipt that has an owner, with that owner, in the order in which their owners' words stand in it.
pub(crate) fn owned(placement: &Placement, audit: Option<&Audit>) -> Vec<(WorkerKey, Address)> {
    let jurors = audit.iter().flat_map(|audit| audit.jurors.iter().map(|juror| (juror.key, juror.provider)));
    let referees = audit.iter().flat_map(|audit| audit.referees.iter().map(|referee| (referee.key, referee.provider)));
    let all = [(placement.worker, placement.provider)].into_iter().chain(jurors).chain(referees);
    let mut seen = BTreeSet::new();
    let owned = all.filter_map(|(worker, provider)| Some((worker, provider?)));
    owned.filter(|pair| seen.insert(*pair)).collect()
}

/// How many of those who were drawn are on each side.
pub(crate) fn count(audit: &Audit, drawn: &[WorkerKey]) -> Vec<u32> {
    let answers = drawn.iter().filter_map(|auditor| answer_of(audit, auditor));
    Side::counts(answers.map(|answer| answer.side), audit.rivals.len())
}

/// Whether an answer agrees with the claim.
pub(crate) fn agrees(answer: &Answer) -> bool {
    answer.side == Side::Claim
}

/// The first answer: the one of whom the lot fell on first.
pub(crate) fn first_answer(audit: &Audit) -> Option<&Answer> {
    answer_of(audit, audit.polls.first()?.drawn.first()?)
}

/// How many each poll of a vote may ask, given those who are there in the end and those who were at the beginning.
pub(crate) fn samples(jurors: &[Juror]) -> std::ops::RangeInclusive<u32> {
    let most = Policy::default().poll;
    let bounded = |count: usize| u32::try_from(count).unwrap_or(most).min(most);
    bounded(jurors.iter().filter(|juror| !juror.gone).count())..=bounded(jurors.len())
}

/// Where a vote stands after its polls, and how many of them were superfluous. A referee who is at hand need not leave it to
/// a handful of jurors.
pub(crate) fn vote(audit: &Audit) -> (Step, usize) {
    let policy = Policy::default();
    let mut vote = if !audit.referees.is_empty() && audit.polls.len() <= 1 {
        Vote::beside_referees(&policy, audit.jurors.iter().filter(|juror| !juror.gone).count())
    } else {
        Vote::new(&policy, audit.sample as usize)
    };
    let mut superfluous = 0;
    for Poll { drawn, .. } in audit.polls.iter().skip(1) {
        if vote.step() == Step::Again {
            vote.count(&count(audit, drawn));
        } else {
            superfluous += 1;
        }
    }
    (vote.step(), superfluous)
}

/// What follows from all answers where the polls did not decide, without the last so many of those who were asked after them.
pub(crate) fn last_word(audit: &Audit, without: usize) -> Last {
    let heard = &audit.referees[..audit.referees.len().saturating_sub(without)];
    let is_heard = |key: &WorkerKey| heard.iter().any(|referee| referee.key == *key);
    let counts = |answer: &&Answer| !is_referee(audit, &answer.auditor) || is_heard(&answer.auditor);
    let answers: Vec<&Answer> = audit.answers.iter().filter(counts).collect();
    let sides: Vec<Side> = answers.iter().map(|answer| answer.side).collect();
    let referee = heard.iter().find(|referee| juror_of(audit, &referee.key).is_none());
    let place = referee.and_then(|referee| answers.iter().position(|answer| answer.auditor == referee.key));
    proof::last_word(&sides, place)
}

/// What comes of a claim, if its job did not end before.
pub(crate) fn verdict(check: Check, draw: Option<&Draw>, audit: Option<&Audit>) -> Verdict {
    let Some(draw) = draw else {
        return if check == Check::None { Verdict::NotAsked } else { Verdict::JobEnded };
    };
    if !draw.selected {
        return Verdict::NotDrawn;
    }
    let Some((audit, first)) = audit.and_then(|audit| Some((audit, first_answer(audit)?))) else {
        return Verdict::NobodyToCheck;
    };
    if agrees(first) {
        return Verdict::Agreed;
    }
    match (winner(audit), vote(audit).0) {
        (Some(Side::Claim), _) => Verdict::Upheld,
        (Some(Side::Rival(_) | Side::Alone), _) => Verdict::Refuted,
        (None, Step::Undecided) if last_word(audit, 0) == Last::Unrepeatable => Verdict::NotRepeatable,
        (None, Step::Undecided | Step::Again | Step::Decided(_)) => Verdict::Undecided,
    }
}

/// The side that a vote, or who was asked after it, has found to be right.
pub(crate) fn winner(audit: &Audit) -> Option<Side> {
    match vote(audit).0 {
        Step::Decided(side) => Some(side),
        Step::Again => None,
        Step::Undecided => match last_word(audit, 0) {
            Last::Decided(side) => Some(side),
            Last::Unrepeatable | Last::Undecided => None,
        },
    }
}

/// Whether a claim may have been left without being judged, with this verdict. A job that ends pays what nobody has contested
/// as it is. Where nobody could check it, but others could be checked who do the task, it is not paid.
pub(crate) fn may_be_left(verdict: Verdict, draw: Option<&Draw>, audit: Option<&Audit>) -> bool {
    let waits = draw.is_none_or(|draw| draw.selected);
    let is_contested = audit.and_then(first_answer).map(|first| !agrees(first));
    match verdict {
        Verdict::JobEnded => waits && is_contested.is_none(),
        Verdict::Undecided => waits && is_contested.unwrap_or(draw.is_some()),
        Verdict::NotAsked
        | Verdict::NotDrawn
        | Verdict::Agreed
        | Verdict::Upheld
        | Verdict::Refuted
        | Verdict::NotRepeatable
        | Verdict::NobodyToCheck => false,
    }
}

/// The side that a verdict found right, if somebody may lose by it.
pub(crate) fn side_upheld(audit: &Audit, verdict: Verdict) -> Option<Side> {
    match verdict {
        Verdict::Upheld | Verdict::Refuted => winner(audit),
        Verdict::NotAsked
        | Verdict::NotDrawn
        | Verdict::Agreed
        | Verdict::NotRepeatable
        | Verdict::Undecided
        | Verdict::NobodyToCheck
        | Verdict::JobEnded => None,
    }
}

/// Whose answers cost them stake by a verdict, with the hash of each: the worker first, then others as they stand in the audit.
/// Where that takes a lie, a hub may spare them. The amounts are zero; what is lost depends on what is staked.
pub fn losers(
    placement: &Placement,
    claim: &Claim,
    check: Check,
    audit: Option<&Audit>,
    verdict: Verdict,
) -> Vec<Deduction> {
    let Some(audit) = audit else { return Vec::new() };
    let Some(winner) = side_upheld(audit, verdict) else { return Vec::new() };
    let costs = Costs::of(check, placement.runtime);
    let loss =
        |worker, provider, claim| Deduction { worker, provider, amount: Amount::ZERO, evidence: claim_hash(claim) };
    let mut losers = Vec::new();
    // Whoever went on from a checkpoint may have been given a wrong one.
    if !placement.resumed && claim_costs_stake(costs, audit, winner) {
        losers.push(loss(placement.worker, placement.provider, claim));
    }
    for answer in audit.answers.iter().filter(|answer| answer_costs_stake(costs, answer, winner)) {
        losers.push(loss(answer.auditor, provider_of(audit, &answer.auditor), &answer.commitment.claim));
    }
    losers
}

/// Whether the claim costs its worker stake: everybody on the right side must be as far from it as the rule asks for.
fn claim_costs_stake(costs: Costs, audit: &Audit, winner: Side) -> bool {
    let right: Vec<&Answer> = audit.answers.iter().filter(|answer| answer.side == winner).collect();
    winner != Side::Claim
        && !right.is_empty()
        && right.iter().all(|answer| costs.takes(answer.distance, answer.tolerated))
}

/// Whether an answer costs its maker stake. How far apart two answers are is known only if one of them is the claim: where that
/// is not the right one, and a difference alone is not enough, whoever answered loses nothing.
fn answer_costs_stake(costs: Costs, answer: &Answer, winner: Side) -> bool {
    let is_measured = match costs {
        Costs::Trust | Costs::Stake => true,
        Costs::StakeForLies => winner == Side::Claim,
    };
    answer.side != winner && is_measured && costs.takes(answer.distance, answer.tolerated)
}
