use crate::network::{Network, array, job, offer, task};
use gleaner_core::Event;
use gleaner_wire::api::JobState;
use gleaner_wire::{Cause, State};
use std::collections::BTreeSet;

#[test]
fn three_workers_failing_with_the_same_program_fault_end_the_job() {
    let mut network = Network::new();
    for name in ["a", "b", "c", "d"] {
        network.join(offer(name, 1000, 10));
    }
    let id = network.submit("ada", &job(vec![task("faulty")]));
    let mut tried = BTreeSet::new();
    for _ in 0..3 {
        let (worker, start) = network.started_one();
        assert!(tried.insert(worker), "a task does not go back to a worker that failed it");
        network.fail(worker, &start, Cause::ProgramFault);
    }
    let JobState::Failed { task, cause, reason } = network.state(id) else { panic!("{:?}", network.state(id)) };
    assert_eq!((task.as_deref(), cause), (Some("faulty"), Some(Cause::ProgramFault)));
    assert!(reason.contains("exit code 3"), "{reason}");
    assert!(network.started().is_empty());
}

#[test]
fn a_program_fault_ends_the_job_sooner_where_nobody_else_could_try() {
    let mut network = Network::new();
    let only = network.join(offer("only", 1000, 10));
    let id = network.submit("ada", &job(vec![task("faulty")]));
    let (_, start) = network.started_one();
    network.fail(only, &start, Cause::ProgramFault);
    assert!(matches!(network.state(id), JobState::Failed { .. }));
}

#[test]
fn the_requester_pays_for_its_programs_faults_and_nobody_for_a_broken_device() {
    for (cause, paid) in
        [(Cause::ProgramFault, true), (Cause::DeviceFault, false), (Cause::WorkerLeft, false), (Cause::HubFault, false)]
    {
        let mut network = Network::new();
        network.join(offer("a", 1000, 1_000_000));
        network.join(offer("b", 1000, 1_000_000));
        let id = network.submit("ada", &job(vec![task("a")]));
        let (worker, start) = network.started_one();
        network.fail(worker, &start, cause);
        assert_eq!(network.earned(worker).0 > 0, paid, "{cause}");
        assert_eq!(network.core.job_summary(id).expect("it is there").spent.0 > 0, paid, "{cause}");
    }
}

