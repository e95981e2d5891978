//! What a worker asks may change while it is connected.
use crate::network::{Network, job, offer, task};
use gleaner_core::Event;
use gleaner_wire::job_file::{JobFile, Prefer};
use gleaner_wire::{Amount, Offer, WorkerId};

const MINUTE: u64 = 60_000;

fn reprice(network: &mut Network, worker: WorkerId, price: u64) {
    network.apply(Event::Repriced { worker, prices: vec![Amount(price)] });
}

fn cheap() -> JobFile {
    JobFile { prefer: Prefer::Cheap, ..job(vec![task("a")]) }
}

#[test]
fn a_worker_that_asks_less_from_now_on_gets_the_next_task() {
    let mut network = Network::new();
    let first = network.join(offer("first", 1000, 100_000));
    let second = network.join(offer("second", 1000, 200_000));
    reprice(&mut network, second, 10_000);
    network.submit("ada", &cheap());
    assert_eq!(network.started_one().0, second);
    assert_eq!(network.core.asked(first), [Amount(100_000)]);
    assert_eq!(network.core.prices(network.now)[0].lowest, Some(Amount(10_000)), "the market knows");
}

#[test]
fn what_runs_keeps_the_price_it_was_placed_at() {
    let mut network = Network::new();
    let worker = network.join(offer("one", 1000, 100_000));
    network.submit("ada", &cheap());
    let (_, start) = network.started_one();
    reprice(&mut network, worker, 900_000);
    network.deliver(worker, &start, 1000);
    assert_eq!(network.earned(worker), Amount(85_000), "of a second at the old price");
}

#[test]
fn prices_of_devices_that_are_not_there_mean_nothing() {
    let mut network = Network::new();
    let worker = network.join(offer("one", 1000, 100_000));
    network.apply(Event::Repriced { worker, prices: vec![Amount(1), Amount(2)] });
    assert_eq!(network.core.asked(worker), [Amount(1)]);
    network.apply(Event::Repriced { worker: WorkerId(9), prices: vec![Amount(3)] });
    network.leave(worker);
    reprice(&mut network, worker, 4);
    assert_eq!(network.core.asked(worker), [Amount(1)], "it says so again when it comes");
    network.core.check().expect("nothing is wrong");
}

#[test]
fn a_device_that_rests_goes_on_resting_at_another_price() {
    let mut network = Network::new();
    let worker = network.join(offer("one", 1000, 100_000));
    network.apply(Event::DevicesRest { worker, devices: vec![0] });
    network.submit("ada", &cheap());
    assert!(network.started().is_empty());
    reprice(&mut network, worker, 1000);
    assert!(network.started().is_empty(), "its owner still needs it");
    network.apply(Event::DevicesRest { worker, devices: vec![] });
    assert_eq!(network.started_one().0, worker);
}

/// What the index suggests for the one class that is here.
fn suggested(network: &Network) -> Amount {
    network.core.prices(network.now)[0].per_second
}

/// A worker that asks what it likes, and one that asked what was suggested.
fn with_follower(network: &mut Network) -> (WorkerId, WorkerId) {
    let first = network.join(offer("first", 1000, 100_000));
    network.wait(5 * MINUTE);
    let follower = network.join(offer("follower", 1000, 300_000));
    let price = suggested(network);
    reprice(network, follower, price.0);
    (first, follower)
}

#[test]
fn whoever_follows_the_index_from_now_on_does_not_hold_the_price_up() {
    let mut network = Network::new();
    let (first, _) = with_follower(&mut network);
    network.leave(first);
    network.wait(60 * MINUTE);
    assert!(suggested(&network) < Amount(60_000), "{}", suggested(&network));
}

#[test]
fn whoever_asks_a_price_of_his_own_from_now_on_holds_the_index_up() {
    let mut network = Network::new();
    let (first, follower) = with_follower(&mut network);
    network.leave(first);
    reprice(&mut network, follower, 90_001);
    network.wait(60 * MINUTE);
    assert_eq!(suggested(&network), Amount(90_001));
}

#[test]
fn who_followed_and_comes_back_with_the_same_price_still_follows() {
    let mut network = Network::new();
    let (first, follower) = with_follower(&mut network);
    let price = network.core.asked(follower)[0];
    // Long enough that the suggestion is forgotten; somebody keeps the index where it is.
    reprice(&mut network, first, 200_000);
    network.wait(3 * 60 * MINUTE);
    let back: Offer = offer("follower", 1000, price.0);
    assert_eq!(network.join(back), follower);
    network.leave(first);
    network.wait(3 * 60 * MINUTE);
    assert!(suggested(&network) < price, "{}", suggested(&network));
}
