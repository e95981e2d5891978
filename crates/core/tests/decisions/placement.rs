use crate::network::{Network, array, job, offer, task};
use gleaner_wire::api::JobState;
use gleaner_wire::job_file::{JobFile, KernelFile, NeedsFile, Prefer, TaskFile};
use gleaner_wire::{Amount, ByteSize, Cause, DeviceKind, DeviceOffer, Offer, Runtime, RuntimeOffer};

fn gpu(name: &str, kind: DeviceKind, loops_max: Option<u64>) -> Offer {
    let runtimes = vec![RuntimeOffer { runtime: Runtime::Wgsl, score: 1000, loops_max, engine: None }];
    let memory = ByteSize::mib(8192);
    let device = DeviceOffer {
        kind,
        name: name.into(),
        memory,
        cards: 1,
        slots: 1,
        network: false,
        eevee: false,
        price_per_second: Amount(10),
        runtimes,
    };
    Offer { name: name.into(), region: "eu".into(), provider: None, devices: vec![device] }
}

fn kernel(name: &str, loops_max: Option<u64>) -> TaskFile {
    let kernel = KernelFile { loops_max, ..KernelFile::default() };
    TaskFile { runtime: Runtime::Wgsl, args: vec![], kernel, ..task(name) }
}

#[test]
fn fast_and_cheap_choose_different_workers() {
    for (prefer, wanted) in [(Prefer::Fast, "dear"), (Prefer::Cheap, "slow")] {
        let mut network = Network::new();
        network.join(offer("slow", 500, 10_000));
        network.join(offer("dear", 4000, 2_000_000));
        network.submit("ada", &JobFile { prefer, ..job(vec![task("a")]) });
        let (worker, _) = network.started_one();
        assert_eq!(network.core.worker_view(worker).expect("it is there").offer.name, wanted);
    }
}

#[test]
fn a_device_that_stops_long_loops_gets_only_kernels_that_stay_below() {
    let mut network = Network::new();
    let limited = network.join(gpu("limited", DeviceKind::Software, Some(65_535)));
    network.submit("ada", &job(vec![kernel("unsaid", None)]));
    network.submit("ada", &job(vec![kernel("long", Some(1_000_000))]));
    assert!(network.started().is_empty());
    network.submit("ada", &job(vec![kernel("short", Some(4096))]));
    assert_eq!(network.started_one().0, limited);
    let whole = network.join(gpu("whole", DeviceKind::Nvidia, None));
    let started = network.started();
    assert_eq!(started.iter().map(|(worker, _)| *worker).collect::<Vec<_>>(), [whole]);
}

#[test]
fn a_task_goes_only_where_its_needs_are_met() {
    let mut network = Network::new();
    let mut small = offer("small", 1000, 10);
    small.devices[0].memory = ByteSize::mib(1024);
    network.join(small);
    network.join(Offer { region: "us".into(), ..offer("far", 1000, 10) });
    network.join(offer("weak", 100, 10));
    let needs =
        NeedsFile { memory: Some(ByteSize::mib(1500)), region: Some("eu".into()), score_min: Some(500), device: None };
    let id = network.submit("ada", &job(vec![TaskFile { needs, ..task("a") }]));
    assert!(network.started().is_empty());
    let codes = network.core.explain(id).expect("it is there").waiting[0].reasons.clone();
    let codes: Vec<_> = codes.iter().map(|reason| (reason.code.as_str(), reason.devices)).collect();
    assert_eq!(codes, [("too_little_memory", Some(1)), ("other_region", Some(1)), ("score_too_low", Some(1))]);
    let right = network.join(offer("right", 600, 10));
    assert_eq!(network.started_one().0, right);
}

#[test]
fn equal_workers_take_turns() {
    let mut network = Network::new();
    for name in ["a", "b", "c"] {
        network.join(offer(name, 1000, 10));
    }
    let mut used = std::collections::BTreeSet::new();
    for _ in 0..3 {
        network.submit("ada", &job(vec![task("a")]));
        let (worker, start) = network.started_one();
        used.insert(worker);
        network.deliver(worker, &start, 10);
    }
    assert_eq!(used.len(), 3);
}

#[test]
fn short_work_is_sent_ahead_once_its_length_is_known() {
    let mut network = Network::new();
    let worker = network.join(offer("a", 1000, 10));
    network.submit("ada", &job(vec![array("a", 10_000)]));
    let (_, start) = network.started_one();
    network.deliver(worker, &start, 1);
    let ahead = network.started().len();
    assert!((50..=1024).contains(&ahead), "{ahead} tasks of 1 ms were sent ahead");
    let mut network = Network::new();
    let worker = network.join(offer("a", 1000, 10));
    network.submit("ada", &job(vec![array("a", 10_000)]));
    let (_, start) = network.started_one();
    network.deliver(worker, &start, 10_000);
    assert_eq!(network.started().len(), 1, "long work waits where another could take it");
}

#[test]
fn a_slow_worker_does_not_get_the_last_tasks() {
    let mut network = Network::new();
    let fast = network.join(offer("fast", 16_000, 10));
    let slow = network.join(offer("slow", 100, 10));
    let id = network.submit("ada", &JobFile { prefer: Prefer::Fast, ..job(vec![array("a", 6)]) });
    // Both get one while nothing is known; the fast one is done in a second and takes all the others.
    let mut by_slow = 0;
    for _ in 0..20 {
        for (worker, start) in network.started() {
            if worker == fast {
                network.deliver(fast, &start, 1000);
            } else {
                assert_eq!(worker, slow);
                by_slow += 1;
            }
        }
    }
    assert_eq!(by_slow, 1);
    assert_eq!(network.state(id), JobState::Done, "the fast worker also overtook the slow one's task");
}

#[test]
fn idle_workers_do_not_hold_work_back_for_each_other() {
    let mut network = Network::new();
    for (name, score) in [("a", 15), ("b", 22), ("c", 40), ("d", 900)] {
        network.join(offer(name, score, 10));
    }
    let id = network.submit("ada", &JobFile { prefer: Prefer::Fast, ..job(vec![array("a", 60)]) });
    // A task that sleeps takes as long on each of them, whatever their scores say.
    network.run_all(100);
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn known_results_are_not_computed_again_for_the_same_requester() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 10));
    let file = job(vec![TaskFile { memo: true, ..array("a", 5) }]);
    network.submit("ada", &file);
    network.run_all(10);
    let again = network.submit("ada", &file);
    assert!(network.started().is_empty());
    let summary = network.core.job_summary(again).expect("it is there");
    assert_eq!((summary.state, summary.known, summary.spent), (JobState::Done, 5, Amount::ZERO));
    network.submit("bob", &file);
    assert!(!network.started().is_empty(), "nobody is handed a result of somebody else's job");
    let more = network.submit("ada", &job(vec![TaskFile { memo: true, ..array("a", 6) }]));
    assert_eq!(network.core.job_summary(more).expect("it is there").known, 5);
}

#[test]
fn a_slow_worker_gets_what_the_fast_one_may_not_have_again() {
    let mut network = Network::new();
    let fast = network.join(offer("fast", 100_000, 10));
    network.submit("ada", &job(vec![array("a", 10)]));
    network.run_all(100);
    let slow = network.join(offer("slow", 100, 10));
    network.submit("ada", &job(vec![task("a")]));
    let (worker, start) = network.started_one();
    assert_eq!(worker, fast);
    network.fail(fast, &start, Cause::DeviceFault);
    assert!(network.started().is_empty(), "somebody faster might come");
    network.wait(2000);
    assert_eq!(network.started_one().0, slow);
}
