//! How firm a place is: who keeps seats, who can be outbid, and what happens to those who are.
use std::collections::VecDeque;

use crate::audits;
use crate::network::{Network, array, job, offer, output, task};
use gleaner_core::{Core, Event, Params};
use gleaner_wire::api::JobState;
use gleaner_wire::job_file::{JobFile, TaskFile};
use gleaner_wire::market::{Market, Tier};
use gleaner_wire::{Amount, JobId, Outcome, StartAttempt, WorkerId, WorkerKey};

fn tiered(tier: Tier, task: TaskFile) -> JobFile {
    JobFile { market: Market { tier, ..Market::default() }, ..job(vec![task]) }
}

fn spent(network: &Network, id: JobId) -> Amount {
    network.core.job_summary(id).expect("it is there").spent
}

/// An interruptible task runs on the only worker, and one that pays more has come.
fn outbid() -> (Network, (JobId, WorkerId, StartAttempt), JobId) {
    let mut network = Network::new();
    network.join(offer("only", 1000, 1_000_000));
    let soft = network.submit("ada", &tiered(Tier::Interruptible, task("soft")));
    let (worker, start) = network.started_one();
    network.wait(5000);
    let firm = network.submit("bob", &tiered(Tier::OnDemand, task("firm")));
    assert_eq!(network.yielding(), [start.attempt]);
    assert!(network.started().is_empty(), "the place is not free yet");
    (network, (soft, worker, start), firm)
}

#[test]
fn who_is_outbid_saves_is_paid_for_that_and_goes_on_at_its_checkpoint() {
    let (mut network, (soft, worker, start), firm) = outbid();
    network.apply(Event::Saved { worker, attempt: start.attempt, checkpoint: output(7) });
    network.finish(worker, start.attempt, 5000, Outcome::Cancelled);
    assert_eq!(spent(&network, soft), Amount(4_250_000), "five seconds at 85 % of what is asked");
    assert_eq!(network.earned(worker), Amount(4_250_000), "and the platform takes nothing of it");
    let (_, dearer) = network.started_one();
    assert_eq!(dearer.job, firm);
    network.deliver(worker, &dearer, 1000);
    let (_, again) = network.started_one();
    assert_eq!((again.job, again.checkpoint), (soft, Some(output(7))));
    network.deliver(worker, &again, 3000);
    assert_eq!((network.state(soft), network.state(firm)), (JobState::Done, JobState::Done));
    assert_eq!(spent(&network, soft), Amount(4_250_000 + 2_550_000));
    let view = network.core.job_view(soft).expect("it is there");
    assert_eq!((view.market.moved, view.failures.len(), network.core.totals().attempts_moved), (1, 0, 1));
}

#[test]
fn who_leaves_no_checkpoint_is_not_paid() {
    let (mut network, (soft, worker, start), firm) = outbid();
    network.finish(worker, start.attempt, 5000, Outcome::Cancelled);
    assert_eq!((spent(&network, soft), network.earned(worker)), (Amount::ZERO, Amount::ZERO));
    assert_eq!(network.started_one().1.job, firm);
}

#[test]
fn who_does_not_give_way_in_time_loses_the_place_unpaid() {
    let (mut network, (soft, worker, start), firm) = outbid();
    network.apply(Event::Saved { worker, attempt: start.attempt, checkpoint: output(7) });
    network.wait(10_200);
    assert!(network.cancelled().contains(&start.attempt));
    assert_eq!(spent(&network, soft), Amount::ZERO);
    network.finish(worker, start.attempt, 15_000, Outcome::Cancelled);
    assert_eq!(network.started_one().1.job, firm, "it was heard from, so it gets work again");
}

#[test]
fn who_is_done_before_it_had_to_go_is_paid_as_ever() {
    let (mut network, (soft, worker, start), firm) = outbid();
    network.deliver(worker, &start, 1000);
    assert_eq!(network.state(soft), JobState::Done);
    assert_eq!(network.started_one().1.job, firm);
    assert_eq!(network.core.totals().attempts_moved, 0);
}

#[test]
fn nobody_is_outbid_by_equals_or_where_a_place_is_free() {
    let mut network = Network::new();
    network.join(offer("only", 1000, 1_000_000));
    network.submit("ada", &tiered(Tier::Interruptible, task("soft")));
    network.started_one();
    network.submit("bob", &tiered(Tier::Interruptible, task("other")));
    assert!(network.yielding().is_empty());
    network.join(offer("more", 1000, 1_000_000));
    network.submit("bob", &tiered(Tier::OnDemand, task("firm")));
    network.wait(1000);
    // The one that waited took the free place, so one of the two must go; only one.
    assert_eq!(network.yielding().len(), 1);
}

