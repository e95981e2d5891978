//! A hub accuses a provider, from the lock to the verdict, on the embedded chain and on anvil.
mod world;

use alloy_primitives::{B256, Bytes, U256, keccak256};
use gleaner_chain::contracts::Court;
use gleaner_chain::market::{DisputeStage, Ruling, Vote, majority};
use gleaner_wire::Amount;
use world::{World, address, gln, named, order, settlement, wall_clock};

/// Who judges. Committees of the preset have five members.
const AUDITORS: [&str; 5] = ["cleo", "dan", "eve", "fay", "gus"];
/// What an order locks of a provider's stake, and a hub puts at stake by an accusation.
const LOCK: u64 = 1_000_000_000;

macro_rules! on_both_chains {
    ($name:ident, $scenario:expr) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let now = wall_clock();
            let mut here = World::embedded(now).await;
            $scenario(&mut here).await;
            here.check_histories().await;
            let mut there = World::anvil(now).await;
            $scenario(&mut there).await;
            there.check_histories().await;
        }
    };
}

on_both_chains!(a_guilty_provider_pays_the_hub_and_the_auditors, guilty);
on_both_chains!(a_hub_that_accuses_wrongly_pays_and_the_provider_is_let_go, innocent);
on_both_chains!(without_a_majority_in_time_nobody_pays, undecided);
on_both_chains!(without_a_whole_committee_nobody_judges, too_few);
on_both_chains!(who_was_not_heard_of_for_a_voting_window_does_not_judge, gone);
on_both_chains!(who_was_evicted_may_come_back_and_judge, back);

async fn free(world: &World, name: &str) -> u64 {
    world.market.escrow_balance(address(name)).await.expect("read").0
}

async fn stake(world: &World, name: &str) -> (u64, u64) {
    let (all, free) = (world.market.stake_of(address(name)).await, world.market.free_stake_of(address(name)).await);
    (all.expect("read").0, free.expect("read").0)
}

/// An order for which ann and ben work, and auditors enough.
async fn prepare(world: &mut World, auditors: &[&str]) -> B256 {
    for name in ["requester", "hub"] {
        let deposit = world.market.deposit_with_permit(&named(name), gln(100)).await.expect("signed");
        world.must(name, deposit).await;
    }
    for name in ["hub", "ann", "ben"].iter().chain(auditors) {
        let stake = world.market.stake_with_permit(&named(name), gln(20)).await.expect("signed");
        world.must(name, stake).await;
    }
    for name in ["ann", "ben"] {
        world.must(name, world.market.allow(address("hub"), gln(15))).await;
    }
    for name in auditors {
        world.must(name, world.market.enroll()).await;
    }
    let (order, id, signature) = order(world, 1_000, 100, 1);
    world.must("hub", world.market.lock(&order, signature)).await;
    world.must("hub", world.market.engage(id, vec![address("ann"), address("ben")])).await;
    id
}

/// The hub accuses ann, the order is settled without her, and a committee is drawn.
async fn accuse(world: &mut World, id: B256) -> U256 {
    let (ann, evidence) = (address("ann"), keccak256("what was seen"));
    assert_eq!(world.market.accusation_of(id, ann).await.expect("read"), None);
    world.must("hub", world.market.accuse(id, ann, evidence)).await;
    let dispute = world.market.accusation_of(id, ann).await.expect("read").expect("accused");
    let found = world.market.accusation(id, ann).await.expect("read").expect("accused");
    assert_eq!((found.accuser, found.evidence), (address("hub"), evidence));
    assert_eq!(free(world, "hub").await, gln(100).0 - LOCK, "what the hub puts at stake");
    let settled = settlement(id, &[("ben", 10)]);
    let approval = settled.approve(&world.market.domain(), &named("requester"));
    world.must("hub", world.market.settle(&settled, approval)).await;
    assert_eq!(stake(world, "ann").await, (gln(20).0, gln(20).0 - LOCK), "held for the verdict");
    assert_eq!(stake(world, "ben").await, (gln(20).0, gln(20).0), "nobody else is");
    for _ in 0..2 {
        world.wait(1).await;
    }
    world.unordered = true;
    world.must("hub", world.market.draw(dispute)).await;
    dispute
}

/// Signs votes for a dispute.
async fn votes(world: &World, dispute: U256, rulings: &[(&str, Ruling)]) -> Vec<Vote> {
    let subject = world.market.dispute_state(dispute).await.expect("read").subject;
    let question = world.market.question(dispute, subject);
    for ruling in [Ruling::Defendant, Ruling::Claimant] {
        let asked = Court::voteDigestCall { dispute, subject, ruling: ruling.number() };
        let theirs = world.market.read(world.market.deployment.court, &asked).await.expect("read");
        assert_eq!(theirs, question.digest(ruling), "Rust and the contract reckon the same digest");
    }
    rulings.iter().map(|(name, ruling)| question.vote(&named(name), *ruling)).collect()
}

