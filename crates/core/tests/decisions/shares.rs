use crate::graph::from;
use crate::network::{Network, array, job, offer, output, task};
use gleaner_core::plan::plan;
use gleaner_wire::api::JobState;
use gleaner_wire::job_file::{InputFile, JobFile, TaskFile};
use gleaner_wire::{JobId, Outcome};

fn share(name: &str, per: u32) -> InputFile {
    InputFile { per: Some(per), ..from(name, false) }
}

/// Three frames of four pieces each, and a network that can run all pieces at a time.
fn frames_of_pieces() -> JobFile {
    let frames = TaskFile { inputs: vec![from("look", false), share("pieces", 4)], ..array("frames", 3) };
    let pieces = TaskFile { inputs: vec![from("look", false)], ..array("pieces", 12) };
    job(vec![task("look"), pieces, frames])
}

fn wide() -> Network {
    let mut network = Network::new();
    let mut wide = offer("a", 1000, 10);
    wide.devices[0].slots = 12;
    network.join(wide);
    network
}

#[test]
fn a_frame_starts_as_soon_as_its_own_pieces_are_done_and_not_before() {
    let mut network = wide();
    let id = network.submit("ada", &frames_of_pieces());
    let (worker, look) = network.started_one();
    network.finish(worker, look.attempt, 500, Outcome::Done(output(100)));
    let pieces = network.started();
    assert_eq!(pieces.len(), 12);
    // One of every frame, and then the second frame from its end.
    for at in [0, 8, 7, 6, 5] {
        network.deliver(worker, &pieces[at].1, 500);
        assert!(network.started().is_empty(), "no frame has all of its pieces");
    }
    network.deliver(worker, &pieces[4].1, 500);
    let (_, frame) = network.started_one();
    assert_eq!((frame.group, frame.index), (2, 1));
    assert_eq!(frame.outputs, [output(100), output(4), output(5), output(6), output(7)]);
    network.deliver(worker, &frame, 500);
    for at in [1, 2, 3, 9, 10, 11] {
        network.deliver(worker, &pieces[at].1, 500);
    }
    let frames: Vec<_> = network.started().iter().map(|(_, start)| start.index).collect();
    assert_eq!(frames, [0, 2]);
    assert_eq!(network.state(id), JobState::Running);
}

#[test]
fn shares_wait_for_whatever_else_their_element_reads() {
    let mut network = wide();
    let frames = TaskFile { inputs: vec![share("pieces", 4), from("slow", false)], ..array("frames", 3) };
    let id = network.submit("ada", &job(vec![array("pieces", 12), task("slow"), frames]));
    let starts = network.started();
    let (mut slow, mut others) = (None, vec![]);
    for (worker, start) in starts {
        if start.group == 1 { slow = Some((worker, start)) } else { others.push((worker, start)) }
    }
    for (worker, start) in others {
        network.deliver(worker, &start, 500);
        for (worker, start) in network.started() {
            assert_ne!(start.group, 2, "the slow one is not done");
            if start.group == 1 { slow = Some((worker, start)) } else { network.deliver(worker, &start, 500) }
        }
    }
    let (worker, slow) = slow.expect("it was started");
    network.deliver(worker, &slow, 500);
    assert_eq!(network.started().len(), 3);
    assert_eq!(network.core.job_summary(id).expect("it is there").done, 13);
}

#[test]
fn one_frame_reads_all_pieces() {
    let mut network = wide();
    let frame = TaskFile { inputs: vec![share("pieces", 4)], ..task("frame") };
    let id = network.submit("ada", &job(vec![array("pieces", 4), frame]));
    for (worker, start) in network.started() {
        network.deliver(worker, &start, 500);
    }
    let (worker, start) = network.started_one();
    assert_eq!(start.outputs, [0, 1, 2, 3].map(output));
    network.deliver(worker, &start, 500);
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn shares_that_do_not_come_out_even_are_refused() {
    for per in [0, 3, 5, u32::MAX] {
        let frames = TaskFile { inputs: vec![share("pieces", per)], ..array("frames", 3) };
        let error = plan(&job(vec![array("pieces", 12), frames])).expect_err("refused");
        assert_eq!(error.at, "task[1].input[0].per", "{per}");
    }
}

#[test]
fn a_frame_of_other_pieces_is_other_work() {
    let mut network = wide();
    let frames = TaskFile { inputs: vec![share("pieces", 4)], memo: true, ..array("frames", 3) };
    let file = job(vec![array("pieces", 12), frames]);
    // The pieces of the second frame differ by `twist`.
    let run = |network: &mut Network, twist: u64| -> JobId {
        let id = network.submit("ada", &file);
        loop {
            let starts = network.started();
            if starts.is_empty() {
                return id;
            }
            for (worker, start) in starts {
                let number = u64::from(start.index) + if start.index == 5 { twist } else { 0 };
                network.now = network.now.after(gleaner_wire::Millis(20));
                network.finish(worker, start.attempt, 20, Outcome::Done(output(number)));
            }
        }
    };
    let known = |network: &Network, id| network.core.job_summary(id).expect("it is there").known;
    let first = run(&mut network, 0);
    assert_eq!((network.state(first), known(&network, first)), (JobState::Done, 0));
    let again = run(&mut network, 0);
    assert_eq!((network.state(again), known(&network, again)), (JobState::Done, 3));
    let other = run(&mut network, 1000);
    assert_eq!((network.state(other), known(&network, other)), (JobState::Done, 2));
}
