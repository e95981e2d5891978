//! Results are claims until they are checked: who checks, who is paid, and what a wrong answer costs.
use gleaner_core::ledger::Account;
use gleaner_core::{Params, Verdict};
use gleaner_wire::api::JobState;
use gleaner_wire::{Amount, Cause, Outcome, Output, StartAttempt, State, WorkerId};

use crate::network::{Network, array, job, offer, output, task};

fn checking() -> Network {
    Network::with(Params { checks: true, ..Params::default() })
}

/// The worker delivers something else than it should.
fn lie(network: &mut Network, worker: WorkerId, start: &StartAttempt) {
    network.finish(worker, start.attempt, 10, Outcome::Done(wrong(start)));
}

fn wrong(start: &StartAttempt) -> Output {
    output(u64::from(start.index) + 1_000_000)
}

/// Everybody delivers, each liar something wrong of its own, until nothing more is started and nothing is left to draw.
fn run_apart(network: &mut Network, liars: &[WorkerId], first: u8) {
    for seed in 0..200 {
        let starts = network.started();
        for (worker, start) in &starts {
            match liars.iter().position(|liar| liar == worker) {
                Some(place) => {
                    let lie = output(u64::from(start.index) + 1_000_000 * (place as u64 + 1));
                    network.finish(*worker, start.attempt, 10, Outcome::Done(lie));
                }
                None => network.deliver(*worker, start, 10),
            }
        }
        if network.core.round_to_draw().is_some() {
            network.draw(first.wrapping_add(seed));
        } else if starts.is_empty() {
            return;
        }
    }
    panic!("work never ends");
}

/// The proof of the first claim, and what state each of the liars is in, once one liar has checked another and both said
/// something else.
fn liars_meet(prepare: impl Fn(&mut Network)) -> (Network, gleaner_core::Proof, [State; 2]) {
    for seed in 0..=255 {
        let mut network = checking();
        let liars = [network.join(offer("liar", 4000, 10)), network.join(offer("loner", 100, 10))];
        prepare(&mut network);
        let id = network.submit("ada", &job(vec![task("one")]));
        run_apart(&mut network, &liars, seed);
        assert_eq!(network.core.outputs(id, 0, 0, 1), [(0, output(0))], "the right bytes, whatever happens");
        let proof = network.core.proofs(id, 0, 1).remove(0);
        let loner = network.core.worker_view(liars[1]).expect("it is there").key;
        let rivals = proof.audit.as_ref().map_or(&[][..], |audit| &audit.rivals);
        if rivals.first() == Some(&loner) {
            let state = |worker| network.core.worker_view(worker).expect("it is there").state;
            let states = liars.map(state);
            return (network, proof, states);
        }
    }
    panic!("the lot never falls on the other liar");
}

#[test]
fn two_who_lie_each_in_its_own_way_are_both_refuted() {
    let (_, proof, states) = liars_meet(|network| {
        for name in ["ann", "ben", "cid", "dot", "eve", "fay", "gus", "hal"] {
            network.join(offer(name, 100, 10));
        }
    });
    let audit = proof.audit.as_ref().expect("it was audited");
    assert_eq!((proof.verdict, audit.rivals.len()), (Verdict::Refuted, 2), "the loner's answer, and the right one");
    let last = audit.polls.last().expect("there was a vote");
    assert_eq!(last.votes, [0, 1, 8], "nine were asked: one lies, eight computed the same");
    assert_eq!(states, [State::Probation, State::Probation]);
}

#[test]
fn a_referee_that_stands_alone_is_confirmed_by_somebody_else() {
    let (network, proof, states) = liars_meet(|network| {
        let referee = network.join(offer("referee", 100, 10));
        let key = network.core.worker_view(referee).expect("it is there").key;
        network.apply(gleaner_core::Event::WorkerManaged { key, managed: true });
        network.join(offer("ann", 100, 10));
        network.join(offer("ben", 100, 10));
    });
    let audit = proof.audit.as_ref().expect("it was audited");
    assert_eq!((proof.verdict, audit.polls.len()), (Verdict::Refuted, 0), "so few leave it to the referee");
    let name =
        |key| network.core.worker_view(network.core.worker_by_key(key).expect("it is known")).expect("is").offer.name;
    let referees: Vec<String> = audit.referees.iter().map(|referee| name(&referee.key)).collect();
    assert_eq!(referees.len(), 2, "{referees:?}");
    assert!(referees[0] == "referee" && ["ann", "ben"].contains(&referees[1].as_str()), "{referees:?}");
    assert_eq!(states, [State::Probation, State::Probation]);
}

