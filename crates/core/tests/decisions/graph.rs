use crate::network::{Network, array, job, offer, output, task};
use gleaner_wire::api::JobState;
use gleaner_wire::job_file::{InputFile, TaskFile};

pub fn from(name: &str, same_index: bool) -> InputFile {
    InputFile {
        name: format!("from-{name}"),
        file: None,
        folder: None,
        dataset: None,
        from: Some(name.into()),
        same_index,
        per: None,
    }
}

#[test]
fn a_join_starts_when_the_whole_fork_is_done() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 10));
    let join = TaskFile { inputs: vec![from("fork", false)], ..task("join") };
    let id = network.submit("ada", &job(vec![join, array("fork", 3)]));
    for _ in 0..3 {
        let waiting = network.core.explain(id).expect("it is there").waiting;
        let join = waiting.iter().find(|waiting| waiting.task == "join").expect("it waits");
        assert_eq!(join.reasons[0].code, "waits_for_input");
        let (worker, start) = network.started_one();
        assert_eq!(start.group, 1);
        network.deliver(worker, &start, 500);
    }
    let (worker, start) = network.started_one();
    assert_eq!(start.group, 0);
    assert_eq!(network.core.outputs(id, 1, 0, 10).len(), 3);
    network.deliver(worker, &start, 500);
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn paired_elements_start_as_soon_as_their_own_input_is_there() {
    let mut network = Network::new();
    let mut wide = offer("a", 1000, 10);
    wide.devices[0].slots = 4;
    let worker = network.join(wide);
    let second = TaskFile { inputs: vec![from("first", true)], ..array("second", 4) };
    let id = network.submit("ada", &job(vec![array("first", 4), second]));
    let starts = network.started();
    assert_eq!(starts.len(), 4);
    network.deliver(worker, &starts[2].1, 500);
    let (_, start) = network.started_one();
    assert_eq!((start.group, start.index, start.outputs.as_slice()), (1, 2, &[output(2)][..]));
    network.deliver(worker, &start, 500);
    for at in [0, 1, 3] {
        network.deliver(worker, &starts[at].1, 500);
    }
    network.run_all(500);
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn everyone_reads_the_output_of_a_single_task() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 10));
    let many = TaskFile { inputs: vec![from("seed", false)], ..array("many", 3) };
    let id = network.submit("ada", &job(vec![task("seed"), many]));
    let (worker, seed) = network.started_one();
    network.deliver(worker, &seed, 500);
    for _ in 0..3 {
        let (worker, start) = network.started_one();
        assert_eq!(start.outputs, [output(0)]);
        network.deliver(worker, &start, 500);
    }
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn a_group_read_both_by_index_and_as_a_whole_is_waited_for() {
    let mut network = Network::new();
    let worker = network.join(offer("a", 1000, 10));
    let whole = InputFile { name: "whole".into(), ..from("first", false) };
    let both = TaskFile { inputs: vec![from("first", true), whole], ..array("both", 3) };
    let id = network.submit("ada", &job(vec![array("first", 3), both]));
    for _ in 0..3 {
        let (_, start) = network.started_one();
        assert_eq!(start.group, 0, "nothing of the second starts before all of the first is done");
        network.deliver(worker, &start, 500);
    }
    network.run_all(500);
    assert_eq!(network.state(id), JobState::Done);
}
