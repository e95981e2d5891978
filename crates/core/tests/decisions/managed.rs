use crate::network::{Network, array, job, offer, task};
use gleaner_core::{Effect, Event, Terms};
use gleaner_wire::job_file::{Budget, JobFile};
use gleaner_wire::{Amount, Cause, DeviceClass, Millis, WorkerId, WorkerKey};

const WAIT_MS: u64 = 10_000;
const IDLE_MS: u64 = 60_000;

fn key(name: &str) -> WorkerKey {
    let mut key = [0; 32];
    key[..name.len()].copy_from_slice(name.as_bytes());
    WorkerKey(key)
}

fn hub(workers_max: u32) -> Network {
    let mut network = Network::new();
    let terms = Terms { wait_ms: Millis(WAIT_MS), idle_ms: Millis(IDLE_MS), workers_max };
    network.apply(Event::DemandTermsSet { terms });
    network
}

fn manage(network: &mut Network, name: &str, managed: bool) {
    network.apply(Event::WorkerManaged { key: key(name), managed });
}

fn class() -> DeviceClass {
    "cpu-wasm-0GiB".parse().expect("a class")
}

fn wanted(network: &Network) -> u32 {
    network.core.demand().classes.iter().find(|demand| demand.class == class()).map_or(0, |demand| demand.wanted)
}

#[test]
fn a_managed_worker_takes_only_what_waits_too_long() {
    let mut network = hub(0);
    manage(&mut network, "ours", true);
    let (ours, theirs) = (network.join(offer("ours", 4000, 1)), network.join(offer("theirs", 1000, 10)));
    assert!(network.core.is_managed(ours) && !network.core.is_managed(theirs));
    network.submit("ada", &job(vec![array("a", 2)]));
    let (first, start) = network.started_one();
    assert_eq!(first, theirs, "although ours is faster, cheaper and idle");
    network.wait(WAIT_MS - 1000);
    assert!(network.started().is_empty());
    network.wait(2000);
    assert_eq!(network.started_one().0, ours);
    network.deliver(theirs, &start, 1000);
}

#[test]
fn what_nobody_else_can_do_waits_no_longer_than_stated() {
    let mut network = hub(0);
    manage(&mut network, "ours", true);
    let ours = network.join(offer("ours", 1000, 10));
    network.submit("ada", &job(vec![task("a")]));
    network.wait(WAIT_MS - 100);
    assert!(network.started().is_empty());
    network.wait(200);
    assert_eq!(network.started_one().0, ours);
}

#[test]
fn what_the_platform_is_too_dear_for_goes_back_to_whoever_dropped_it() {
    let mut network = hub(0);
    manage(&mut network, "ours", true);
    network.join(offer("ours", 1000, Amount::gln(1000).0));
    let theirs = network.join(offer("theirs", 1000, 10));
    network.submit("ada", &job(vec![task("a")]));
    let (first, start) = network.started_one();
    assert_eq!(first, theirs);
    network.fail(theirs, &start, Cause::RefusedByOwner);
    assert!(network.started().is_empty(), "others come first, as long as they may be in time");
    network.wait(WAIT_MS + 100);
    assert_eq!(network.started_one().0, theirs, "it is there, and can be paid");
}

#[test]
fn a_shorter_wait_counts_at_once() {
    let mut network = hub(0);
    manage(&mut network, "ours", true);
    let ours = network.join(offer("ours", 1000, 10));
    network.submit("ada", &job(vec![task("a")]));
    network.wait(2000);
    network.apply(Event::DemandTermsSet { terms: Terms { wait_ms: Millis(1000), ..Terms::default() } });
    assert_eq!(network.started_one().0, ours);
}

#[test]
fn what_the_community_does_in_time_is_left_to_it() {
    let mut network = hub(0);
    manage(&mut network, "ours", true);
    let ours = network.join(offer("ours", 4000, 1));
    network.join(offer("theirs", 1000, 10));
    for _ in 0..20 {
        network.submit("ada", &job(vec![array("a", 3)]));
        network.run_all(1000);
    }
    assert_eq!(network.core.worker_view(ours).expect("it is there").done, 0);
}

