use crate::network::{Network, array, job, offer, task};
use gleaner_core::{Event, Params};
use gleaner_wire::job_file::{JobFile, Prefer};
use gleaner_wire::{Cause, DeviceKind, JobId, Millis, Offer, Runtime, State, WorkerId};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

fn screening() -> Network {
    Network::with(Params { screening: true, ..Params::default() })
}

/// A worker that has passed the test of its one runtime with this score.
fn tested(network: &mut Network, offer: Offer, score: u32) -> WorkerId {
    let worker = network.join(offer);
    assert_eq!(network.tests(), [(worker, 0, Runtime::Wasm)]);
    network.screened((worker, 0, Runtime::Wasm), Ok(score));
    worker
}

fn codes(network: &Network, id: JobId) -> Vec<String> {
    let view = network.core.explain(id).expect("it is there");
    view.waiting.iter().flat_map(|waiting| waiting.reasons.iter().map(|reason| reason.code.clone())).collect()
}

fn due(network: &Network, worker: WorkerId) -> Option<Millis> {
    network.core.worker_view(worker).expect("it is there").tests[0].due
}

#[test]
fn a_worker_gets_no_work_before_it_has_passed_its_test() {
    let mut network = screening();
    let worker = network.join(offer("new", 1000, 10));
    let id = network.submit("ada", &job(vec![task("a")]));
    assert!(network.started().is_empty());
    assert_eq!(codes(&network, id), ["untested"]);
    assert_eq!(network.tests(), [(worker, 0, Runtime::Wasm)]);
    network.screened((worker, 0, Runtime::Wasm), Ok(800));
    assert_eq!(network.started_one().0, worker);
    assert_eq!(network.verdicts(), [Ok(800)]);
    assert_eq!(network.core.worker_view(worker).expect("it is there").speeds, [800]);
}

#[test]
fn nobody_is_tested_where_the_hub_does_not_test() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 10));
    assert!(network.tests().is_empty());
    network.wait(48 * HOUR);
    assert!(network.tests().is_empty());
}

#[test]
fn what_a_worker_says_of_itself_counts_for_nothing() {
    let mut network = screening();
    let modest = tested(&mut network, offer("modest", 10, 10), 2000);
    tested(&mut network, offer("boaster", 1_000_000, 10), 500);
    network.submit("ada", &JobFile { prefer: Prefer::Fast, ..job(vec![task("a")]) });
    assert_eq!(network.started_one().0, modest);
}

#[test]
fn a_score_outlasts_a_connection() {
    let mut network = screening();
    let worker = tested(&mut network, offer("a", 1000, 10), 800);
    network.leave(worker);
    network.wait(MINUTE);
    let mut dearer = offer("a", 3000, 20);
    dearer.devices[0].slots = 2;
    assert_eq!(network.join(dearer), worker);
    assert!(network.tests().is_empty());
    network.submit("ada", &job(vec![task("a")]));
    assert_eq!(network.started_one().0, worker);
}

#[test]
fn another_device_or_engine_is_tested_anew() {
    let changes: [fn(&mut Offer); 3] = [
        |offer| offer.devices[0].name = "another cpu".into(),
        |offer| offer.devices[0].kind = DeviceKind::Software,
        |offer| offer.devices[0].runtimes[0].engine = Some("2.0".into()),
    ];
    for change in changes {
        let mut network = screening();
        let worker = tested(&mut network, offer("a", 1000, 10), 800);
        network.leave(worker);
        let mut changed = offer("a", 1000, 10);
        change(&mut changed);
        network.join(changed);
        assert_eq!(network.tests(), [(worker, 0, Runtime::Wasm)]);
        network.submit("ada", &job(vec![task("a")]));
        assert!(network.started().is_empty());
    }
}

#[test]
fn a_worker_that_fails_is_tested_again_after_a_growing_delay() {
    let mut network = screening();
    let worker = network.join(offer("a", 1000, 10));
    let test = (worker, 0, Runtime::Wasm);
    let id = network.submit("ada", &job(vec![task("a")]));
    for minutes in [1, 4, 16] {
        assert_eq!(network.tests(), [test]);
        network.screened(test, Err("its answer was wrong"));
        assert_eq!(network.verdicts(), [Err("its answer was wrong".into())]);
        assert!(due(&network, worker).is_some(), "its owner is told when it is tried again");
        network.wait(minutes * MINUTE - 1000);
        assert!(network.tests().is_empty(), "{minutes} minutes have not passed");
        network.wait(2000);
    }
    assert!(network.started().is_empty());
    assert_eq!(network.tests(), [test]);
    network.screened(test, Ok(700));
    let (_, start) = network.started_one();
    network.deliver(worker, &start, 10);
    assert_eq!(network.state(id), gleaner_wire::api::JobState::Done);
}

