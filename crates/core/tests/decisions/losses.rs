//! What a wrong answer can cost, and how often and how much work is checked for it.
use gleaner_core::proof::{WHOLE, rate_needed};
use gleaner_core::{DrawNote, Event, Params, Ticket, Verdict};
use gleaner_wire::{Address, Amount, Hash, JobId, Offer, Order, Outcome, SignedOrder, State, WorkerId};

use crate::network::{Network, array, job, offer, output};

const REQUESTER: Address = Address([7; 20]);
const LOCK: Amount = Amount::gln(1);
const TAKES: Amount = Amount(500_000_000);

fn network() -> Network {
    let params = Params {
        orders: true,
        checks: true,
        stake_min: Amount::gln(10),
        work_lock: LOCK,
        slash_points: 5000,
        ..Params::default()
    };
    Network::with(params)
}

/// A worker of the provider with this number, which has a stake for several.
fn join(network: &mut Network, name: &str, provider: u8, price: u64) -> WorkerId {
    let provider = Address([provider; 20]);
    network.apply(Event::StakeSeen { provider, stake: Amount::gln(100) });
    network.join(Offer { provider: Some(provider), ..offer(name, 1000, price) })
}

/// A job of so many tasks, whose order is locked.
fn submit(network: &mut Network, tasks: u32, submission: u128) -> JobId {
    let graph = gleaner_core::plan::plan(&job(vec![array("many", tasks)])).expect("it makes sense");
    let order = Order {
        requester: REQUESTER,
        hub: Address([9; 20]),
        job: Hash([1; 32]),
        cap: Amount::gln(10),
        bond: Amount::ZERO,
        deadline: (network.now.0 + 30 * 3_600_000) / 1000,
        policy: Hash([0; 32]),
        nonce: submission,
    };
    let order = Some(SignedOrder { order, signature: vec![] });
    let (ticket, requester) = (Ticket(1), REQUESTER.to_string());
    network.apply(Event::JobSubmitted { ticket, submission, requester, graph, order });
    let id = JobId(u64::try_from(submission).expect("small"));
    network.apply(Event::OrderLocked { job: id, share_points: 1500 });
    id
}

/// Tells what is locked of everybody in the round that waits, then draws it.
fn draw(network: &mut Network, seed: u8, locked: Amount) {
    for (job, _, provider) in network.core.locks_unseen() {
        network.apply(Event::LockSeen { job, provider, locked });
    }
    network.draw(seed);
}

/// Everybody delivers, the liar something wrong so many times, until nothing is left to do.
fn run(network: &mut Network, liar: WorkerId, mut lies: u32) {
    for seed in 0..200 {
        let starts = network.started();
        for (worker, start) in &starts {
            let is_lie = *worker == liar && lies > 0;
            lies -= u32::from(is_lie);
            match is_lie {
                true => network.finish(*worker, start.attempt, 10, Outcome::Done(output(1_000_000))),
                false => network.deliver(*worker, start, 10),
            }
        }
        if network.core.round_to_draw().is_some() {
            draw(network, seed, LOCK);
        } else if starts.is_empty() {
            return;
        }
    }
    panic!("work never ends");
}

fn drawn(network: &Network, job: JobId, worker: WorkerId) -> Vec<DrawNote> {
    let key = network.core.worker_view(worker).expect("it is there").key;
    let proofs = network.core.proofs(job, 0, 1000);
    proofs.into_iter().filter(|proof| proof.worker == key).filter_map(|proof| proof.draw).collect()
}

fn state(network: &Network, worker: WorkerId) -> State {
    network.core.worker_view(worker).expect("it is there").state
}

#[test]
fn a_claim_is_weighed_against_what_its_order_has_locked_and_not_against_the_stake() {
    let mut network = network();
    let ann = join(&mut network, "ann", 1, 1_000_000);
    for (name, provider) in [("ben", 2), ("cid", 3), ("dot", 4)] {
        join(&mut network, name, provider, 1_000_000_000);
    }
    let id = submit(&mut network, 1, 1);
    let (worker, start) = network.started_one();
    assert_eq!(worker, ann, "it is the cheaper one");
    network.deliver(ann, &start, 10_000);
    let unseen = network.core.locks_unseen();
    assert_eq!(unseen.iter().map(|(job, _, who)| (*job, *who)).collect::<Vec<_>>(), [(id, Address([1; 20]))]);
    draw(&mut network, 1, LOCK);
    assert!(network.core.locks_unseen().is_empty());
    let (auditor, audit) = network.started_one();
    network.deliver(auditor, &audit, 10_000);
    let rate = &drawn(&network, id, ann)[0].rate;
    assert_eq!((rate.loses, rate.exposure), (TAKES, Amount(10_000_000)));
    let needed = rate_needed(TAKES, Amount(10_000_000));
    assert_eq!(rate.by_stake, (needed * 10).div_ceil(7), "three in ten auditors may be in league with it");
    let shown = network.core.worker_view(ann).expect("it is there").audits.expect("results are checked");
    assert_eq!((shown.stake, shown.loses), (Amount::gln(100), TAKES));
}

