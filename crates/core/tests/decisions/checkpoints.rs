use crate::network::{Network, array, job, offer, output, task};
use gleaner_core::{Core, Effect, Event};
use gleaner_wire::api::JobState;
use gleaner_wire::{AttemptId, Cause, JobId, StartAttempt, WorkerId};

fn saves(network: &mut Network, worker: WorkerId, attempt: AttemptId, number: u64) {
    network.apply(Event::Saved { worker, attempt, checkpoint: output(number) });
}

/// A task that runs on one worker while another one is there.
fn running() -> (Network, JobId, (WorkerId, StartAttempt), WorkerId) {
    let mut network = Network::new();
    network.join(offer("first", 4000, 10));
    let other = network.join(offer("other", 1000, 10));
    let id = network.submit("ada", &job(vec![task("a")]));
    let (worker, start) = network.started_one();
    assert_ne!(worker, other);
    assert_eq!(start.checkpoint, None);
    (network, id, (worker, start), other)
}

#[test]
fn the_next_attempt_goes_on_from_what_was_last_saved() {
    let (mut network, id, (worker, start), other) = running();
    saves(&mut network, worker, start.attempt, 1);
    saves(&mut network, worker, start.attempt, 2);
    network.leave(worker);
    let (next, again) = network.started_one();
    assert_eq!((next, again.checkpoint), (other, Some(output(2))));
    network.deliver(other, &again, 10);
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn a_program_that_fails_begins_anew_because_what_was_saved_may_be_why() {
    for (cause, kept) in [(Cause::ProgramFault, false), (Cause::BadInput, false), (Cause::DeviceFault, true)] {
        let (mut network, _, (worker, start), other) = running();
        saves(&mut network, worker, start.attempt, 1);
        network.fail(worker, &start, cause);
        let (next, again) = network.started_one();
        assert_eq!((next, again.checkpoint), (other, kept.then(|| output(1))), "{cause}");
    }
}

#[test]
fn a_job_says_how_many_of_its_tasks_would_not_begin_again() {
    let (mut network, id, (worker, start), _) = running();
    let saved = |network: &Network| network.core.job_view(id).expect("it is there").groups[0].saved;
    assert_eq!(saved(&network), 0);
    let event = |number| Event::Saved { worker, attempt: start.attempt, checkpoint: output(number) };
    assert_eq!(network.effects_of(event(1)), [Effect::AnnounceJob { job: id }], "whoever waits for it hears of it");
    assert_eq!(network.effects_of(event(2)), [], "later ones are no news");
    assert_eq!(saved(&network), 1);
    network.deliver(worker, &start, 10);
    assert_eq!(saved(&network), 0);
}

#[test]
fn what_a_stranger_says_it_saved_is_ignored() {
    let (mut network, _, (worker, start), other) = running();
    saves(&mut network, worker, start.attempt, 1);
    saves(&mut network, other, start.attempt, 666);
    saves(&mut network, other, AttemptId(u64::MAX), 666);
    saves(&mut network, WorkerId(99), start.attempt, 666);
    network.leave(worker);
    assert_eq!(network.started_one().1.checkpoint, Some(output(1)));
    saves(&mut network, worker, start.attempt, 666);
    network.leave(other);
    network.join(offer("first", 4000, 10));
    assert_eq!(network.started_one().1.checkpoint, Some(output(1)), "its attempt had ended");
}

#[test]
fn a_checkpoint_is_gone_when_its_task_is_done() {
    let mut network = Network::new();
    let worker = network.join(offer("a", 1000, 10));
    let id = network.submit("ada", &job(vec![array("a", 2)]));
    let (_, first) = network.started_one();
    saves(&mut network, worker, first.attempt, 1);
    // The core's own sweep finds checkpoints of tasks that are done.
    network.deliver(worker, &first, 10);
    saves(&mut network, worker, first.attempt, 2);
    let (_, second) = network.started_one();
    assert_eq!(second.checkpoint, None, "each task has its own");
    network.deliver(worker, &second, 10);
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn checkpoints_outlast_a_restart_of_the_hub() {
    let (mut network, _, (worker, start), _) = running();
    saves(&mut network, worker, start.attempt, 7);
    network.core = Core::restore(&network.core.snapshot()).expect("a snapshot restores");
    network.apply(Event::HubStarted);
    network.wait(31_000);
    network.join(offer("other", 1000, 10));
    assert_eq!(network.started_one().1.checkpoint, Some(output(7)));
}

#[test]
fn an_attempt_that_went_on_from_elsewhere_teaches_nothing_about_the_length_of_tasks() {
    let mut network = Network::new();
    let worker = network.join(offer("a", 1000, 10));
    network.submit("ada", &job(vec![task("a")]));
    network.run_all(10_000);
    let id = network.submit("ada", &job(vec![task("a")]));
    let predicted = |network: &Network| network.core.job_view(id).expect("it is there").groups[0].predicted_micros;
    let before = predicted(&network);
    let (_, start) = network.started_one();
    saves(&mut network, worker, start.attempt, 1);
    network.leave(worker);
    network.join(offer("a", 1000, 10));
    let (_, again) = network.started_one();
    assert!(again.checkpoint.is_some());
    // Of two runs the longer one would be the prediction.
    network.deliver(worker, &again, 25_000);
    assert_eq!(network.state(id), JobState::Done);
    assert!(before.is_some());
    assert_eq!(predicted(&network), before);
}
