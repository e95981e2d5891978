use crate::network::{Network, array, job, offer};
use gleaner_core::Event;
use gleaner_wire::api::JobState;
use gleaner_wire::{Amount, Cause, JobId, StartAttempt, WorkerId};

/// A job of twelve tasks of which one is stuck on a worker and tried by another one too.
struct Straggler {
    network: Network,
    job: JobId,
    stuck: (WorkerId, StartAttempt),
    second: (WorkerId, StartAttempt),
}

fn straggler() -> Straggler {
    let mut network = Network::new();
    let stuck = network.join(offer("stuck", 1000, 1_000_000));
    let other = network.join(offer("other", 1000, 1_000_000));
    let id = network.submit("ada", &job(vec![array("a", 12)]));
    let mut frozen: Option<StartAttempt> = None;
    let mut second = None;
    for _ in 0..60 {
        for (worker, start) in network.started() {
            if frozen.as_ref().is_some_and(|frozen| frozen.index == start.index) {
                second = Some((worker, start));
            } else if worker == stuck && frozen.is_none() && start.index > 4 {
                frozen = Some(start);
            } else {
                network.deliver(worker, &start, 1000);
            }
        }
        network.wait(200);
        let held = frozen.iter().map(|frozen| frozen.attempt).collect();
        network.apply(Event::LeasesRenewed { worker: stuck, held });
    }
    let frozen = frozen.expect("one is stuck");
    let second = second.expect("someone else tries it too");
    assert_eq!((second.0, second.1.index), (other, frozen.index));
    Straggler { network, job: id, stuck: (stuck, frozen), second }
}

#[test]
fn a_stuck_task_gets_a_second_attempt_and_only_the_first_good_result_is_paid() {
    let Straggler { mut network, job: id, stuck: (stuck, frozen), second: (other, second) } = straggler();
    assert_eq!(network.core.totals().second_attempts, 1);
    let before = network.earned(stuck);
    network.deliver(other, &second, 1000);
    assert_eq!(network.state(id), JobState::Done);
    assert!(network.cancelled().contains(&frozen.attempt));
    network.deliver(stuck, &frozen, 1);
    assert_eq!(network.earned(stuck), before);
    assert_eq!(network.core.job_summary(id).expect("it is there").spent, Amount(12_000_000));
}

#[test]
fn a_fault_counts_while_another_attempt_at_the_task_still_runs() {
    let Straggler { mut network, job: id, stuck: (stuck, frozen), second: (other, second) } = straggler();
    network.fail(other, &second, Cause::ProgramFault);
    assert_eq!(network.state(id), JobState::Running);
    network.fail(stuck, &frozen, Cause::ProgramFault);
    let JobState::Failed { reason, .. } = network.state(id) else { panic!("it goes round for ever") };
    assert!(reason.starts_with("2 attempts failed"), "{reason}");
}