#[test]
fn a_score_below_the_floor_is_no_score() {
    let mut network = screening();
    let floor = network.core.params().score_min[Runtime::Wasm as usize];
    let worker = network.join(offer("slow", 1000, 10));
    network.submit("ada", &job(vec![task("a")]));
    network.screened((worker, 0, Runtime::Wasm), Ok(floor - 1));
    assert!(network.started().is_empty());
    let why = network.verdicts().remove(0).expect_err("it is too slow");
    assert!(why.contains(&format!("the floor of {floor}")), "{why}");
    network.tests();
    network.wait(MINUTE + 100);
    assert_eq!(network.tests().len(), 1);
    network.screened((worker, 0, Runtime::Wasm), Ok(floor));
    assert_eq!(network.started().len(), 1);
}

#[test]
fn paid_work_that_is_far_slower_than_the_test_takes_the_score_away() {
    let mut network = Network::with(Params { screening: true, trouble_max: 1000, ..Params::default() });
    let teacher = tested(&mut network, offer("teacher", 1000, 10), 1000);
    network.submit("ada", &job(vec![array("a", 200)]));
    network.run_all(100);
    network.leave(teacher);
    let cheat = tested(&mut network, offer("cheat", 1000, 10), 8000);
    network.verdicts();
    let id = network.submit("ada", &job(vec![array("a", 400)]));
    let mut runs = 0;
    while network.tests().is_empty() {
        let starts = network.started();
        assert!(!starts.is_empty() && runs < 300, "it never loses its score");
        for (worker, start) in starts {
            network.deliver(worker, &start, 200);
            runs += 1;
        }
    }
    assert!(network.verdicts().iter().all(Result::is_err));
    for (worker, start) in network.started() {
        network.deliver(worker, &start, 200);
    }
    assert!(network.started().is_empty(), "nothing more before it has been tested again");
    assert_eq!(codes(&network, id), ["offline", "untested"]);
    network.screened((cheat, 0, Runtime::Wasm), Ok(500));
    assert!(!network.started().is_empty());
}

#[test]
fn tests_are_repeated_only_while_the_machine_is_idle() {
    // A network that does just the same shows when the test is repeated, which a hub tells nobody.
    let mut twin = screening();
    let worker = tested(&mut twin, offer("a", 1000, 10), 800);
    assert_eq!(due(&twin, worker), None);
    let mut again = 0;
    while twin.tests().is_empty() {
        twin.wait(10_000);
        again += 10_000;
    }
    assert!((2 * HOUR..=20 * HOUR).contains(&again), "{again}");
    let mut network = screening();
    let worker = tested(&mut network, offer("a", 1000, 10), 800);
    network.wait(again - 30_000);
    assert!(network.tests().is_empty());
    network.submit("ada", &job(vec![task("a")]));
    let (_, start) = network.started_one();
    for _ in 0..4 {
        network.wait(10_000);
        network.apply(Event::LeasesRenewed { worker, held: vec![start.attempt] });
    }
    assert!(network.tests().is_empty(), "it is at work");
    network.deliver(worker, &start, 10);
    network.wait(2 * MINUTE);
    assert_eq!(network.tests(), [(worker, 0, Runtime::Wasm)]);
}

#[test]
fn a_device_that_is_being_tested_gets_nothing_else() {
    let mut network = screening();
    let worker = tested(&mut network, offer("a", 1000, 10), 800);
    network.wait(21 * HOUR);
    assert_eq!(network.tests().len(), 1);
    let id = network.submit("ada", &job(vec![task("a")]));
    assert!(network.started().is_empty());
    assert_eq!(codes(&network, id), ["in_test"]);
    network.screened((worker, 0, Runtime::Wasm), Ok(900));
    assert_eq!(network.started_one().0, worker);
}

#[test]
fn tests_of_one_worker_come_one_at_a_time() {
    let mut network = screening();
    let mut two = offer("two", 1000, 10);
    two.devices.push(two.devices[0].clone());
    let worker = network.join(two);
    network.submit("ada", &job(vec![array("a", 2)]));
    assert_eq!(network.tests(), [(worker, 0, Runtime::Wasm)]);
    network.wait(10 * MINUTE);
    assert!(network.tests().is_empty());
    network.screened((worker, 0, Runtime::Wasm), Ok(800));
    assert_eq!(network.tests(), [(worker, 1, Runtime::Wasm)]);
    assert_eq!(network.started_one().1.device, 0, "what has passed works meanwhile");
    network.screened((worker, 1, Runtime::Wasm), Ok(800));
    assert_eq!(network.started_one().1.device, 1);
}

