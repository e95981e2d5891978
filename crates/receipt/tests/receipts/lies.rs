//! A hub that alters its own receipts and signs them again is found out too, but for what it alone can know.
use std::collections::BTreeSet;

use gleaner_receipt::sample::{Case, World};
use gleaner_receipt::{Verifier, seal, verify};
use gleaner_wire::Hash;
use gleaner_wire::receipt::{Facts, Seed, Side, Verdict};

use crate::alter::leaves;

/// What a hub can say otherwise without being found out by one receipt alone. docs/receipts.md says the same in words.
const ITS_WORD: [&str; 33] = [
    // Why, where and when it ran: the worker signs how long.
    "facts.placement.class",
    "facts.placement.device",
    "facts.placement.market.mode",
    "facts.placement.market.tier",
    "facts.placement.why",
    // What kind of program it was, where the same follows; the job file says, whose hash is in the order.
    "facts.placement.runtime",
    "facts.placement.resumed",
    "facts.meter.placed",
    "facts.meter.finished",
    "facts.price.hold",
    // The share of what is not paid; where something is, the payouts follow from it, and the chain has the share.
    "facts.price.share_points",
    // Which task's file it was, where no order names it, and which receipts came before.
    "facts.job",
    "facts.number",
    "facts.previous",
    "facts.check.Image.pixel",
    "facts.check.Image.perceptual",
    // What it knows of its workers, as far as the same rate and the same lots follow.
    "facts.draw.round.number",
    "facts.draw.record.good",
    "facts.draw.record.bad",
    "facts.draw.record.loses",
    "facts.draw.record.exposure",
    "facts.audit.jurors",
    "facts.audit.jurors.key",
    "facts.audit.jurors.weight",
    "facts.audit.jurors.gone",
    // The seed that it drew itself, where the lot falls alike.
    "facts.draw.seed",
    // The order in which answers stand, what somebody measured who opened both, and what honest devices were seen to differ
    // by where the job lets the hub learn it.
    "facts.audit.answers.tolerated",
    "facts.audit.answers",
    "facts.audit.answers.distance",
    // That nobody was there, or that the job ended.
    "facts.verdict",
    "facts.audit",
    // How much is called in of a stake, and whether somebody is spared for whom it takes a lie.
    "facts.deductions.amount",
    "facts.deductions",
];

#[test]
fn a_hub_that_signs_something_else_is_found_out_but_for_what_it_alone_knows() {
    let (tried, believed) = believed(World::new(), &Case::ALL);
    assert!(tried > 10_000, "{tried} lies");
    let more: Vec<_> = believed.iter().filter(|path| !ITS_WORD.contains(&path.as_str())).collect();
    assert!(more.is_empty(), "a hub could also lie about {more:#?}");
    let less: Vec<_> = ITS_WORD.iter().filter(|path| !believed.contains(**path)).collect();
    assert!(less.is_empty(), "a hub could not lie about {less:#?}");
}

#[test]
fn a_hub_with_a_chain_cannot_say_more_and_owners_are_no_word_of_its() {
    let world = World::on_chain(1, Box::new(|root| (Seed::Hub, Hash::of(&root.0))));
    let (tried, believed) = believed(world, &[Case::NotDrawn, Case::Refuted, Case::Confirmed, Case::JurorsPicture]);
    assert!(tried > 10_000, "{tried} lies");
    let more: Vec<_> = believed.iter().filter(|path| !ITS_WORD.contains(&path.as_str())).collect();
    assert!(more.is_empty(), "a hub could also lie about {more:#?}");
    let owners = |path: &&String| path.contains("owners") || path.contains("provider") || path.contains("order");
    assert_eq!(believed.iter().find(owners), None);
}