#[test]
fn where_nothing_is_locked_everything_is_checked() {
    let mut network = network();
    let ann = join(&mut network, "ann", 1, 1_000_000);
    join(&mut network, "ben", 2, 1_000_000_000);
    let id = submit(&mut network, 1, 1);
    let (_, start) = network.started_one();
    network.deliver(ann, &start, 10);
    draw(&mut network, 1, Amount::ZERO);
    let (auditor, audit) = network.started_one();
    network.deliver(auditor, &audit, 10);
    let rate = &drawn(&network, id, ann)[0].rate;
    assert_eq!((rate.loses, rate.by_stake), (Amount::ZERO, WHOLE));
}

#[test]
fn where_too_few_others_are_here_to_find_anybody_wrong_everything_is_checked() {
    let mut network = network();
    let ann = join(&mut network, "ann", 1, 1_000_000);
    for (name, provider) in [("ben", 2), ("cid", 3), ("sister of cid", 3)] {
        join(&mut network, name, provider, 1_000_000_000);
    }
    let id = submit(&mut network, 1, 1);
    let (_, start) = network.started_one();
    network.deliver(ann, &start, 10);
    draw(&mut network, 1, LOCK);
    let (auditor, audit) = network.started_one();
    network.deliver(auditor, &audit, 10);
    let rate = &drawn(&network, id, ann)[0].rate;
    assert_eq!((rate.loses, rate.by_stake), (Amount::ZERO, WHOLE), "two owners are no poll");
}

#[test]
fn a_lock_counts_once_and_what_comes_after_it_is_all_checked() {
    let mut network = network();
    let liar = join(&mut network, "liar", 1, 10);
    let sister = join(&mut network, "sister", 1, 10);
    for (name, provider) in [("ben", 2), ("cid", 3), ("dot", 4), ("eve", 5)] {
        join(&mut network, name, provider, 10);
    }
    let id = submit(&mut network, 60, 1);
    run(&mut network, liar, 1);
    let wrong = network.core.convictions().iter().filter(|found| found.provider == Address([1; 20])).count();
    assert_eq!((wrong, state(&network, liar), state(&network, sister)), (1, State::Probation, State::Available));
    let notes = drawn(&network, id, sister);
    let after: Vec<_> = notes.iter().skip_while(|note| note.rate.loses == TAKES).collect();
    assert!(!after.is_empty() && after.iter().all(|note| note.rate.rate == WHOLE && note.rate.record.bad == 1));
}

#[test]
fn who_was_wrong_twice_is_out_with_all_its_workers_and_with_new_ones() {
    let mut network = network();
    let liar = join(&mut network, "liar", 1, 10);
    let sister = join(&mut network, "sister", 1, 10);
    for (name, provider) in [("ben", 2), ("cid", 3), ("dot", 4), ("eve", 5)] {
        join(&mut network, name, provider, 10);
    }
    let first = submit(&mut network, 30, 1);
    for _ in 0..20 {
        run(&mut network, liar, u32::MAX);
        network.wait(60_000);
    }
    assert_eq!((state(&network, liar), state(&network, sister)), (State::Disqualified, State::Disqualified));
    let other = join(&mut network, "another name", 1, 10);
    assert_eq!(state(&network, other), State::Disqualified);
    let stranger = join(&mut network, "stranger", 6, 10);
    assert_eq!(state(&network, stranger), State::Available);
    let proofs = network.core.proofs(first, 0, 1000);
    assert!(proofs.iter().any(|proof| proof.verdict == Verdict::Refuted && proof.takes == TAKES));
    network.apply(Event::WorkerReadmitted { worker: sister });
    assert_eq!(state(&network, sister), State::Available);
}

#[test]
fn no_more_is_unpaid_than_what_a_verdict_takes_speaks_for() {
    let mut network = network();
    // 0.4 GLN for a task of ten seconds; a new worker may have 0.5 × 0.7 / 0.3 GLN unpaid.
    let ann = join(&mut network, "ann", 1, 40_000_000);
    let id = submit(&mut network, 20, 1);
    let mut delivered = 0;
    for _ in 0..10 {
        for (worker, start) in network.started() {
            network.deliver(worker, &start, 10_000);
            delivered += 1;
        }
    }
    let audits = network.core.worker_view(ann).expect("it is there").audits.expect("results are checked");
    assert_eq!(audits.exposure_max, Amount(1_166_666_666));
    assert!(delivered < 20 && audits.exposure >= audits.exposure_max, "{delivered} delivered, {audits:?}");
    let waiting = network.core.explain(id).expect("it is there").waiting;
    assert!(waiting.iter().any(|group| group.reasons.iter().any(|why| why.text.contains("unpaid"))), "{waiting:?}");
    draw(&mut network, 1, LOCK);
    assert!(!network.started().is_empty(), "once it is paid there is more");
}
