use crate::network::{Network, array, job, offer, task};
use gleaner_core::{Event, Params};
use gleaner_wire::api::JobState;
use gleaner_wire::job_file::{InputFile, JobFile, Prefer, Source, TaskFile};
use gleaner_wire::{BlobRef, Cause, DataRef, Held, JobId, StartAttempt, WorkerId};

const GB: u64 = 1_000_000_000;
/// What the default line moves in a second.
const LINE: u64 = 12_500_000;

fn data(name: &str, bytes: u64) -> DataRef {
    DataRef { root: BlobRef::of(name.as_bytes()), bytes }
}

fn reading(task: TaskFile, set: DataRef) -> TaskFile {
    let folder = Some(Source::Data(set));
    let input =
        InputFile { name: "set".into(), file: None, folder, dataset: None, from: None, same_index: false, per: None };
    TaskFile { inputs: vec![input], ..task }
}

fn fast(tasks: Vec<TaskFile>) -> JobFile {
    JobFile { prefer: Prefer::Fast, ..job(tasks) }
}

fn holds(network: &mut Network, worker: WorkerId, sets: &[DataRef]) {
    let held = sets.iter().map(|set| Held { root: set.root.id, bytes: set.bytes }).collect();
    network.apply(Event::Holds { worker, held });
}

/// A network that knows how long `a` takes on a machine of speed 1000: a second.
fn network_that_knows_a() -> Network {
    let mut network = Network::new();
    let teacher = network.join(offer("teacher", 1000, 10));
    network.submit("bob", &job(vec![array("a", 12)]));
    network.run_all(1000);
    network.leave(teacher);
    network
}

fn why(network: &Network, job: JobId) -> String {
    network.core.explain(job).expect("it is there").running[0].why.clone()
}

