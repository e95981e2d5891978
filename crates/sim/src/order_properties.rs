//! What must be true of worlds whose money is on a chain, and that such worlds are as bad as they should be.
use gleaner_core::ledger::Account;
use gleaner_core::{Event, Params};
use gleaner_wire::api::JobState;
use gleaner_wire::{Amount, JobId, Millis};

use crate::chain::Seen;
use crate::scenario::{MILLISECOND, Scenario};
use crate::world::{Watch, World};

/// The worlds with a chain among those with the first seeds.
fn on_chains(seeds: u64) -> impl Iterator<Item = Scenario> {
    (1..=seeds).map(Scenario::small).filter(|scenario| scenario.chain.is_some())
}

/// A world that has just taken its first job and waits for its money to be locked.
fn ordered(scenario: &Scenario) -> Option<World<'_>> {
    let mut world = World::new(scenario, Watch::EveryStep);
    for _ in 0..2000 {
        world.run_until(world.now + MILLISECOND).expect("no invariant breaks");
        let state = world.hub.core.job_summary(JobId(1)).map(|summary| summary.state);
        if world.hub_up && state == Some(JobState::Ordered) {
            return Some(world);
        }
    }
    None
}

#[test]
fn about_one_world_in_three_has_its_money_on_a_chain() {
    let count = on_chains(600).count();
    assert!((160..240).contains(&count), "{count}");
    let params = on_chains(9).map(|scenario| scenario.params());
    assert!(params.into_iter().all(|params| params.orders && params.stake_min > Amount::ZERO));
}

#[test]
fn worlds_without_a_chain_are_as_they_were() {
    let plain = (1..=60).map(Scenario::small).find(|scenario| scenario.chain.is_none()).expect("most have none");
    assert_eq!(plain.params(), Params::default());
    assert!(plain.workers.iter().all(|worker| worker.provider.is_none()));
}

#[test]
fn everything_that_a_chain_can_do_happens() {
    let mut sums = [0; 12];
    for scenario in on_chains(300) {
        let mut world = World::new(&scenario, Watch::EveryStep);
        world.run().unwrap_or_else(|what| panic!("seed {}: {what}", scenario.seed));
        let Seen { locks, locks_repeated, locks_late, refusals, settled, released, .. } = seen(&world);
        let Seen { closed_unlocked, stakes, terms, workers_refused, workers_sent_away, .. } = seen(&world);
        let all = [locks, locks_repeated, locks_late, refusals, settled, released, closed_unlocked, stakes, terms];
        let all = all.into_iter().chain([workers_refused, workers_sent_away, world.hub_crashes]);
        sums.iter_mut().zip(all).for_each(|(sum, count)| *sum += count);
    }
    assert!(sums.iter().all(|sum| *sum >= 3), "{sums:?}");
}

fn seen(world: &World<'_>) -> Seen {
    world.chain.as_ref().map(|chain| chain.seen).unwrap_or_default()
}

#[test]
fn money_that_no_order_brought_is_found_out() {
    let scenario = on_chains(9).next().expect("one of them has a chain");
    let mut world = World::new(&scenario, Watch::EveryStep);
    let gift = Event::Deposited { account: Account::Platform, amount: Amount(1) };
    let found = world.tell(gift).expect_err("it is in no order");
    assert!(found.contains("1 is in the books and 0 in locked orders"), "{found}");
}

#[test]
fn a_job_that_starts_before_its_money_is_locked_is_found_out() {
    let found = on_chains(120).filter_map(|scenario| {
        let mut world = ordered(&scenario)?;
        // The core is told of a lock that the world knows nothing of; now and then the real one is the next to come.
        let now = Millis(world.now / MILLISECOND);
        world.hub.apply(now, Event::OrderLocked { job: JobId(1), share_points: 0 }, &mut Vec::new());
        world.run().err()
    });
    let found: Vec<String> = found.filter(|what| what.contains("is in the books and 0 in locked orders")).collect();
    assert!(found.len() > 10, "{found:?}");
}