/// Everybody delivers, the liars something wrong, until nothing more is started and nothing is left to draw.
pub fn run(network: &mut Network, liars: &[WorkerId]) {
    for seed in 0..200 {
        let starts = network.started();
        for (worker, start) in &starts {
            match liars.contains(worker) {
                true => lie(network, *worker, start),
                false => network.deliver(*worker, start, 10),
            }
        }
        if network.core.round_to_draw().is_some() {
            network.draw(seed);
        } else if starts.is_empty() {
            return;
        }
    }
    panic!("work never ends");
}

#[test]
fn a_result_is_not_paid_before_another_owner_has_computed_the_same() {
    let mut network = checking();
    let first = network.join(offer("first", 1000, 10));
    let second = network.join(offer("second", 1000, 10));
    let id = network.submit("ada", &job(vec![task("one")]));
    let (worker, start) = network.started_one();
    network.deliver(worker, &start, 10);
    assert_eq!(network.earned(worker), Amount::ZERO, "it is a claim");
    assert_eq!(network.state(id), JobState::Running);
    network.draw(1);
    let (auditor, audit) = network.started_one();
    assert!(auditor != worker && [first, second].contains(&auditor));
    assert_eq!((audit.job, audit.index, audit.compare), (start.job, start.index, None), "it looks like any other task");
    network.deliver(auditor, &audit, 10);
    assert_eq!(network.state(id), JobState::Done);
    assert!(network.earned(worker) > Amount::ZERO);
    assert_eq!(network.earned(auditor), Amount::ZERO, "checking is everybody's duty");
    let proofs = network.core.proofs(id, 0, 10);
    assert_eq!(proofs.len(), 1);
    assert_eq!(proofs[0].verdict, Verdict::Agreed);
    assert_eq!(proofs[0].audit.as_ref().map(|audit| audit.answers.len()), Some(1));
}

#[test]
fn a_wrong_result_is_refuted_by_a_vote_unpaid_and_done_again_by_somebody_else() {
    let mut network = checking();
    let liar = network.join(offer("liar", 1000, 10));
    for name in ["ann", "ben", "cid", "dot"] {
        network.join(offer(name, 100, 10));
    }
    let id = network.submit("ada", &job(vec![task("one")]));
    run(&mut network, &[liar]);
    assert_eq!(network.state(id), JobState::Done);
    assert_eq!(network.earned(liar), Amount::ZERO);
    assert_eq!(network.core.outputs(id, 0, 0, 1), [(0, output(0))], "the right bytes");
    let view = network.core.job_view(id).expect("the job is there");
    let failure = view.failures.iter().find(|failure| failure.cause == Cause::Refuted).expect("it is shown");
    assert_eq!(failure.worker, "liar");
    assert!(failure.detail.contains("the vote was against it"), "{}", failure.detail);
    let liar = network.core.worker_view(liar).expect("it is there");
    assert_eq!(liar.state, State::Probation);
    let verdicts: Vec<_> = network.core.proofs(id, 0, 10).iter().map(|proof| proof.verdict).collect();
    assert_eq!(verdicts, [Verdict::Refuted, Verdict::Agreed]);
}

#[test]
fn a_second_wrong_result_ends_a_workers_part() {
    let mut network = checking();
    let liar = network.join(offer("liar", 1000, 10));
    for name in ["ann", "ben", "cid", "dot"] {
        network.join(offer(name, 1000, 10));
    }
    let id = network.submit("ada", &job(vec![array("many", 40)]));
    for _ in 0..20 {
        run(&mut network, &[liar]);
        network.wait(60_000);
    }
    assert_eq!(network.state(id), JobState::Done);
    assert_eq!(network.core.worker_view(liar).expect("it is there").state, State::Disqualified);
    assert_eq!(network.earned(liar), Amount::ZERO);
    let outputs = network.core.outputs(id, 0, 0, 40);
    assert!(outputs.iter().all(|(index, found)| *found == output(u64::from(*index))), "all bytes are right");
}

#[test]
fn an_auditor_that_disagrees_with_everybody_else_is_the_one_to_lose() {
    let mut network = checking();
    let honest = network.join(offer("honest", 4000, 10));
    let liar = network.join(offer("liar", 100, 1));
    for name in ["ben", "cid", "dot"] {
        network.join(offer(name, 100, 10));
    }
    // Until the lot falls on the liar.
    for _ in 0..40 {
        network.submit("ada", &job(vec![task("one")]));
        run(&mut network, &[liar]);
        if network.core.worker_view(liar).expect("it is there").state != State::Available {
            break;
        }
    }
    assert_eq!(network.core.worker_view(liar).expect("it is there").state, State::Probation);
    assert_eq!(network.core.worker_view(honest).expect("it is there").state, State::Available);
    assert!(network.earned(honest) > Amount::ZERO);
}

