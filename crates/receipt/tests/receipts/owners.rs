//! Owners sign for their workers: a hub that makes up workers, or whose they are, convicts nobody.
use gleaner_chain::Account;
use gleaner_chain::ownership::Ownership;
use gleaner_receipt::sample::{self, Case, World};
use gleaner_receipt::{Evidence, guilty_by_document, seal, verify};
use gleaner_wire::receipt::{Bytes, Facts, Owned, Verdict};
use gleaner_wire::{Address, WorkerKey, encode};

use crate::chain::anchored;

fn address(account: &Account) -> Address {
    Address(account.address().into_array())
}

/// What an account signs for a worker on the hub of a receipt.
fn statement(facts: &Facts, worker: WorkerKey, owner: &Account) -> Ownership {
    let ordered = facts.order.as_ref().expect("an order");
    let (stake, hub) = (ordered.stake.0.into(), ordered.signed.order.hub.0.into());
    Ownership { chain_id: ordered.chain_id, stake, owner: owner.address(), worker, hub }
}

fn word(statement: &Ownership, signer: &Account) -> Bytes {
    Bytes(statement.sign(signer).to_vec())
}

/// What a receipt shows against somebody after its hub has signed it.
fn shown(world: &World, facts: Facts, against: Address) -> Option<Evidence> {
    let order = facts.order.as_ref().expect("an order").id;
    guilty_by_document(&order, &against, &encode(&seal(facts, &world.hub))).expect("it can be judged")
}

/// Says that the worker is somebody else's, and that it is this one who loses for it.
fn blame(facts: &mut Facts, victim: Address) {
    facts.placement.provider = Some(victim);
    facts.deductions[0].provider = Some(victim);
}

#[test]
fn a_hub_that_makes_up_a_worker_for_somebody_shows_nothing_against_it() {
    let mut anchored = anchored();
    let genuine = anchored.world.receipt(Case::Refuted).facts;
    let (victim, worker) = (Account::from_words("a victim"), genuine.placement.worker);
    let own = sample::owner(&worker);
    assert!(shown(&anchored.world, genuine.clone(), address(&own)).is_some(), "its own owner has signed for it");
    let of = |facts: &Facts| statement(facts, worker, &victim);
    let signed = of(&genuine);
    let elsewhere = Ownership { hub: Account::from_words("another hub").address(), ..signed };
    let another = Ownership { worker: WorkerKey([9; 32]), ..signed };
    let words = [
        ("somebody else's", genuine.owners[0].signature.clone()),
        ("the hub's under the victim's name", word(&signed, &sample::hub_account())),
        ("the victim's for another worker", word(&another, &victim)),
        ("the victim's for another hub", word(&elsewhere, &victim)),
        ("no", Bytes(Vec::new())),
    ];
    for (whose, signature) in words {
        let mut facts = genuine.clone();
        blame(&mut facts, address(&victim));
        facts.owners[0].signature = signature;
        assert_eq!(shown(&anchored.world, facts, address(&victim)), None, "{whose} word");
    }
    let mut facts = genuine.clone();
    blame(&mut facts, address(&victim));
    _ = facts.owners.remove(0);
    assert_eq!(shown(&anchored.world, facts, address(&victim)), None, "nobody's word");
    let mut facts = genuine;
    blame(&mut facts, address(&victim));
    facts.owners[0].signature = word(&of(&facts), &victim);
    assert!(shown(&anchored.world, facts, address(&victim)).is_some(), "the victim's own word");
}

#[test]
fn jurors_whom_nobody_owns_convict_nobody() {
    let mut anchored = anchored();
    let mut facts = anchored.world.receipt(Case::Refuted).facts;
    let provider = facts.placement.provider.expect("an owner");
    let audit = facts.audit.as_mut().expect("audited");
    let right = audit.answers.iter().find(|answer| answer.auditor == audit.rivals[0]).expect("a rival").auditor;
    let juror = audit.jurors.iter_mut().find(|juror| juror.key == right).expect("a juror");
    juror.provider = None;
    facts.owners.retain(|owned| owned.worker != right);
    verify(&seal(facts.clone(), &anchored.world.hub)).expect("it holds: a worker may have no owner");
    assert_eq!(shown(&anchored.world, facts, provider), None, "one of those who outvoted it stands for nothing");
}

#[test]
fn a_referee_and_a_juror_of_one_owner_are_one_witness() {
    for (case, same) in [(Case::Refereed, false), (Case::Refereed, true)] {
        let mut anchored = anchored();
        let mut facts = anchored.world.receipt(case).facts;
        let provider = facts.placement.provider.expect("an owner");
        let audit = facts.audit.as_mut().expect("audited");
        let (juror, referee) = (sample::owner(&audit.rivals[0]), audit.referees[0].key);
        if same {
            audit.referees[0].provider = Some(address(&juror));
            let signature = word(&statement(&facts, referee, &juror), &juror);
            facts.owners.last_mut().expect("the referee's is the last").signature = signature;
        }
        verify(&seal(facts.clone(), &anchored.world.hub)).expect("it holds");
        assert_eq!(shown(&anchored.world, facts, provider).is_some(), !same);
    }
}

#[test]
fn a_picture_made_up_is_judged_guilty_and_an_honest_one_is_not() {
    let mut anchored = anchored();
    let lie = anchored.world.receipt(Case::Picture).facts;
    let provider = lie.placement.provider.expect("an owner");
    assert!(shown(&anchored.world, lie, provider).is_some());
    let noise = anchored.world.receipt(Case::Noise).facts;
    assert_eq!(noise.verdict, Verdict::Refuted);
    assert_eq!(shown(&anchored.world, noise, provider), None);
}

#[test]
fn a_hub_without_a_chain_can_name_no_owners() {
    let mut world = World::new();
    let mut facts = world.receipt(Case::Agreed).facts;
    let worker = facts.placement.worker;
    facts.placement.provider = Some(Address([1; 20]));
    facts.owners.push(Owned { worker, signature: Bytes(vec![1; 65]) });
    let faults = verify(&seal(facts, &world.hub)).expect_err("owners sign for a hub on a chain");
    assert!(faults.iter().any(|fault| fault.to_string().contains("it must be left out")), "{faults:?}");
    let mut facts = world.receipt(Case::Agreed).facts;
    facts.owners.push(Owned { worker, signature: Bytes(vec![1; 65]) });
    let faults = verify(&seal(facts, &world.hub)).expect_err("nobody has an owner");
    assert!(faults.iter().any(|fault| fault.to_string().starts_with("whose owners have signed is")), "{faults:?}");
}
