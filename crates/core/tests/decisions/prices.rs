use crate::network::{Network, array, job, offer};
use gleaner_wire::prices::PriceView;
use gleaner_wire::{Amount, ByteSize, Millis, Offer};

const MINUTE: u64 = 60_000;

fn only(network: &Network) -> PriceView {
    let prices = network.core.prices(network.now);
    assert_eq!(prices.len(), 1);
    prices[0]
}

#[test]
fn a_new_class_is_worth_what_is_asked() {
    let mut network = Network::new();
    for (name, price) in [("a", 100_000), ("b", 200_000), ("c", 900_000)] {
        network.join(offer(name, 1000, price));
    }
    let price = only(&network);
    assert_eq!((price.per_second, price.lowest, price.slots), (Amount(200_000), Some(Amount(100_000)), 3));
    assert_eq!(price.class.to_string(), "cpu-wasm-0GiB");
}

#[test]
fn prices_rise_while_tasks_wait_and_fall_back_to_what_is_asked() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 100_000));
    network.submit("ada", &job(vec![array("a", 30)]));
    // One task is out and stays out: its lease is renewed by nobody, but the others wait all the same.
    for _ in 0..30 {
        let started: Vec<_> = network.started();
        network.wait(20_000);
        for (worker, start) in started {
            network.deliver(worker, &start, 20_000);
        }
    }
    let high = only(&network).per_second;
    assert!(high > Amount(110_000), "{high}");
    network.run_all(100);
    network.wait(60 * MINUTE);
    assert_eq!(only(&network).per_second, Amount(100_000));
    let history = network.core.price_history(only(&network).class, network.now).expect("it has one");
    assert!(history.minutes.iter().any(|point| point.per_second >= high));
    assert!(!history.hours.is_empty());
}

#[test]
fn prices_are_the_same_however_often_somebody_looks() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 100_000));
    let later = Millis(network.now.0 + 30 * MINUTE);
    let ahead = network.core.prices(later);
    network.wait(30 * MINUTE);
    assert_eq!(network.core.prices(network.now), ahead);
}

#[test]
fn whoever_asks_what_was_suggested_does_not_hold_the_price_up() {
    let mut network = Network::new();
    let first = network.join(offer("first", 1000, 100_000));
    network.wait(5 * MINUTE);
    let follower = only(&network).per_second;
    network.join(offer("second", 1000, follower.0));
    network.leave(first);
    network.wait(60 * MINUTE);
    let low = only(&network);
    assert!(low.per_second < Amount(60_000), "{}", low.per_second);
    assert_eq!(low.lowest, Some(follower));
}

#[test]
fn classes_are_priced_apart_and_managed_workers_are_no_supply() {
    let mut network = Network::new();
    let mut large: Offer = offer("large", 1000, 500_000);
    large.devices[0].memory = ByteSize::mib(64 * 1024);
    let large = network.join(large);
    network.join(offer("small", 1000, 100_000));
    let prices = network.core.prices(network.now);
    let told: Vec<_> = prices.iter().map(|price| (price.class.to_string(), price.per_second.0)).collect();
    assert_eq!(told, [("cpu-wasm-0GiB".into(), 100_000), ("cpu-wasm-40GiB".into(), 500_000)]);
    network.wait(MINUTE);
    let key = network.core.worker_view(large).expect("it is there").key;
    network.apply(gleaner_core::Event::WorkerManaged { key, managed: true });
    assert_eq!(network.core.prices(network.now)[1].slots, 0);
}
