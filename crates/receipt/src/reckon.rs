//! What follows from what: money from time, votes from answers, a verdict from votes, losses from a verdict.
//!
//! Makers and verifiers of receipts reckon by these same functions. The rules of the draw and of the vote are the ones of
//! `gleaner_core::proof`, in the numbers that stand for this version of receipts.
use gleaner_core::proof::{Candidate, Policy, RateView, Step, Vote};
use gleaner_wire::check::{Check, Compared};
use gleaner_wire::receipt::{
    Answer, Audit, Claim, Deduction, Draw, Juror, Payout, Placement, Poll, Price, Record, Verdict, claim_hash,
};
use gleaner_wire::{Amount, Micros, WorkerKey};

/// The greatest share that there is, in hundredths of a percent.
pub(crate) const SHARE_POINTS_MAX: u32 = 10_000;

/// What a run costs the requester.
pub(crate) fn gross(per_second: Amount, ran: Micros, hold: Amount) -> Amount {
    per_second.per_second_over(ran).min(hold)
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
    let known = gleaner_core::proof::Record { good, bad, ..Default::default() };
    RateView::of(&Policy::default(), &known, loses, exposure).rate
}

/// Whether two claims are of the very same result.
pub(crate) fn is_identical(one: &Claim, other: &Claim) -> bool {
    (one.output, one.pieces, one.root) == (other.output, other.pieces, other.root)
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

/// How many of those who were drawn agree with the claim, and how many with the first answer that does not.
pub(crate) fn count(audit: &Audit, drawn: &[WorkerKey]) -> (u32, u32) {
    let answers = || drawn.iter().filter_map(|auditor| answer_of(audit, auditor));
    let agree = answers().filter(|answer| answer.agrees).count();
    let differ = answers().filter(|answer| answer.like_rival == Some(true)).count();
    (u32::try_from(agree).unwrap_or(u32::MAX), u32::try_from(differ).unwrap_or(u32::MAX))
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
    let mut vote = if audit.referee.is_some() && audit.polls.len() <= 1 {
        Vote::beside_referees(&policy, audit.jurors.iter().filter(|juror| !juror.gone).count())
    } else {
        Vote::new(&policy, audit.sample as usize)
    };
    let mut superfluous = 0;
    for Poll { drawn, .. } in audit.polls.iter().skip(1) {
        if vote.step() == Step::Again {
            let (agree, differ) = count(audit, drawn);
            vote.count(agree, differ);
        } else {
            superfluous += 1;
        }
    }
    (vote.step(), superfluous)
}

/// Whether every answer is another one: then the program is to blame.
pub(crate) fn is_unrepeatable(audit: &Audit) -> bool {
    let jurors = || audit.answers.iter().filter(|answer| Some(answer.auditor) != audit.referee);
    let alike = jurors().filter(|answer| answer.like_rival == Some(true)).count();
    jurors().all(|answer| !answer.agrees) && jurors().count() > 1 && alike == 1
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
    if first.agrees {
        return Verdict::Agreed;
    }
    match vote(audit).0 {
        Step::Decided(true) => Verdict::Upheld,
        Step::Decided(false) => Verdict::Refuted,
        Step::Again => Verdict::Undecided,
        Step::Undecided if is_unrepeatable(audit) => Verdict::NotRepeatable,
        Step::Undecided => refereed(audit, first),
    }
}

/// What the platform's own worker says where the others did not decide.
fn refereed(audit: &Audit, first: &Answer) -> Verdict {
    let Some(answer) = audit.referee.and_then(|referee| answer_of(audit, &referee)) else { return Verdict::Undecided };
    match answer.like_rival {
        None if answer.agrees => Verdict::Upheld,
        Some(true) if answer.auditor != first.auditor => Verdict::Refuted,
        Some(_) | None => Verdict::Undecided,
    }
}

/// What comes of a claim whose job ended before: what nobody has contested is paid as it is.
pub(crate) fn verdict_if_ended(draw: Option<&Draw>, audit: Option<&Audit>) -> Option<Verdict> {
    let waits = draw.is_none_or(|draw| draw.selected);
    match audit.and_then(first_answer) {
        None => waits.then_some(Verdict::JobEnded),
        Some(first) => (waits && !first.agrees).then_some(Verdict::Undecided),
    }
}

/// Whose answers a verdict finds wrong, with the hash of each: the worker first, then others as they stand in the audit.
/// The amounts are zero; what is lost depends on what is staked.
pub fn losers(
    placement: &Placement,
    claim: &Claim,
    check: Check,
    audit: Option<&Audit>,
    verdict: Verdict,
) -> Vec<Deduction> {
    // Where answers may differ a little, nobody loses its stake by it.
    if check != Check::Exact {
        return Vec::new();
    }
    let wrong = match verdict {
        Verdict::Upheld => false,
        Verdict::Refuted => true,
        Verdict::NotAsked
        | Verdict::NotDrawn
        | Verdict::Agreed
        | Verdict::NotRepeatable
        | Verdict::Undecided
        | Verdict::NobodyToCheck
        | Verdict::JobEnded => return Vec::new(),
    };
    let loss =
        |worker, provider, claim| Deduction { worker, provider, amount: Amount::ZERO, evidence: claim_hash(claim) };
    let mut losers = Vec::new();
    if wrong {
        losers.push(loss(placement.worker, placement.provider, claim));
    }
    if let Some(audit) = audit {
        for answer in audit.answers.iter().filter(|answer| answer.agrees == wrong) {
            let juror = audit.jurors.iter().find(|juror| juror.key == answer.auditor);
            let provider = juror.and_then(|juror| juror.provider);
            losers.push(loss(answer.auditor, provider, &answer.commitment.claim));
        }
    }
    losers
}
