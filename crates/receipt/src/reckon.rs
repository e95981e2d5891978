//! What follows from what: money from time, votes from answers, a verdict from votes, losses from a verdict.
//!
//! Makers and verifiers of receipts reckon by these same functions. The rules of the draw and of the vote are the ones of
//! `gleaner_core::proof`, in the numbers that stand for this version of receipts.
use gleaner_core::proof::{self, Candidate, Last, Policy, RateView, Step, Vote};
use gleaner_wire::check::{Check, Compared};
use gleaner_wire::receipt::{
    Answer, Audit, Claim, Deduction, Draw, Juror, Payout, Placement, Poll, Price, Record, Side, Verdict, claim_hash,
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
    let known = proof::Record { good, bad, ..Default::default() };
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
    let counts = |answer: &&Answer| !audit.referees.contains(&answer.auditor) || heard.contains(&answer.auditor);
    let answers: Vec<&Answer> = audit.answers.iter().filter(counts).collect();
    let sides: Vec<Side> = answers.iter().map(|answer| answer.side).collect();
    let referee = heard.iter().find(|key| !audit.jurors.iter().any(|juror| juror.key == **key));
    let place = referee.and_then(|referee| answers.iter().position(|answer| answer.auditor == *referee));
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

/// What comes of a claim whose job ended before: what nobody has contested is paid as it is.
pub(crate) fn verdict_if_ended(draw: Option<&Draw>, audit: Option<&Audit>) -> Option<Verdict> {
    let waits = draw.is_none_or(|draw| draw.selected);
    match audit.and_then(first_answer) {
        None => waits.then_some(Verdict::JobEnded),
        Some(first) => (waits && !agrees(first)).then_some(Verdict::Undecided),
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
    let winner = match verdict {
        Verdict::Upheld | Verdict::Refuted => audit.and_then(winner),
        Verdict::NotAsked
        | Verdict::NotDrawn
        | Verdict::Agreed
        | Verdict::NotRepeatable
        | Verdict::Undecided
        | Verdict::NobodyToCheck
        | Verdict::JobEnded => None,
    };
    let (Some(winner), Some(audit)) = (winner, audit) else { return Vec::new() };
    let loss =
        |worker, provider, claim| Deduction { worker, provider, amount: Amount::ZERO, evidence: claim_hash(claim) };
    let mut losers = Vec::new();
    if winner != Side::Claim {
        losers.push(loss(placement.worker, placement.provider, claim));
    }
    for answer in audit.answers.iter().filter(|answer| answer.side != winner) {
        let juror = audit.jurors.iter().find(|juror| juror.key == answer.auditor);
        let provider = juror.and_then(|juror| juror.provider);
        losers.push(loss(answer.auditor, provider, &answer.commitment.claim));
    }
    losers
}