#[test]
fn a_task_goes_to_the_holder_of_its_data_unless_another_is_done_sooner_with_the_move() {
    for (bytes, to_holder) in [(GB, true), (LINE * 4, true), (LINE * 2, false)] {
        let mut network = network_that_knows_a();
        let quick = network.join(offer("quick", 4000, 10));
        let holder = network.join(offer("holder", 250, 10));
        holds(&mut network, holder, &[data("set", bytes)]);
        let id = network.submit("ada", &fast(vec![reading(task("a"), data("set", bytes))]));
        // A quarter of a second and the move, against four seconds.
        assert_eq!(network.started_one().0, if to_holder { holder } else { quick }, "{bytes} bytes");
        let why = why(&network, id);
        let words = if to_holder { "holds all" } else { "fetches 25 MB first, about 2 s" };
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn a_cheap_job_fetches_rather_than_pays_more_within_reason() {
    for (seconds, to_cheap) in [(5, true), (80, false)] {
        let mut network = network_that_knows_a();
        let dear = network.join(offer("dear", 1000, 800_000));
        let cheap = network.join(offer("cheap", 1000, 10_000));
        let set = data("set", LINE * seconds);
        holds(&mut network, dear, &[set]);
        network.submit("ada", &JobFile { prefer: Prefer::Cheap, ..job(vec![reading(task("a"), set)]) });
        assert_eq!(network.started_one().0, if to_cheap { cheap } else { dear }, "{seconds} s of moving");
    }
}

#[test]
fn nobody_fetches_what_a_busy_holder_will_have_done_by_then() {
    let mut network = network_that_knows_a();
    let set = data("set", LINE * 100);
    let holder = network.join(offer("holder", 1000, 10));
    let other = network.join(offer("other", 1000, 10));
    holds(&mut network, holder, &[set]);
    let id = network.submit("ada", &fast(vec![reading(array("a", 20), set)]));
    for _ in 0..20 {
        let (worker, start) = network.started_one();
        assert_eq!(worker, holder, "twenty seconds there, a hundred for the move");
        network.deliver(worker, &start, 1000);
    }
    assert_eq!(network.state(id), JobState::Done);
    network.submit("ada", &fast(vec![reading(array("a", 500), set)]));
    let started = network.started();
    let workers: Vec<_> = started.iter().map(|(worker, _)| *worker).collect();
    assert_eq!(workers, [holder, other], "five hundred seconds there");
}

#[test]
fn a_seat_fetches_once_for_all_tasks_of_a_group() {
    let mut network = network_that_knows_a();
    let set = data("set", LINE * 10);
    let worker = network.join(offer("worker", 1000, 10));
    let id = network.submit("ada", &fast(vec![reading(array("a", 3), set)]));
    let (_, first) = network.started_one();
    assert!(why(&network, id).contains("fetches 125 MB first, about 10 s"), "{}", why(&network, id));
    network.wait(10_000);
    network.apply(Event::LeasesRenewed { worker, held: vec![first.attempt] });
    network.deliver(worker, &first, 1000);
    let (_, second) = network.started_one();
    assert!(why(&network, id).contains("holds all 125 MB"), "{}", why(&network, id));
    network.deliver(worker, &second, 1000);
}

/// A worker fetches for a task of a second; it renews its lease all the while.
fn fetching(bytes: u64, others: u32) -> (Network, WorkerId, StartAttempt, JobId) {
    let mut network = network_that_knows_a();
    let worker = network.join(offer("worker", 1000, 10));
    let id = network.submit("ada", &fast(vec![reading(task("a"), data("set", bytes))]));
    let (_, start) = network.started_one();
    for other in 0..others {
        network.join(offer(&format!("other-{other}"), 1000, 10));
    }
    (network, worker, start, id)
}

#[test]
fn nobody_is_suspected_for_the_time_that_moving_takes() {
    let (mut network, worker, start, id) = fetching(LINE * 200, 1);
    // Half as fast as hoped.
    for _ in 0..40 {
        network.wait(10_000);
        network.apply(Event::LeasesRenewed { worker, held: vec![start.attempt] });
    }
    assert!(network.started().is_empty(), "no second attempt");
    assert!(network.cancelled().is_empty());
    network.deliver(worker, &start, 1000);
    assert_eq!(network.state(id), JobState::Done);
    assert_eq!(network.core.worker_view(worker).expect("it is there").failed, 0);
}

#[test]
fn a_move_that_never_ends_is_given_up() {
    let (mut network, worker, start, id) = fetching(LINE * 20, 0);
    for _ in 0..100 {
        network.wait(10_000);
        network.apply(Event::LeasesRenewed { worker, held: vec![start.attempt] });
    }
    assert!(network.cancelled().contains(&start.attempt));
    assert!(!network.core.job_view(id).expect("it is there").failures.is_empty());
}

#[test]
fn what_a_worker_holds_is_forgotten_when_it_leaves_and_when_a_task_fails_there() {
    let mut network = network_that_knows_a();
    let set = data("set", GB);
    let holder = network.join(offer("holder", 250, 10));
    holds(&mut network, holder, &[set]);
    network.leave(holder);
    let quick = network.join(offer("quick", 4000, 10));
    assert_eq!(network.join(offer("holder", 250, 10)), holder);
    // Nothing was said since it came back.
    network.submit("ada", &fast(vec![reading(task("a"), set)]));
    let (worker, start) = network.started_one();
    assert_eq!(worker, quick);
    network.fail(worker, &start, Cause::HubFault);
    network.started();
    let id = network.submit("ada", &fast(vec![reading(task("a"), set)]));
    assert!(why(&network, id).contains("fetches 1000 MB first"), "{}", why(&network, id));
}

#[test]
fn a_holder_that_is_gone_or_unknown_says_nothing() {
    let mut network = network_that_knows_a();
    let gone = network.join(offer("gone", 1000, 10));
    network.leave(gone);
    let set = data("set", GB);
    holds(&mut network, gone, &[set]);
    holds(&mut network, WorkerId(4711), &[set]);
    let many: Vec<_> = (0..1000).map(|at| data(&format!("set-{at}"), GB)).collect();
    let here = network.join(offer("here", 1000, 10));
    holds(&mut network, here, &many);
    let before = network.core.snapshot().len();
    holds(&mut network, here, &many[..64]);
    assert_eq!(network.core.snapshot().len(), before, "the rest was cut");
}

#[test]
fn an_idle_seat_takes_what_it_holds_first() {
    let mut network = network_that_knows_a();
    let (first, second) = (data("first", GB), data("second", GB));
    network.submit("ada", &fast(vec![reading(array("a", 500), first)]));
    let id = network.submit("ada", &fast(vec![reading(array("a", 500), second)]));
    let worker = network.join(offer("worker", 1000, 10));
    let (_, start) = network.started_one();
    assert_ne!(start.job, id, "who holds nothing takes what waited longest");
    holds(&mut network, worker, &[second]);
    network.fail(worker, &start, Cause::RefusedByOwner);
    assert_eq!(network.started_one().1.job, id);
}

#[test]
fn the_speed_of_a_line_is_learned() {
    let mut network = network_that_knows_a();
    let worker = network.join(offer("worker", 1000, 10));
    for (set, words) in [("one", "about 100 s"), ("two", "about 10 s")] {
        let id = network.submit("ada", &fast(vec![reading(task("a"), data(set, LINE * 100))]));
        let (_, start) = network.started_one();
        assert!(why(&network, id).contains(words), "{}", why(&network, id));
        network.wait(10_000);
        network.deliver(worker, &start, 1000);
    }
}

#[test]
fn small_inputs_change_nothing() {
    let mut network = network_that_knows_a();
    let quick = network.join(offer("quick", 2000, 10));
    let holder = network.join(offer("holder", 1000, 10));
    let set = data("set", Params::default().data_bytes_min - 1000);
    holds(&mut network, holder, &[set]);
    let id = network.submit("ada", &fast(vec![reading(task("a"), set)]));
    assert_eq!(network.started_one().0, quick);
    assert!(!why(&network, id).contains("data"));
}
