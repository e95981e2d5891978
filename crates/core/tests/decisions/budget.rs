use crate::network::{Network, array, job, offer, task};
use gleaner_core::ledger::Account;
use gleaner_core::{Event, Ticket};
use gleaner_wire::api::JobState;
use gleaner_wire::job_file::{Budget, JobFile, TaskFile};
use gleaner_wire::{Amount, Cause};

#[test]
fn the_worker_gets_85_the_platform_15_and_the_rest_goes_back() {
    let mut network = Network::new();
    let worker = network.join(offer("a", 1000, 1_000_000));
    let before = network.core.balance(&Account::Requester("ada".into()));
    let id = network.submit("ada", &job(vec![task("a")]));
    assert_eq!(network.core.balance(&Account::Order(id)), Amount::gln(10));
    let (_, start) = network.started_one();
    network.deliver(worker, &start, 2000);
    assert_eq!(network.earned(worker), Amount(1_700_000));
    assert_eq!(network.core.balance(&Account::Platform), Amount(300_000));
    let after = network.core.balance(&Account::Requester("ada".into()));
    assert_eq!(before.0 - after.0, 2_000_000);
    assert_eq!(network.core.balance(&Account::Order(id)), Amount::ZERO);
}

#[test]
fn a_job_never_costs_more_than_its_cap() {
    let mut network = Network::new();
    for name in ["a", "b", "c"] {
        network.join(offer(name, 1000, 1_000_000));
    }
    let cap = Amount(4_500_000);
    let budget = Budget { price_max: Some(cap), time_max: None };
    let id = network.submit("ada", &JobFile { budget, ..job(vec![array("a", 100)]) });
    network.run_all(1000);
    let summary = network.core.job_summary(id).expect("it is there");
    assert!(summary.spent <= cap && summary.spent.0 >= 3_000_000, "{}", summary.spent);
    let JobState::Failed { reason, .. } = summary.state else { panic!("{:?}", summary.state) };
    assert!(reason.contains("price cap") && reason.contains("price_max"), "{reason}");
}

#[test]
fn a_worker_is_told_to_stop_where_the_money_ends() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 1_000_000));
    let budget = Budget { price_max: Some(Amount(3_000_000)), time_max: None };
    network.submit("ada", &JobFile { budget, ..job(vec![task("a")]) });
    let (_, start) = network.started_one();
    assert_eq!(start.time_ms.0, 3000, "60 s were allowed, 3 s are paid for");
}

#[test]
fn a_cap_that_is_not_covered_is_refused_with_what_to_do() {
    let mut network = Network::new();
    let budget = Budget { price_max: Some(Amount::gln(2000)), time_max: None };
    let refusal = network.try_submit("ada", &JobFile { budget, ..job(vec![task("a")]) });
    let reason = refusal.expect_err("not covered");
    assert!(reason.contains("Lower budget.price_max"), "{reason}");
    assert!(network.try_submit("nobody", &job(vec![task("a")])).is_err());
}

#[test]
fn a_submission_sent_twice_makes_one_job() {
    let mut network = Network::new();
    let graph = gleaner_core::plan::plan(&job(vec![task("a")])).expect("it makes sense");
    for ticket in [1, 2] {
        let (ticket, requester, graph) = (Ticket(ticket), "ada".into(), graph.clone());
        network.apply(Event::JobSubmitted { ticket, submission: 42, requester, graph, order: None });
    }
    assert_eq!(network.core.jobs().len(), 1);
}

#[test]
fn a_cancelled_job_stops_its_attempts_and_gives_its_money_back() {
    let mut network = Network::new();
    let worker = network.join(offer("a", 1000, 1_000_000));
    let id = network.submit("ada", &job(vec![array("a", 10)]));
    let (_, start) = network.started_one();
    network.apply(Event::JobCancelled { job: id });
    assert_eq!(network.state(id), JobState::Cancelled);
    assert_eq!(network.cancelled(), [start.attempt]);
    network.deliver(worker, &start, 1000);
    assert_eq!(network.earned(worker), Amount::ZERO);
    assert_eq!(network.core.balance(&Account::Requester("ada".into())), Amount::gln(1000));
    network.apply(Event::JobArchived { job: id });
    assert!(network.core.job_summary(id).is_none());
}

#[test]
fn the_time_limit_of_a_job_ends_it() {
    let mut network = Network::new();
    let id = network.submit("ada", &job(vec![task("a")]));
    network.wait(3_600_000);
    assert!(matches!(network.state(id), JobState::Failed { cause: None, .. }));
}

#[test]
fn a_task_stopped_at_its_predicted_time_gets_all_the_time_the_job_allows() {
    let mut network = Network::new();
    let (a, b) = (network.join(offer("a", 1000, 10)), network.join(offer("b", 1000, 10)));
    let tasks = vec![TaskFile { time_max: Some("10m".into()), ..array("a", 40) }];
    let id = network.submit("ada", &job(tasks));
    let mut limits = vec![];
    for round in 0..200 {
        for (worker, start) in network.started() {
            assert!(worker == a || worker == b);
            if start.index == 30 && start.time_ms.0 < 600_000 {
                limits.push(start.time_ms.0);
                let earned = network.earned(worker);
                network.fail(worker, &start, Cause::TimeLimit);
                assert_eq!(network.earned(worker), earned, "nobody pays for a task that was stopped early");
            } else {
                network.deliver(worker, &start, 100);
            }
        }
        if network.state(id) == JobState::Done {
            assert_eq!(limits.len(), 1, "{limits:?}");
            return;
        }
        assert!(round < 199, "the job ends");
    }
}

#[test]
fn a_seat_that_is_too_dear_does_not_end_a_job_that_others_can_do() {
    let mut network = Network::new();
    network.join(offer("dear", 2000, 900_000_000_000));
    let cheap = network.join(offer("cheap", 500, 10));
    let id = network.submit("ada", &job(vec![array("a", 3)]));
    for _ in 0..3 {
        network.run_all(500);
        network.wait(1000);
    }
    assert_eq!(network.state(id), JobState::Done);
    assert!(network.earned(cheap).0 > 0);
    network.leave(cheap);
    let id = network.submit("ada", &job(vec![task("b")]));
    assert!(matches!(network.state(id), JobState::Failed { cause: None, .. }), "nobody else is left");
}