#[test]
fn a_deadline_in_danger_is_not_waited_for() {
    let mut network = hub(0);
    manage(&mut network, "ours", true);
    let theirs = network.join(offer("theirs", 1000, 10));
    network.submit("ada", &job(vec![array("a", 4)]));
    network.run_all(4000);
    let ours = network.join(offer("ours", 1000, 10));
    let budget = Budget { price_max: Some(Amount::gln(10)), time_max: Some("9s".into()) };
    network.submit("ada", &JobFile { budget, ..job(vec![array("a", 4)]) });
    let workers: Vec<WorkerId> = network.started().into_iter().map(|(worker, _)| worker).collect();
    assert_eq!(workers, [theirs, ours], "four tasks of four seconds are not done by one in nine");
}

#[test]
fn whose_a_worker_is_can_change_while_it_works() {
    let mut network = hub(0);
    let worker = network.join(offer("both", 1000, 10));
    network.submit("ada", &job(vec![task("a")]));
    let (_, start) = network.started_one();
    manage(&mut network, "both", true);
    network.submit("ada", &job(vec![task("b")]));
    network.deliver(worker, &start, 100);
    assert!(network.started().is_empty());
    manage(&mut network, "both", false);
    assert_eq!(network.started_one().0, worker);
    assert!(!network.core.worker_view(worker).expect("it is there").managed);
}

#[test]
fn a_waiting_task_says_that_a_managed_worker_is_kept_for_later() {
    let mut network = hub(0);
    manage(&mut network, "ours", true);
    network.join(offer("ours", 1000, 10));
    let id = network.submit("ada", &job(vec![task("a")]));
    let reasons = network.core.explain(id).expect("it is there").waiting[0].reasons.clone();
    assert_eq!(reasons[0].code, "managed");
}

#[test]
fn referees_are_managed_online_and_fit() {
    let mut network = hub(0);
    for name in ["ours", "gone", "weak"] {
        manage(&mut network, name, true);
    }
    let (ours, gone) = (network.join(offer("ours", 1000, 10)), network.join(offer("gone", 1000, 10)));
    network.join(offer("weak", 10, 10));
    network.join(offer("theirs", 1000, 10));
    network.leave(gone);
    let graph = gleaner_core::plan::plan(&job(vec![task("a")])).expect("it makes sense");
    let mut needs = graph.groups[0].needs.clone();
    needs.score_min = 100;
    assert_eq!(network.core.referees(&needs), [ours]);
}

#[test]
fn more_managed_workers_are_wanted_under_load_and_none_when_idle() {
    let mut network = hub(3);
    let theirs = network.join(offer("theirs", 1000, 10));
    network.submit("ada", &job(vec![array("a", 50)]));
    assert_eq!(wanted(&network), 0, "the community has its time first");
    let before = network.effects_of(Event::TimePassed).len();
    assert_eq!(before, 0);
    network.wait(WAIT_MS + 5000);
    assert_eq!(wanted(&network), 3, "as many as the operator allows");
    assert!(network.demand_announced());
    network.run_all(100);
    assert_eq!(network.core.worker_view(theirs).expect("it is there").done, 50);
    network.wait(IDLE_MS - 10_000);
    assert_eq!(wanted(&network), 3, "a lull is no reason");
    network.wait(30_000);
    assert!(wanted(&network) <= 1, "one was enough at the end");
    network.wait(IDLE_MS + 10_000);
    assert_eq!(wanted(&network), 0);
    assert!(network.demand_announced());
    assert_eq!(network.core.next_deadline(), None, "nobody looks any more");
}

#[test]
fn a_replayed_journal_gives_the_same_demand_and_prices() {
    let mut network = hub(3);
    manage(&mut network, "ours", true);
    network.join(offer("ours", 1000, 10));
    network.join(offer("theirs", 1000, 10));
    network.submit("ada", &job(vec![array("a", 50)]));
    network.wait(600_000);
    let restored = gleaner_core::Core::restore(&network.core.snapshot()).expect("it was just written");
    restored.check().expect("every invariant holds");
    assert_eq!(restored.demand(), network.core.demand());
    assert_eq!(restored.prices(network.now), network.core.prices(network.now));
    assert_eq!(restored.snapshot(), network.core.snapshot());
}

impl Network {
    /// Whether other numbers of managed workers were announced since the last look.
    fn demand_announced(&mut self) -> bool {
        !self.take_effects(|effect| *effect == Effect::AnnounceDemand).is_empty()
    }
}
