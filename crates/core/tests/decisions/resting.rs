use crate::network::{Network, array, job, offer, task};
use gleaner_core::Event;
use gleaner_wire::api::JobState;
use gleaner_wire::{Amount, Cause, Offer};

fn two_devices(name: &str) -> Offer {
    let mut two = offer(name, 1000, 10);
    two.devices.push(two.devices[0].clone());
    two
}

#[test]
fn a_device_that_rests_gets_no_work_and_its_neighbour_does() {
    let mut network = Network::new();
    let worker = network.join(two_devices("two"));
    network.apply(Event::DevicesRest { worker, devices: vec![0] });
    let id = network.submit("ada", &job(vec![array("a", 2)]));
    let (_, start) = network.started_one();
    assert_eq!(start.device, 1);
    let codes: Vec<_> = network.core.explain(id).expect("it is there").waiting[0].reasons.clone();
    let codes: Vec<_> = codes.iter().map(|reason| (reason.code.as_str(), reason.devices)).collect();
    assert_eq!(codes, [("paused", Some(1)), ("busy", Some(1))]);
    network.apply(Event::DevicesRest { worker, devices: vec![] });
    let (_, start) = network.started_one();
    assert_eq!((start.device, start.index), (0, 1));
}

#[test]
fn a_worker_may_join_while_its_owner_needs_a_device() {
    let mut network = Network::new();
    let worker = network.join_resting(two_devices("two"), vec![1]);
    network.submit("ada", &job(vec![array("a", 2)]));
    assert_eq!(network.started_one().1.device, 0);
    network.apply(Event::DevicesRest { worker, devices: vec![0] });
    assert_eq!(network.started_one().1.device, 1, "the other one was given back");
}

#[test]
fn what_a_resting_device_hands_back_goes_elsewhere_and_nobody_pays() {
    let mut network = Network::new();
    let first = network.join(offer("first", 4000, 1_000_000));
    let second = network.join(offer("second", 1000, 1_000_000));
    let id = network.submit("ada", &job(vec![task("a")]));
    let (worker, start) = network.started_one();
    assert_eq!(worker, first);
    network.apply(Event::DevicesRest { worker: first, devices: vec![0] });
    assert!(network.started().is_empty(), "it is handed back by the worker, not taken away");
    network.fail(first, &start, Cause::RefusedByOwner);
    let (worker, again) = network.started_one();
    assert_eq!((worker, again.index), (second, start.index));
    let spent = network.core.job_summary(id).expect("it is there").spent;
    assert_eq!((network.earned(first), spent), (Amount::ZERO, Amount::ZERO));
    network.deliver(second, &again, 1000);
    assert_eq!(network.state(id), JobState::Done);
    assert!(network.earned(second) > Amount::ZERO);
}

#[test]
fn a_task_does_not_wait_for_a_device_that_rests() {
    let mut network = Network::new();
    let only = network.join(offer("only", 1000, 10));
    network.submit("ada", &job(vec![task("a")]));
    let (_, start) = network.started_one();
    let other = network.join(offer("other", 1000, 10));
    network.apply(Event::DevicesRest { worker: other, devices: vec![0] });
    network.fail(only, &start, Cause::RefusedByOwner);
    assert_eq!(network.started_one().0, only, "nobody else is there to take it");
}

#[test]
fn when_the_last_other_machine_rests_a_task_goes_back_to_whom_it_avoided() {
    let mut network = Network::new();
    let first = network.join(offer("first", 1000, 10));
    let busy = network.join(offer("busy", 1000, 10));
    network.submit("ada", &job(vec![array("a", 2)]));
    let starts = network.started();
    let of = |worker| starts.iter().find(|(id, _)| *id == worker).expect("both got one").1.clone();
    network.fail(first, &of(first), Cause::RefusedByOwner);
    assert!(network.started().is_empty(), "the other one will be free soon");
    network.apply(Event::DevicesRest { worker: busy, devices: vec![0] });
    assert_eq!(network.started_one().0, first);
}