#[test]
fn a_test_that_was_broken_off_is_done_again() {
    let breaks: [fn(&mut Network, WorkerId); 3] = [
        |network, worker| network.leave(worker),
        |network, _| network.apply(Event::HubStarted),
        |_, _| {}, // A second connection replaces the first.
    ];
    for break_off in breaks {
        let mut network = screening();
        let worker = network.join(offer("a", 1000, 10));
        network.submit("ada", &job(vec![task("a")]));
        assert_eq!(network.tests().len(), 1);
        let session = network.session(worker);
        let late = Event::Screened { worker, session, device: 0, runtime: Runtime::Wasm, outcome: Ok(800) };
        break_off(&mut network, worker);
        network.join(offer("a", 1000, 10));
        assert_eq!(network.tests(), [(worker, 0, Runtime::Wasm)]);
        network.apply(late);
        assert!(network.started().is_empty(), "what was said on another connection does not count");
        network.screened((worker, 0, Runtime::Wasm), Ok(800));
        assert_eq!(network.started_one().0, worker);
        network.screened((worker, 0, Runtime::Wasm), Err("said twice"));
        assert_eq!(network.verdicts(), [Ok(800)]);
    }
}

#[test]
fn nobody_keeps_a_score_by_leaving_when_a_test_comes() {
    let mut network = screening();
    let worker = tested(&mut network, offer("coward", 1000, 10), 800);
    network.wait(24 * HOUR);
    assert_eq!(network.tests(), [(worker, 0, Runtime::Wasm)], "the test is repeated");
    network.leave(worker);
    network.submit("ada", &job(vec![array("a", 50)]));
    network.join(offer("coward", 1000, 10));
    assert!(network.started().is_empty(), "there is no work before the test is passed");
    assert_eq!(network.tests(), [(worker, 0, Runtime::Wasm)]);
    network.screened((worker, 0, Runtime::Wasm), Ok(700));
    assert!(!network.started().is_empty());
}

#[test]
fn a_test_that_the_owner_got_in_the_way_of_says_nothing() {
    let mut network = screening();
    let worker = network.join(offer("a", 1000, 10));
    let test = (worker, 0, Runtime::Wasm);
    assert_eq!(network.tests(), [test]);
    network.apply(Event::DevicesRest { worker, devices: vec![0] });
    network.screened(test, Err("the owner is back"));
    assert!(network.verdicts().is_empty());
    network.wait(3 * MINUTE);
    assert!(network.tests().is_empty(), "no tests of a device that rests");
    network.apply(Event::DevicesRest { worker, devices: vec![] });
    network.wait(MINUTE + 100);
    assert_eq!(network.tests(), [test]);
    network.screened(test, Err("its answer was wrong"));
    network.wait(MINUTE + 100);
    assert_eq!(network.tests(), [test], "that was its first failure");
}

#[test]
fn a_paused_worker_is_tested_when_it_is_given_back() {
    let mut network = screening();
    let worker = network.join(offer("a", 1000, 10));
    network.screened((worker, 0, Runtime::Wasm), Err("its answer was wrong"));
    network.tests();
    network.apply(Event::WorkerPaused { worker });
    network.wait(10 * MINUTE);
    assert!(network.tests().is_empty());
    network.apply(Event::WorkerResumed { worker });
    network.wait(100);
    assert_eq!(network.tests().len(), 1);
}

#[test]
fn a_disqualified_worker_is_not_tested_until_it_is_forgiven() {
    let mut network = screening();
    let bad = tested(&mut network, offer("bad", 1000, 10), 800);
    network.submit("ada", &job(vec![array("a", 50)]));
    for _ in 0..3 {
        let (_, start) = network.started_one();
        network.fail(bad, &start, Cause::DeviceFault);
    }
    network.wait(31_000);
    let (_, start) = network.started_one();
    network.fail(bad, &start, Cause::DeviceFault);
    assert_eq!(network.core.worker_view(bad).expect("it is there").state, State::Disqualified);
    network.now = network.now.after(Millis(21 * HOUR));
    network.apply(Event::TimePassed);
    network.apply(Event::TimePassed);
    let next = network.core.next_deadline();
    assert!(next.is_none_or(|next| next.since(network.now).0 > 1000), "a test that cannot be rings all the time");
    assert!(network.tests().is_empty());
    network.apply(Event::WorkerReadmitted { worker: bad });
    network.wait(100);
    assert_eq!(network.tests().len(), 1);
}