#[test]
fn a_task_goes_back_to_a_worker_that_only_went_away_if_there_is_no_other() {
    let mut network = Network::new();
    let only = network.join(offer("only", 1000, 10));
    let id = network.submit("ada", &job(vec![task("a")]));
    network.started();
    network.leave(only);
    assert_eq!(network.join(offer("only", 1000, 10)), only);
    let (worker, start) = network.started_one();
    network.deliver(worker, &start, 10);
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn a_worker_that_keeps_failing_is_tested_and_then_disqualified() {
    let mut network = Network::new();
    let bad = network.join(offer("bad", 4000, 10));
    network.submit("ada", &job(vec![array("a", 50)]));
    for _ in 0..3 {
        let (_, start) = network.started_one();
        network.fail(bad, &start, Cause::DeviceFault);
    }
    let state = |network: &Network| network.core.worker_view(bad).expect("it is there").state;
    assert_eq!(state(&network), State::Probation);
    assert!(network.started().is_empty(), "no work on probation");
    network.wait(29_000);
    assert!(network.started().is_empty(), "no test yet");
    network.wait(2_000);
    let (_, test) = network.started_one();
    network.fail(bad, &test, Cause::DeviceFault);
    assert_eq!(state(&network), State::Disqualified);
    network.leave(bad);
    network.join(offer("bad", 4000, 10));
    assert_eq!(state(&network), State::Disqualified);
    network.wait(600_000);
    assert!(network.started().is_empty());
    network.apply(Event::WorkerReadmitted { worker: bad });
    assert_eq!(network.started().len(), 1, "an operator may forgive");
}

#[test]
fn a_worker_that_passes_its_test_works_again_and_waits_longer_the_next_time() {
    let mut network = Network::new();
    let shaky = network.join(offer("shaky", 1000, 10));
    network.submit("ada", &job(vec![array("a", 500)]));
    let mut delays = vec![];
    for _ in 0..2 {
        for _ in 0..3 {
            let start = network.started().remove(0).1;
            network.fail(shaky, &start, Cause::DeviceFault);
        }
        let since = network.now;
        while network.core.worker_view(shaky).expect("it is there").running == 0 {
            network.wait(1000);
            assert!(network.now.since(since).0 < 1_000_000, "a test comes");
        }
        delays.push(network.now.since(since).0);
        let start = network.started().remove(0).1;
        network.deliver(shaky, &start, 1000);
        assert_ne!(network.core.worker_view(shaky).expect("it is there").state, State::Probation);
    }
    assert!(delays[1] >= 3 * delays[0], "{delays:?}");
}

#[test]
fn whoever_called_a_good_program_faulty_is_blamed() {
    let mut network = Network::new();
    let liar = network.join(offer("liar", 4000, 10));
    let honest = network.join(offer("honest", 1000, 10));
    network.submit("ada", &job(vec![array("a", 40)]));
    for _ in 0..60 {
        for (worker, start) in network.started() {
            if worker == liar {
                network.fail(liar, &start, Cause::ProgramFault);
            } else {
                network.deliver(honest, &start, 10);
            }
        }
    }
    assert_eq!(network.core.worker_view(liar).expect("it is there").state, State::Probation);
}

#[test]
fn a_refusal_by_the_owner_is_nobodys_fault() {
    let mut network = Network::new();
    let worker = network.join(offer("a", 4000, 10));
    network.join(offer("b", 1000, 10));
    network.submit("ada", &job(vec![array("a", 30)]));
    for _ in 0..20 {
        let Some((_, start)) = network.started().into_iter().find(|(id, _)| *id == worker) else { break };
        network.fail(worker, &start, Cause::RefusedByOwner);
    }
    assert_eq!(network.earned(worker).0, 0);
    assert_ne!(network.core.worker_view(worker).expect("it is there").state, State::Probation);
}

#[test]
fn a_hiccup_in_a_short_task_costs_no_standing_and_a_long_overrun_does() {
    let state_after = |usual: u64, late: u64| {
        let mut network = Network::new();
        let worker = network.join(offer("a", 1000, 10));
        network.submit("ada", &job(vec![array("t", 1000)]));
        let mut starts = std::collections::VecDeque::new();
        for ran in std::iter::repeat_n(usual, 100).chain(std::iter::repeat_n(late, 12)) {
            starts.extend(network.started());
            let Some((_, start)) = starts.pop_front() else { break };
            network.deliver(worker, &start, ran);
        }
        network.core.worker_view(worker).expect("it is there").state
    };
    assert_ne!(state_after(1, 30), State::Probation);
    assert_eq!(state_after(1000, 30_000), State::Probation);
}

#[test]
fn programs_that_overrun_their_own_limit_do_not_cost_workers_their_standing() {
    let mut network = Network::new();
    let workers = [network.join(offer("a", 1000, 10)), network.join(offer("b", 1000, 10))];
    for _ in 0..20 {
        let id = network.submit("ada", &job(vec![task("endless")]));
        while network.state(id) == JobState::Running {
            let (worker, start) = network.started().remove(0);
            network.fail(worker, &start, Cause::TimeLimit);
        }
    }
    for worker in workers {
        assert_eq!(network.core.worker_view(worker).expect("it is there").state, State::Available);
    }
}

#[test]
fn a_kernel_that_breaks_every_device_blames_only_the_first() {
    let mut network = Network::new();
    let workers: Vec<_> = ["a", "b", "c", "d"].map(|name| network.join(offer(name, 1000, 10))).into();
    for _ in 0..2 {
        network.submit("ada", &job(vec![task("crasher")]));
        for _ in 0..4 {
            for (worker, start) in network.started() {
                network.fail(worker, &start, Cause::DeviceFault);
            }
        }
    }
    for worker in workers {
        assert_eq!(network.core.worker_view(worker).expect("it is there").state, State::Available);
    }
}

#[test]
fn a_paused_worker_stays_paused_when_it_reconnects() {
    let mut network = Network::new();
    let worker = network.join(offer("a", 1000, 10));
    network.apply(Event::WorkerPaused { worker });
    network.leave(worker);
    network.join(offer("a", 1000, 10));
    network.submit("ada", &job(vec![task("a")]));
    assert!(network.started().is_empty());
    network.apply(Event::WorkerResumed { worker });
    assert_eq!(network.started().len(), 1);
}

#[test]
fn a_worker_that_joins_resting_works_when_its_owner_gives_it_back() {
    let mut network = Network::new();
    let worker = network.join_resting(offer("a", 1000, 10), vec![0]);
    network.submit("ada", &job(vec![task("a")]));
    assert!(network.started().is_empty());
    network.apply(Event::DevicesRest { worker, devices: vec![] });
    assert_eq!(network.started().len(), 1);
}

#[test]
fn an_offer_with_the_same_runtime_twice_does_no_harm() {
    let mut network = Network::new();
    let mut twice = offer("a", 1000, 10);
    let runtime = twice.devices[0].runtimes[0].clone();
    twice.devices[0].runtimes.push(runtime);
    let worker = network.join(twice);
    network.submit("ada", &job(vec![task("a")]));
    network.leave(worker);
    assert_eq!(network.started().len(), 0);
}