/// How many lies a hub tried, and what they were about where it was not found out.
fn believed(mut world: World, cases: &[Case]) -> (usize, BTreeSet<String>) {
    let (mut tried, mut believed) = (0, BTreeSet::new());
    for case in cases {
        let receipt = world.receipt(*case);
        let mut verifier = Verifier::default();
        verifier.verify(&receipt).expect("it holds as it is");
        for altered in leaves(&receipt).into_iter().filter(|altered| altered.receipt.facts != receipt.facts) {
            tried += 1;
            if verifier.verify(&seal(altered.receipt.facts, &world.hub)).is_ok() {
                believed.insert(altered.path);
            }
        }
    }
    (tried, believed)
}

/// The faults of a receipt that the hub has altered and signed again.
fn lie(case: Case, alter: impl FnOnce(&mut Facts)) -> String {
    let mut world = World::new();
    let mut facts = world.receipt(case).facts;
    alter(&mut facts);
    let faults = verify(&seal(facts, &world.hub)).expect_err("a lie");
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn answers_cannot_be_dropped_swapped_or_turned_around() {
    let dropped = lie(Case::Refuted, |facts| _ = facts.audit.as_mut().expect("audited").answers.pop());
    assert!(dropped.contains("is missing; it must be there"), "{dropped}");
    let swapped = lie(Case::Upheld, |facts| {
        let answers = &mut facts.audit.as_mut().expect("audited").answers;
        let (one, other) = (answers[0].commitment.clone(), answers[1].commitment.clone());
        (answers[0].commitment, answers[1].commitment) = (other, one);
    });
    assert!(swapped.contains("which the key"), "{swapped}");
    let turned = lie(Case::Refuted, |facts| {
        facts.audit.as_mut().expect("audited").answers.iter_mut().for_each(|answer| answer.side = Side::Claim);
        facts.verdict = Verdict::Agreed;
    });
    assert!(turned.contains("agrees is true, but its result"), "{turned}");
}

#[test]
fn polls_cannot_be_dropped_and_jurors_cannot_be_chosen() {
    let dropped = lie(Case::Refuted, |facts| {
        facts.audit.as_mut().expect("audited").polls.truncate(2);
    });
    assert!(dropped.contains("the verdict is refuted"), "{dropped}");
    let chosen = lie(Case::Refuted, |facts| {
        let audit = facts.audit.as_mut().expect("audited");
        audit.polls[0].drawn[0] = audit.polls[1].drawn[1];
    });
    assert!(chosen.contains("who was asked in poll 0 is"), "{chosen}");
}

#[test]
fn a_path_of_another_claim_leads_nowhere() {
    let mut world = World::new();
    world.receipt(Case::NotDrawn);
    let other = world.receipt(Case::Agreed).facts;
    let taken = |facts: &mut Facts| facts.commitment.batch = other.commitment.batch.clone();
    let text = lie(Case::Refuted, taken);
    assert!(text.contains("is not at place 1 of 3 under the root"), "{text}");
    let text = lie(Case::Refuted, |facts| {
        let draw = facts.draw.as_mut().expect("drawn");
        draw.round.path = other.draw.as_ref().expect("drawn").round.path.clone();
        draw.round.path.reverse();
    });
    assert!(text.contains("the claim in round 1"), "{text}");
}

#[test]
fn a_juror_of_the_same_owner_is_none() {
    let text = lie(Case::Agreed, |facts| facts.audit.as_mut().expect("audited").jurors[3].key = facts.placement.worker);
    assert!(text.contains("a juror is"), "{text}");
}

#[test]
fn a_hub_cannot_pay_itself_more_or_count_more_time_than_passed() {
    let text = lie(Case::NotDrawn, |facts| facts.price.share_points = 20_000);
    assert!(text.contains("it must be at most 10000"), "{text}");
    let text = lie(Case::NotDrawn, |facts| facts.meter.finished = gleaner_wire::Millis(facts.meter.placed.0 + 1));
    assert!(text.contains("is 2500001 µs, but 2500001 µs claimed within 1 ms makes it 2000 µs"), "{text}");
}