#[test]
fn those_who_pay_more_come_first_when_a_place_is_free() {
    let mut network = Network::new();
    let worker = network.join(offer("only", 1000, 1_000_000));
    network.submit("ada", &tiered(Tier::OnDemand, task("first")));
    let (_, first) = network.started_one();
    let soft = network.submit("ada", &tiered(Tier::Interruptible, task("soft")));
    let firm = network.submit("bob", &tiered(Tier::OnDemand, task("firm")));
    network.deliver(worker, &first, 1000);
    let (_, next) = network.started_one();
    assert_eq!(next.job, firm);
    network.deliver(worker, &next, 1000);
    assert_eq!(network.started_one().1.job, soft);
}

#[test]
fn a_task_is_moved_three_times_and_then_left_alone() {
    let mut network = Network::new();
    let worker = network.join(offer("only", 1000, 1_000_000));
    let soft = network.submit("ada", &tiered(Tier::Interruptible, task("soft")));
    for _ in 0..3 {
        let (_, start) = network.started_one();
        assert_eq!(start.job, soft);
        network.submit("bob", &tiered(Tier::OnDemand, task("firm")));
        assert_eq!(network.yielding(), [start.attempt]);
        network.finish(worker, start.attempt, 0, Outcome::Cancelled);
        let (_, firm) = network.started_one();
        network.deliver(worker, &firm, 1000);
    }
    let (_, start) = network.started_one();
    network.submit("bob", &tiered(Tier::OnDemand, task("firm")));
    assert!(network.yielding().is_empty());
    network.deliver(worker, &start, 1000);
    assert_eq!(network.state(soft), JobState::Done);
}

#[test]
fn the_seats_of_a_reserved_job_take_nothing_else_until_nothing_is_left_to_start() {
    let mut network = Network::new();
    let kept = network.join(offer("kept", 4000, 1_000_000));
    let reserved = JobFile {
        market: Market { tier: Tier::Reserved, ..Market::default() },
        ..job(vec![
            task("first"),
            TaskFile {
                inputs: vec![gleaner_wire::job_file::InputFile {
                    name: "in".into(),
                    file: None,
                    folder: None,
                    dataset: None,
                    from: Some("first".into()),
                    same_index: false,
                    per: None,
                }],
                ..array("second", 2)
            },
        ])
    };
    let reserved = network.submit("ada", &reserved);
    let (worker, first) = network.started_one();
    assert_eq!(worker, kept);
    assert_eq!(network.core.job_view(reserved).expect("it is there").market.kept, 1);
    let other = network.submit("bob", &job(vec![task("other")]));
    network.deliver(kept, &first, 1000);
    let (_, second) = network.started_one();
    assert_eq!(second.job, reserved, "bob has had less, and still the seat is hers");
    network.deliver(kept, &second, 1000);
    let (_, third) = network.started_one();
    assert_eq!(third.job, reserved);
    network.deliver(kept, &third, 1000);
    assert_eq!(network.state(reserved), JobState::Done);
    assert_eq!(network.started_one().1.job, other);
    assert_eq!(spent(&network, reserved), Amount(3_750_000), "three seconds at 125 % of what is asked");
}

#[test]
fn reserved_jobs_leave_half_of_the_places_to_others() {
    let mut network = Network::new();
    for name in ["a", "b", "c", "d"] {
        network.join(offer(name, 1000, 1_000_000));
    }
    let id = network.submit("ada", &tiered(Tier::Reserved, array("many", 100)));
    assert_eq!(network.started().len(), 2);
    let reasons = network.core.explain(id).expect("it is there").waiting[0].reasons.clone();
    assert_eq!(reasons[0].code, "places_kept");
    network.submit("bob", &job(vec![array("other", 2)]));
    assert_eq!(network.started().len(), 2);
    network.apply(Event::JobCancelled { job: id });
    assert_eq!(network.core.job_view(id).expect("it is there").market.kept, 0);
}

#[test]
fn firm_and_soft_places_outlast_a_restart_of_the_hub() {
    let (mut network, (soft, worker, start), _) = outbid();
    network.core = Core::restore(&network.core.snapshot()).expect("a snapshot restores");
    network.apply(Event::HubStarted);
    network.join_holding(offer("only", 1000, 1_000_000), vec![start.attempt]);
    assert_eq!(network.yielding(), [start.attempt], "it is told again");
    network.apply(Event::Saved { worker, attempt: start.attempt, checkpoint: output(7) });
    network.finish(worker, start.attempt, 5000, Outcome::Cancelled);
    assert!(spent(&network, soft) > Amount::ZERO);
}