async fn guilty(world: &mut World) {
    let id = prepare(world, &AUDITORS).await;
    let dispute = accuse(world, id).await;
    let committee = world.market.dispute_state(dispute).await.expect("read").committee;
    let (for_her, against) = (Ruling::Defendant, Ruling::Claimant);
    let mut cast = votes(world, dispute, &[("cleo", against), ("fay", for_her), ("gus", against)]).await;
    assert_eq!(majority(&committee, &cast), None);
    cast.extend(votes(world, dispute, &[("dan", against)]).await);
    let agreed = majority(&committee, &cast).expect("three of five");
    world.must("hub", world.market.decide_by(dispute, &agreed)).await;
    let found = world.market.dispute_state(dispute).await.expect("read");
    assert_eq!(found.stage, DisputeStage::ForClaimant);
    // Half of what was locked is taken: half of that goes to the hub, the rest to the three who decided.
    let taken = LOCK / 2;
    assert_eq!(stake(world, "ann").await, (gln(20).0 - taken, gln(20).0 - taken));
    assert_eq!(free(world, "hub").await, gln(100).0 + taken / 2);
    for (name, share) in [("cleo", taken / 2 / 3), ("dan", taken / 2 / 3), ("gus", taken / 2 / 3), ("fay", 0)] {
        assert_eq!(free(world, name).await, share, "{name}");
    }
    for name in AUDITORS {
        assert_eq!(stake(world, name).await, (gln(20).0, gln(20).0), "{name} has its seat behind it");
    }
    world.refused("hub", world.market.accuse(id, address("ann"), B256::ZERO), "OrderEnded").await;
}

async fn innocent(world: &mut World) {
    let id = prepare(world, &AUDITORS).await;
    let dispute = accuse(world, id).await;
    let committee = world.market.dispute_state(dispute).await.expect("read").committee;
    let cast = votes(world, dispute, &AUDITORS.map(|name| (name, Ruling::Defendant))).await;
    let agreed = majority(&committee, &cast).expect("all of them");
    world.must("hub", world.market.decide_by(dispute, &agreed)).await;
    assert_eq!(world.market.dispute_state(dispute).await.expect("read").stage, DisputeStage::ForDefendant);
    let taken = LOCK / 2;
    assert_eq!(stake(world, "ann").await, (gln(20).0, gln(20).0), "let go, since the order has ended");
    assert_eq!(world.market.lock_of(id, address("ann")).await.expect("read"), Amount::ZERO);
    assert_eq!(free(world, "hub").await, gln(100).0 - taken);
    assert_eq!(free(world, "ann").await, taken / 2);
    assert_eq!(free(world, "eve").await, taken / 2 / 5);
}

async fn undecided(world: &mut World) {
    let id = prepare(world, &AUDITORS).await;
    let dispute = accuse(world, id).await;
    let cast = votes(world, dispute, &[("cleo", Ruling::Claimant), ("dan", Ruling::Claimant)]).await;
    let (rulings, signatures): (Vec<u8>, Vec<Bytes>) =
        cast.iter().map(|vote| (vote.ruling.number(), vote.signature.clone())).unzip();
    world.refused("hub", world.market.decide(dispute, rulings, signatures), "").await;
    world.refused("hub", world.market.expire(dispute), "TooEarly").await;
    nobody_pays(world, dispute).await;
}

async fn too_few(world: &mut World) {
    let id = prepare(world, &AUDITORS[..4]).await;
    let dispute = accuse(world, id).await;
    assert!(world.market.dispute_state(dispute).await.expect("read").committee.is_empty());
    world.refused("hub", world.market.draw(dispute), "AlreadyDrawn").await;
    nobody_pays(world, dispute).await;
}

/// A voting window passes in which only four of the five are heard of.
async fn prepare_without_gus(world: &mut World) -> B256 {
    let id = prepare(world, &AUDITORS).await;
    world.wait(86_402).await;
    for name in &AUDITORS[..4] {
        world.must(name, world.market.renew()).await;
    }
    let now = world.market.now().await.expect("read");
    let until = async |name| world.market.present_until(address(name)).await.expect("read");
    assert!(until("gus").await.expect("on the list") < now, "lapsed");
    assert!(until("cleo").await.expect("on the list") > now + 86_000, "a voting window more");
    assert_eq!(until("ann").await, None, "no auditor");
    id
}

async fn gone(world: &mut World) {
    let id = prepare_without_gus(world).await;
    let dispute = accuse(world, id).await;
    assert!(world.market.dispute_state(dispute).await.expect("read").committee.is_empty(), "four are present");
    nobody_pays(world, dispute).await;
}

async fn back(world: &mut World) {
    let id = prepare_without_gus(world).await;
    world.refused("ann", world.market.evict(address("cleo")), "NoReasonToEvict").await;
    world.must("ann", world.market.evict(address("gus"))).await;
    assert!(!world.market.is_auditor(address("gus")).await.expect("read"));
    world.refused("gus", world.market.renew(), "NotEnrolled").await;
    world.must("gus", world.market.enroll()).await;
    let dispute = accuse(world, id).await;
    assert_eq!(world.market.dispute_state(dispute).await.expect("read").committee.len(), 5);
    let cast = votes(world, dispute, &AUDITORS.map(|name| (name, Ruling::Claimant))).await;
    let committee = world.market.dispute_state(dispute).await.expect("read").committee;
    world.must("hub", world.market.decide_by(dispute, &majority(&committee, &cast).expect("all of them"))).await;
    assert_eq!(world.market.dispute_state(dispute).await.expect("read").stage, DisputeStage::ForClaimant);
}

async fn nobody_pays(world: &mut World, dispute: U256) {
    world.wait(86_402).await;
    world.must("dan", world.market.expire(dispute)).await;
    assert_eq!(world.market.dispute_state(dispute).await.expect("read").stage, DisputeStage::Expired);
    assert_eq!(stake(world, "ann").await, (gln(20).0, gln(20).0));
    assert_eq!(free(world, "hub").await, gln(100).0);
    assert_eq!(free(world, "cleo").await, 0);
}
