use crate::network::{Network, array, job, offer, output, task};
use gleaner_core::{Core, Event};
use gleaner_wire::api::JobState;
use gleaner_wire::{AttemptId, Cause, Outcome, State};

#[test]
fn a_dead_connection_moves_its_task_at_once() {
    let mut network = Network::new();
    let first = network.join(offer("first", 1000, 10));
    let id = network.submit("ada", &job(vec![task("a")]));
    let (worker, start) = network.started_one();
    assert_eq!(worker, first);
    let second = network.join(offer("second", 1000, 10));
    network.leave(first);
    let (worker, again) = network.started_one();
    assert_eq!((worker, again.index), (second, start.index));
    assert_ne!(again.attempt, start.attempt);
    network.deliver(second, &again, 100);
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn a_late_result_of_a_lapsed_attempt_is_neither_counted_nor_paid() {
    let mut network = Network::new();
    let slow = network.join(offer("slow", 1000, 10));
    let id = network.submit("ada", &job(vec![task("a")]));
    let (_, start) = network.started_one();
    network.wait(31_000);
    let view = network.core.job_view(id).expect("the job is there");
    assert_eq!(view.failures[0].cause, Cause::WorkerLeft);
    let other = network.join(offer("other", 1000, 10));
    network.finish(slow, start.attempt, 31_000, Outcome::Done(output(1)));
    assert_eq!(network.earned(slow).0, 0);
    assert_eq!(network.core.totals().results_late, 1);
    assert_eq!(network.state(id), JobState::Running);
    let (worker, again) = network.started().pop().expect("it went on");
    network.deliver(worker, &again, 100);
    assert_eq!(network.state(id), JobState::Done);
    assert!(network.earned(worker).0 > 0, "{worker} of {slow} and {other}");
}

#[test]
fn heartbeats_keep_what_they_name_and_nothing_else() {
    let mut network = Network::new();
    let mut two = offer("two", 1000, 10);
    two.devices[0].slots = 2;
    let worker = network.join(two);
    let id = network.submit("ada", &job(vec![array("a", 2)]));
    let starts = network.started();
    for _ in 0..4 {
        network.wait(10_000);
        network.apply(Event::LeasesRenewed { worker, held: vec![starts[0].1.attempt] });
    }
    let failures = network.core.job_view(id).expect("the job is there").failures;
    assert!(failures.iter().all(|failure| failure.attempt != starts[0].1.attempt));
    assert!(failures.iter().any(|failure| failure.attempt == starts[1].1.attempt));
}

#[test]
fn the_same_result_twice_is_paid_once() {
    let mut network = Network::new();
    let worker = network.join(offer("a", 1000, 1_000_000));
    network.submit("ada", &job(vec![array("a", 2)]));
    let (_, start) = network.started_one();
    network.deliver(worker, &start, 1000);
    let earned = network.earned(worker);
    network.finish(worker, start.attempt, 1000, Outcome::Done(output(9)));
    assert_eq!(network.earned(worker), earned);
}

#[test]
fn a_result_for_somebody_elses_attempt_is_ignored_and_ends_the_connection() {
    let mut network = Network::new();
    let honest = network.join(offer("honest", 2000, 10));
    network.submit("ada", &job(vec![task("a")]));
    let (worker, start) = network.started_one();
    assert_eq!(worker, honest);
    let thief = network.join(offer("thief", 1000, 10));
    network.finish(thief, start.attempt, 1, Outcome::Done(output(0)));
    assert_eq!(network.earned(thief).0, 0);
    assert_eq!(network.disconnected(), [thief]);
    network.finish(thief, AttemptId(u64::MAX), 1, Outcome::Done(output(0)));
    network.deliver(honest, &start, 10);
    assert!(network.earned(honest).0 > 0);
}

#[test]
fn a_restarted_hub_adopts_what_its_workers_still_run() {
    let mut network = Network::new();
    network.join(offer("keeps", 1000, 10));
    network.join(offer("lost", 1000, 10));
    let id = network.submit("ada", &job(vec![array("a", 2)]));
    let starts = network.started();
    network.core = Core::restore(&network.core.snapshot()).expect("a snapshot restores");
    network.apply(Event::HubStarted);
    let kept = starts.iter().find(|(worker, _)| worker.0 == 0).expect("both got one").1.clone();
    let worker = network.join_holding(offer("keeps", 1000, 10), vec![kept.attempt, AttemptId(77)]);
    assert_eq!(network.cancelled(), [AttemptId(77)], "what the hub does not know is called off");
    network.join(offer("lost", 1000, 10));
    let restarted = network.started();
    assert!(restarted.iter().all(|(_, start)| start.index != kept.index), "{restarted:?}");
    network.deliver(worker, &kept, 100);
    for (worker, start) in restarted.into_iter().chain(network.started()) {
        network.deliver(worker, &start, 100);
    }
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn a_worker_that_never_comes_back_after_a_restart_loses_its_lease() {
    let mut network = Network::new();
    network.join(offer("gone", 1000, 10));
    let id = network.submit("ada", &job(vec![task("a")]));
    network.started();
    network.apply(Event::HubStarted);
    network.wait(29_000);
    assert!(network.core.job_view(id).expect("the job is there").failures.is_empty());
    network.wait(2000);
    assert_eq!(network.core.job_view(id).expect("the job is there").failures.len(), 1);
}

#[test]
fn a_second_connection_of_a_worker_replaces_the_first() {
    let mut network = Network::new();
    let worker = network.join(offer("a", 1000, 10));
    network.submit("ada", &job(vec![task("a")]));
    let (_, start) = network.started_one();
    assert_eq!(network.join_holding(offer("a", 1000, 10), vec![start.attempt]), worker);
    network.apply(Event::WorkerLeft { worker, session: gleaner_core::Session(1) });
    assert_ne!(network.core.worker_view(worker).expect("it is there").state, State::Offline);
    network.deliver(worker, &start, 10);
    assert!(network.earned(worker).0 > 0);
}

#[test]
fn a_worker_that_let_a_lease_lapse_gets_no_work_until_it_is_heard_from() {
    let mut network = Network::new();
    let asleep = network.join(offer("asleep", 1000, 10));
    network.submit("ada", &job(vec![task("a")]));
    network.started_one();
    network.wait(31_000);
    assert!(network.started().is_empty(), "nobody else is there, and it does not answer");
    network.apply(Event::LeasesRenewed { worker: asleep, held: vec![] });
    assert_eq!(network.started_one().0, asleep);
}
