//! What a receipt says when all is well.
use gleaner_receipt::sample::{Case, World};
use gleaner_receipt::{guilty, verify};
use gleaner_wire::Amount;
use gleaner_wire::receipt::{Payout, Side, Verdict};

/// What each case must come to.
pub fn verdict(case: Case) -> Verdict {
    match case {
        Case::NotDrawn => Verdict::NotDrawn,
        Case::Agreed | Case::Close => Verdict::Agreed,
        Case::Upheld => Verdict::Upheld,
        Case::Refuted | Case::TwoLies | Case::Refereed | Case::Confirmed => Verdict::Refuted,
        Case::Undecided => Verdict::Undecided,
        Case::NotRepeatable => Verdict::NotRepeatable,
        Case::NobodyToCheck => Verdict::NobodyToCheck,
        Case::NotAsked => Verdict::NotAsked,
        Case::JobEnded => Verdict::JobEnded,
    }
}

#[test]
fn receipts_of_every_verdict_hold() {
    let mut world = World::new();
    for case in Case::ALL {
        let receipt = world.receipt(case);
        assert_eq!(receipt.facts.verdict, verdict(case));
        verify(&receipt).unwrap_or_else(|faults| panic!("{case:?}: {faults:#?}"));
        let bytes = gleaner_wire::encode(&receipt).len();
        assert!(bytes < 40_000, "{case:?} has {bytes} bytes");
    }
}

#[test]
fn two_and_a_half_seconds_at_0_3_gln_are_paid_85_to_15() {
    let receipt = World::new().receipt(Case::NotDrawn);
    assert_eq!(receipt.facts.price.gross, Amount(750_000_300));
    assert_eq!(receipt.facts.payout, Payout { worker: Amount(637_500_255), platform: Amount(112_500_045) });
}

#[test]
fn a_refuted_claim_costs_the_worker_and_its_friend_and_nobody_else() {
    let receipt = World::new().receipt(Case::Refuted);
    let facts = &receipt.facts;
    assert_eq!((facts.payout, facts.price.sum_after), (Payout::default(), facts.price.sum_before));
    let audit = facts.audit.as_ref().expect("it was audited");
    let friend = audit.answers.iter().find(|answer| answer.side == Side::Claim).expect("one agrees with the liar");
    let losers: Vec<_> = facts.deductions.iter().map(|deduction| deduction.worker).collect();
    assert_eq!(losers, [facts.placement.worker, friend.auditor]);
    assert_eq!(guilty(&receipt), Ok(true));
}

#[test]
fn whoever_lies_in_its_own_way_loses_beside_the_worker() {
    for case in [Case::TwoLies, Case::Confirmed] {
        let receipt = World::new().receipt(case);
        let audit = receipt.facts.audit.as_ref().expect("it was audited");
        let first = audit.polls[0].drawn[0];
        assert_eq!(audit.rivals.len(), 2, "{case:?}: the first juror's answer, and that of all others");
        let losers: Vec<_> = receipt.facts.deductions.iter().map(|deduction| deduction.worker).collect();
        assert_eq!(losers, [receipt.facts.placement.worker, first], "{case:?}");
    }
}

#[test]
fn a_juror_that_was_outvoted_loses_and_the_worker_does_not() {
    let receipt = World::new().receipt(Case::Upheld);
    let audit = receipt.facts.audit.as_ref().expect("it was audited");
    assert_eq!(receipt.facts.deductions.len(), 1);
    assert_eq!(receipt.facts.deductions[0].worker, audit.polls[0].drawn[0]);
    assert_eq!(guilty(&receipt), Ok(false));
}

#[test]
fn what_nobody_can_decide_costs_nobody() {
    for case in [Case::Undecided, Case::NotRepeatable] {
        assert_eq!(World::new().receipt(case).facts.deductions, []);
    }
}
