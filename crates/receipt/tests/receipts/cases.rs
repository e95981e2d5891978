//! What a receipt says when all is well.
use gleaner_receipt::sample::{Case, World};
use gleaner_receipt::{guilty, seal, verify};
use gleaner_wire::receipt::{Facts, Payout, Side, Verdict};
use gleaner_wire::{Amount, Runtime};

/// What each case must come to.
pub fn verdict(case: Case) -> Verdict {
    match case {
        Case::NotDrawn => Verdict::NotDrawn,
        Case::Agreed | Case::Close => Verdict::Agreed,
        Case::Upheld | Case::JurorsPicture => Verdict::Upheld,
        Case::Refuted | Case::TwoLies | Case::Refereed | Case::Confirmed => Verdict::Refuted,
        Case::Noise | Case::Picture => Verdict::Refuted,
        Case::Undecided | Case::Alone => Verdict::Undecided,
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
fn a_bond_is_at_most_a_tenth_of_what_is_paid_and_of_nothing_else() {
    let withheld = |bond: u64, gross: u64, platform: u64| {
        holds(Case::NotDrawn, |facts| {
            (facts.price.bond, facts.price.gross, facts.price.sum_after) = (Amount(bond), Amount(gross), Amount(gross));
            facts.payout = Payout { worker: Amount(gross - platform), platform: Amount(platform) };
        })
    };
    assert!(withheld(75_000_030, 675_000_270, 101_250_040));
    assert!(!withheld(75_000_030, 675_000_271, 101_250_040), "the price is not less by it");
    assert!(!withheld(75_000_031, 675_000_269, 101_250_040), "more than a tenth");
    assert!(!holds(Case::Refuted, |facts| facts.price.bond = Amount(1)), "nothing is paid, so nothing is withheld");
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
    for case in [Case::Undecided, Case::NotRepeatable, Case::Alone] {
        assert_eq!(World::new().receipt(case).facts.deductions, []);
    }
}

#[test]
fn a_picture_that_has_nothing_in_common_with_the_others_is_a_lie_and_a_little_noise_is_none() {
    let mut world = World::new();
    let losers = |facts: &Facts| facts.deductions.iter().map(|deduction| deduction.worker).collect::<Vec<_>>();
    let [lie, noise, juror] = [Case::Picture, Case::Noise, Case::JurorsPicture].map(|case| world.receipt(case).facts);
    assert_eq!((lie.verdict, noise.verdict), (Verdict::Refuted, Verdict::Refuted), "neither is paid");
    assert_eq!((losers(&lie), losers(&noise)), (vec![lie.placement.worker], vec![]));
    let first = juror.audit.as_ref().expect("it was audited").polls[0].drawn[0];
    assert_eq!(losers(&juror), [first]);
}

/// Whether a receipt holds that its hub has altered and signed again.
fn holds(case: Case, alter: impl FnOnce(&mut Facts)) -> bool {
    let mut world = World::new();
    let mut facts = world.receipt(case).facts;
    alter(&mut facts);
    verify(&seal(facts, &world.hub)).is_ok()
}

#[test]
fn a_hub_may_spare_whoever_lied_about_a_picture_and_blame_nobody_else() {
    assert!(
        holds(Case::Picture, |facts| facts.deductions.clear()),
        "it may not know yet what honest devices differ by"
    );
    assert!(!holds(Case::Refuted, |facts| facts.deductions.clear()), "bytes differ or they do not");
    let lost = World::new().receipt(Case::Picture).facts.deductions;
    assert!(!holds(Case::Picture, |facts| facts.deductions.push(lost[0])), "once for each");
    assert!(!holds(Case::Noise, |facts| facts.deductions = lost), "noise is no lie");
}

#[test]
fn a_program_that_sees_its_machine_and_a_wrong_checkpoint_cost_the_worker_nothing() {
    assert!(!holds(Case::Refuted, |facts| facts.placement.runtime = Runtime::Container));
    assert!(holds(Case::Refuted, |facts| {
        facts.placement.runtime = Runtime::Container;
        facts.deductions.clear();
    }));
    assert!(!holds(Case::Refuted, |facts| facts.placement.resumed = true));
    assert!(holds(Case::Refuted, |facts| {
        facts.placement.resumed = true;
        _ = facts.deductions.remove(0);
    }));
}