#[test]
fn a_program_that_never_repeats_itself_costs_nobody_its_standing() {
    let mut network = checking();
    let names = ["ann", "ben", "cid", "dot", "eve"];
    let workers: Vec<_> = names.iter().map(|name| network.join(offer(name, 1000, 10))).collect();
    let id = network.submit("ada", &job(vec![task("dice")]));
    let mut number = 100;
    for seed in 0..50 {
        for (worker, start) in network.started() {
            number += 1;
            network.finish(worker, start.attempt, 10, Outcome::Done(output(number)));
        }
        if network.core.round_to_draw().is_some() {
            network.draw(seed);
        }
    }
    assert_eq!(network.state(id), JobState::Done);
    assert_eq!(network.core.proofs(id, 0, 10)[0].verdict, Verdict::NotRepeatable);
    for worker in workers {
        assert_eq!(network.core.worker_view(worker).expect("it is there").state, State::Available);
    }
}

#[test]
fn with_too_few_to_decide_nobody_is_paid_or_punished() {
    let mut network = checking();
    let liar = network.join(offer("liar", 4000, 10));
    let honest = network.join(offer("honest", 100, 10));
    let id = network.submit("ada", &job(vec![task("one")]));
    run(&mut network, &[liar]);
    assert_eq!(network.earned(liar), Amount::ZERO);
    assert_eq!(network.core.worker_view(honest).expect("it is there").state, State::Available);
    let first = &network.core.proofs(id, 0, 10)[0];
    assert_eq!(first.verdict, Verdict::Undecided);
}

#[test]
fn a_lone_worker_is_paid_unchecked_and_that_is_said() {
    let mut network = checking();
    let lone = network.join(offer("lone", 1000, 10));
    let id = network.submit("ada", &job(vec![task("one")]));
    run(&mut network, &[]);
    assert_eq!(network.state(id), JobState::Done);
    assert!(network.earned(lone) > Amount::ZERO);
    assert_eq!(network.core.proofs(id, 0, 10)[0].verdict, Verdict::NobodyToCheck);
}

#[test]
fn an_auditor_that_vanishes_is_replaced() {
    let mut network = checking();
    network.join(offer("first", 4000, 10));
    for name in ["ann", "ben"] {
        network.join(offer(name, 100, 10));
    }
    let id = network.submit("ada", &job(vec![task("one")]));
    let (worker, start) = network.started_one();
    network.deliver(worker, &start, 10);
    network.draw(1);
    let (auditor, _) = network.started_one();
    network.leave(auditor);
    let (other, audit) = network.started_one();
    assert!(other != auditor && other != worker);
    network.deliver(other, &audit, 10);
    assert_eq!(network.state(id), JobState::Done);
}

#[test]
fn what_was_delivered_when_a_job_is_cancelled_is_paid_as_it_is() {
    let mut network = checking();
    let worker = network.join(offer("first", 4000, 10));
    network.join(offer("second", 100, 10));
    let id = network.submit("ada", &job(vec![array("many", 3)]));
    let starts = network.started();
    let (at, start) = starts.iter().find(|(at, _)| *at == worker).expect("it has one");
    network.deliver(*at, start, 10);
    network.apply(gleaner_core::Event::JobCancelled { job: id });
    assert!(network.earned(worker) > Amount::ZERO);
    assert_eq!(network.core.balance(&Account::Order(id)), Amount::ZERO);
    // A draw that comes late finds nothing.
    network.draw(1);
}

#[test]
fn good_answers_lower_the_rate_of_audits() {
    let mut network = checking();
    for name in ["ann", "ben", "cid"] {
        network.join(offer(name, 1000, 10));
    }
    let id = network.submit("ada", &job(vec![array("many", 600)]));
    run_long(&mut network);
    assert_eq!(network.state(id), JobState::Done);
    let proofs = network.core.proofs(id, 0, 600);
    let audited = |part: &[gleaner_core::Proof]| part.iter().filter(|proof| proof.verdict == Verdict::Agreed).count();
    assert_eq!(audited(&proofs[..3]), 3, "new workers are audited on everything");
    assert!(audited(&proofs[400..]) < 40, "{} of the last 200", audited(&proofs[400..]));
}

fn run_long(network: &mut Network) {
    for seed in 0..10_000_u32 {
        let starts = network.started();
        for (worker, start) in &starts {
            network.deliver(*worker, start, 10);
        }
        if network.core.round_to_draw().is_some() {
            network.draw((seed % 251) as u8);
        } else if starts.is_empty() {
            return;
        }
    }
    panic!("work never ends");
}