#[test]
fn what_can_be_outbid_lets_others_go_first_and_still_has_its_turn() {
    let mut network = Network::new();
    network.join(offer("only", 1000, 1_000_000));
    network.submit("ada", &job(vec![array("many", 2000)]));
    let soft = network.submit("bob", &tiered(Tier::Interruptible, task("soft")));
    let since = network.now;
    let mut open = VecDeque::new();
    let waited = loop {
        open.extend(network.started());
        if open.iter().any(|(_, start): &(WorkerId, StartAttempt)| start.job == soft) {
            break network.now.since(since).0;
        }
        let (worker, start) = open.pop_front().expect("there is always something to do");
        network.deliver(worker, &start, 1000);
    };
    assert!((600_000..605_000).contains(&waited), "{waited} ms");
}

#[test]
fn the_platforms_own_devices_are_not_kept() {
    let mut network = Network::new();
    let mut key = [0; 32];
    key[..4].copy_from_slice(b"ours");
    network.apply(Event::WorkerManaged { key: WorkerKey(key), managed: true });
    let ours = network.join(offer("ours", 1000, 1_000_000));
    let id = network.submit("ada", &tiered(Tier::Reserved, array("many", 3)));
    network.wait(61_000);
    assert_eq!(network.started_one().0, ours, "it is late");
    assert_eq!(network.core.job_view(id).expect("it is there").market.kept, 0);
}

/// An interruptible task of a hub that has everything computed again was outbid, saved how far it is and was handed back.
fn moved_where_results_are_checked() -> (Network, JobId, WorkerId) {
    let mut params = Params { checks: true, ..Params::default() };
    params.audits.floor = 1_000_000;
    let mut network = Network::with(params);
    for name in ["ann", "ben", "cid", "dot", "eve", "fay"] {
        network.join(offer(name, 1000, 1_000_000));
    }
    network.submit("bob", &job(vec![array("busy", 5)]));
    let busy = network.started();
    let soft = network.submit("ada", &tiered(Tier::Interruptible, task("soft")));
    let (worker, start) = network.started_one();
    network.wait(5000);
    network.submit("bob", &job(vec![task("firm")]));
    assert_eq!(network.yielding(), [start.attempt]);
    network.apply(Event::Saved { worker, attempt: start.attempt, checkpoint: output(7) });
    network.finish(worker, start.attempt, 5000, Outcome::Cancelled);
    assert_eq!(network.earned(worker), Amount::ZERO, "nobody knows yet what it is worth");
    for (worker, start) in busy {
        network.deliver(worker, &start, 10);
    }
    (network, soft, worker)
}

#[test]
fn where_results_are_checked_a_part_is_paid_with_the_result_that_was_built_on_it() {
    let (mut network, soft, worker) = moved_where_results_are_checked();
    audits::run(&mut network, &[]);
    assert_eq!(network.state(soft), JobState::Done);
    assert_eq!(spent(&network, soft), Amount(4_250_000 + 8500), "five seconds and ten milliseconds at 85 %");
    assert!(network.earned(worker) >= Amount(4_250_000));
}

#[test]
fn a_part_is_not_paid_if_the_result_that_was_built_on_it_is_refuted_and_who_was_misled_loses_no_standing() {
    let (mut network, soft, _) = moved_where_results_are_checked();
    let started = network.started();
    let (misled, start) = started.iter().find(|(_, start)| start.job == soft).expect("it goes on elsewhere").clone();
    assert_eq!(start.checkpoint, Some(output(7)));
    network.finish(misled, start.attempt, 10, Outcome::Done(output(666)));
    for (worker, start) in started.iter().filter(|(_, start)| start.job != soft) {
        network.deliver(*worker, start, 10);
    }
    audits::run(&mut network, &[]);
    assert_eq!(network.state(soft), JobState::Done);
    assert_eq!(network.core.outputs(soft, 0, 0, 1), [(0, output(0))], "it began anew");
    assert_eq!(spent(&network, soft), Amount(8500), "only what was right in the end");
    let view = network.core.worker_view(misled).expect("it is there");
    assert_eq!(view.audits.map(|audits| audits.bad), Some(0), "it may have been given a wrong checkpoint");
}
