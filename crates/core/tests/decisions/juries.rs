//! Who checks whom: nobody chooses its own jury, not by when it joins and not by what it calls its device.
use std::collections::{BTreeMap, BTreeSet};

use gleaner_core::proof::{Policy, WHOLE};
use gleaner_core::{Event, Params, Verdict};
use gleaner_wire::api::JobState;
use gleaner_wire::check::{CheckFile, CheckKind, Compared};
use gleaner_wire::job_file::TaskFile;
use gleaner_wire::{
    Amount, DeviceKind, Offer, Outcome, Runtime, RuntimeOffer, StartAttempt, State, WorkerId, WorkerKey,
};

use crate::network::{Network, array, job, offer, output};

/// A hub that checks everything and takes everybody to be honest when it learns.
fn network() -> Network {
    let audits = Policy { trusted: WHOLE, floor: WHOLE, ..Policy::default() };
    Network::with(Params { checks: true, audits, ..Params::default() })
}

/// Everybody does what it is given until nothing is left.
fn run(network: &mut Network, mut each: impl FnMut(WorkerId, &StartAttempt) -> Outcome) {
    for seed in 0..2000_u32 {
        let starts = network.started();
        for (worker, start) in &starts {
            network.now = network.now.after(gleaner_wire::Millis(10));
            let outcome = each(*worker, start);
            network.finish(*worker, start.attempt, 10, outcome);
        }
        network.stop_cancelled();
        if network.core.round_to_draw().is_some() {
            network.draw((seed % 251) as u8);
        } else if starts.is_empty() {
            return;
        }
    }
    panic!("work never ends");
}

fn right(start: &StartAttempt) -> Outcome {
    match &start.compare {
        Some([one, other]) if one == other => Outcome::Done(Compared::SAME.to_output()),
        Some(_) => Outcome::Done(Compared::APART.to_output()),
        None => Outcome::Done(output(u64::from(start.index))),
    }
}

fn wrong(start: &StartAttempt) -> Outcome {
    match &start.compare {
        Some(_) => right(start),
        None => Outcome::Done(output(u64::from(start.index) + 1_000_000)),
    }
}

fn key(network: &Network, worker: WorkerId) -> WorkerKey {
    network.core.worker_view(worker).expect("it is there").key
}

#[test]
fn a_league_that_joins_in_a_row_has_no_more_jurors_than_its_share() {
    let mut network = network();
    let mut league = BTreeSet::new();
    for number in 0..240 {
        let worker = network.join(offer(&format!("w{number}"), 1000, 10));
        if (60..120).contains(&number) {
            league.insert(key(&network, worker));
        }
    }
    let id = network.submit("ada", &job(vec![array("many", 60)]));
    run(&mut network, |_, start| right(start));
    let proofs = network.core.proofs(id, 0, 1000);
    let audits: Vec<_> = proofs.iter().filter_map(|proof| proof.audit.as_ref()).collect();
    assert_eq!(audits.len(), 60, "everything is audited");
    for audit in audits {
        let theirs = audit.jurors.iter().filter(|juror| league.contains(&juror.key)).count();
        assert_eq!(audit.jurors.len(), 64, "of 239 others");
        assert!((4..32).contains(&theirs), "{theirs} of 64, where a quarter of all are in league");
    }
}

/// A worker with one device that runs kernels.
fn card(name: &str, model: &str) -> Offer {
    let mut offer = offer(name, 1000, 10);
    let runtimes = vec![RuntimeOffer { runtime: Runtime::Wgsl, score: 1000, loops_max: None, engine: None }];
    let device = &mut offer.devices[0];
    (device.kind, device.name, device.runtimes) = (DeviceKind::Nvidia, model.into(), runtimes);
    offer
}

fn kernel(tasks: u32) -> TaskFile {
    TaskFile { runtime: Runtime::Wgsl, args: vec![], ..array("kernel", tasks) }
}

#[test]
fn whoever_makes_up_a_device_for_itself_is_not_paid_where_others_can_be_checked() {
    let mut network = network();
    let alone = network.join(card("alone", "one of a kind"));
    let others: Vec<_> = ["ann", "ben", "cid"].map(|name| network.join(card(name, "common"))).to_vec();
    let id = network.submit("ada", &job(vec![kernel(30)]));
    run(&mut network, |worker, start| if worker == alone { wrong(start) } else { right(start) });
    assert_eq!(network.state(id), JobState::Done);
    let theirs: Vec<_> =
        network.core.proofs(id, 0, 1000).into_iter().filter(|proof| proof.worker == key(&network, alone)).collect();
    assert!(!theirs.is_empty() && theirs.iter().all(|proof| proof.verdict == Verdict::Undecided), "{theirs:?}");
    assert_eq!(network.earned(alone), Amount::ZERO);
    assert!(others.iter().all(|worker| network.earned(*worker) > Amount::ZERO));
    for index in 0..30 {
        assert_eq!(network.core.outputs(id, 0, index, 1), [(index, output(u64::from(index)))], "the right bytes");
    }
    let view = network.core.worker_view(alone).expect("it is there");
    assert_eq!(view.state, State::Available, "it may be honest, and have a rare device");
    let failures = network.core.job_view(id).expect("it is there").failures;
    assert!(failures.iter().any(|failure| failure.detail.contains("one of a kind")), "{failures:?}");
    // Once nobody else is left, it is all there is.
    others.into_iter().for_each(|worker| network.leave(worker));
    let last = network.submit("ada", &job(vec![kernel(2)]));
    run(&mut network, |_, start| right(start));
    assert_eq!(network.state(last), JobState::Done);
    assert!(network.earned(alone) > Amount::ZERO);
}

#[test]
fn what_waits_goes_to_whoever_cannot_be_checked_once_nobody_else_is_left() {
    let mut network = network();
    let alone = network.join(card("alone", "one of a kind"));
    let others = ["ann", "ben", "cid"].map(|name| network.join(card(name, "common")));
    let id = network.submit("ada", &job(vec![kernel(60)]));
    // Its answer is refused, and somebody else has given it meanwhile.
    for seed in 0..8 {
        network.now = network.now.after(gleaner_wire::Millis(5000));
        for (worker, start) in network.started() {
            network.finish(worker, start.attempt, 5000, right(&start));
        }
        if network.core.round_to_draw().is_some() {
            network.draw(seed);
        }
    }
    let waiting = network.core.explain(id).expect("it is there").waiting;
    let reasons: Vec<_> = waiting.iter().flat_map(|group| &group.reasons).map(|reason| reason.code.as_str()).collect();
    assert!(reasons.contains(&"uncheckable"), "{reasons:?}");
    assert_eq!(network.earned(alone), Amount::ZERO);
    for worker in others {
        network.apply(Event::DevicesRest { worker, devices: vec![0] });
    }
    run(&mut network, |_, start| right(start));
    assert_eq!(network.state(id), JobState::Done, "{:?}", network.core.explain(id));
    assert!(network.earned(alone) > Amount::ZERO);
}

fn picture(tasks: u32) -> TaskFile {
    TaskFile { check: Some(CheckFile::from(CheckKind::Image)), ..array("picture", tasks) }
}

#[test]
fn comparisons_are_made_by_whom_the_lot_names_and_lead_nobody() {
    let mut network = network();
    let liar = network.join(offer("liar", 4000, 10));
    for number in 0..12 {
        network.join(offer(&format!("w{number}"), 1000, 10));
    }
    network.submit("ada", &job(vec![picture(60)]));
    // Who has looked at two results of a task before it computed one, and who computed one after that.
    let (mut seen, mut led) = (BTreeSet::new(), Vec::new());
    let mut computed: BTreeMap<u32, BTreeSet<WorkerId>> = BTreeMap::new();
    let mut looked: BTreeMap<WorkerId, u32> = BTreeMap::new();
    run(&mut network, |worker, start| {
        if start.compare.is_some() {
            *looked.entry(worker).or_default() += 1;
            if !computed.entry(start.index).or_default().contains(&worker) {
                seen.insert((worker, start.index));
            }
        } else {
            computed.entry(start.index).or_default().insert(worker);
            if seen.contains(&(worker, start.index)) {
                led.push((worker, start.index));
            }
        }
        if worker == liar { wrong(start) } else { right(start) }
    });
    assert!(looked.len() >= 6, "{looked:?}");
    assert!(!seen.is_empty() && led.is_empty(), "{led:?}");
}

#[test]
fn a_comparer_that_lies_passes_no_lie() {
    let mut network = network();
    let liar = network.join(offer("liar", 4000, 10));
    let friend = network.join(offer("friend", 1000, 10));
    for number in 0..6 {
        network.join(offer(&format!("w{number}"), 1000, 10));
    }
    let id = network.submit("ada", &job(vec![picture(60)]));
    let mut covered = 0;
    run(&mut network, |worker, start| match start.compare {
        Some(_) if worker == friend => {
            covered += 1;
            Outcome::Done(Compared::SAME.to_output())
        }
        Some(_) => right(start),
        None if worker == liar => wrong(start),
        None => right(start),
    });
    assert_eq!(network.state(id), JobState::Done);
    assert!(covered > 0, "the lot named it at least once");
    for index in 0..60 {
        assert_eq!(network.core.outputs(id, 0, index, 1), [(index, output(u64::from(index)))], "the right bytes");
    }
    assert_eq!(network.earned(liar), Amount::ZERO);
}

#[test]
fn a_comparer_that_lies_gets_nobody_refused() {
    let mut network = network();
    let liar = network.join(offer("liar", 1000, 10));
    let honest: Vec<_> = (0..7).map(|number| network.join(offer(&format!("w{number}"), 1000, 10))).collect();
    let check = CheckFile { pixel: Some(3), ..CheckFile::from(CheckKind::Image) };
    let id = network.submit("ada", &job(vec![TaskFile { check: Some(check), ..array("picture", 60) }]));
    let mut lies = 0;
    // Everybody's picture is a little different, as far as the job allows.
    run(&mut network, |worker, start| match start.compare {
        Some(_) if worker == liar => {
            lies += 1;
            Outcome::Done(Compared::APART.to_output())
        }
        Some(_) => Outcome::Done(Compared::at(1000).to_output()),
        None => Outcome::Done(output(u64::from(start.index) * 1000 + u64::from(worker.0))),
    });
    assert_eq!(network.state(id), JobState::Done);
    assert!(lies > 0, "the lot named it at least once");
    assert_eq!(network.core.totals().claims_refuted, 0);
    let state = |worker| network.core.worker_view(worker).expect("it is there").state;
    assert!(honest.iter().all(|worker| state(*worker) == State::Available));
}

#[test]
fn a_lie_about_a_picture_costs_as_much_as_one_about_bytes_once_honest_ones_are_known() {
    let mut network = network();
    let liar = network.join(offer("liar", 1000, 10));
    for number in 0..5 {
        network.join(offer(&format!("w{number}"), 1000, 10));
    }
    network.submit("ada", &job(vec![picture(80)]));
    run(&mut network, |_, start| right(start));
    assert_eq!(network.core.totals().answers_wrong, 0);
    let second = network.submit("ada", &job(vec![picture(12)]));
    run(&mut network, |worker, start| if worker == liar { wrong(start) } else { right(start) });
    assert_eq!(network.state(second), JobState::Done);
    assert!(network.core.totals().answers_wrong >= 1, "it was found out");
    let state = network.core.worker_view(liar).expect("it is there").state;
    assert!(matches!(state, State::Probation | State::Disqualified), "{state:?}");
}

#[test]
fn a_worker_that_others_contradict_begins_anew_even_where_it_loses_nothing() {
    let mut network = network();
    let liar = network.join(offer("liar", 1000, 10));
    for number in 0..5 {
        network.join(offer(&format!("w{number}"), 1000, 10));
    }
    // A tolerance of the job's own, which nothing widens.
    let check = CheckFile { pixel: Some(3), ..CheckFile::from(CheckKind::Image) };
    let own = |tasks| TaskFile { check: Some(check.clone()), ..array("picture", tasks) };
    network.submit("ada", &job(vec![own(30)]));
    run(&mut network, |_, start| right(start));
    let record = |network: &Network| network.core.worker_view(liar).expect("it is there").audits.expect("checked");
    assert!(record(&network).good > 0);
    network.submit("ada", &job(vec![own(6)]));
    run(&mut network, |worker, start| if worker == liar { wrong(start) } else { right(start) });
    assert_eq!((network.core.totals().answers_wrong, record(&network).bad), (0, 0), "no stake is called in");
    assert_eq!(record(&network).good, 0, "but trust begins anew");
}

#[test]
fn whoever_calls_a_good_program_faulty_is_not_paid_for_it() {
    let mut network = network();
    let liar = network.join(offer("liar", 4000, 10));
    for number in 0..4 {
        network.join(offer(&format!("w{number}"), 1000, 10));
    }
    let fault = || Outcome::Failed { cause: gleaner_wire::Cause::ProgramFault, detail: "exit code 3".into() };
    let id = network.submit("ada", &job(vec![array("many", 20)]));
    run(&mut network, |worker, start| if worker == liar { fault() } else { right(start) });
    assert_eq!(network.state(id), JobState::Done);
    assert_eq!(network.earned(liar), Amount::ZERO);
    // A program that does fail is paid for, to all who came to it.
    let bad = network.submit("ada", &job(vec![array("bad", 1)]));
    let mut tried = BTreeSet::new();
    run(&mut network, |worker, _| {
        tried.insert(worker);
        fault()
    });
    assert!(matches!(network.state(bad), JobState::Failed { .. }));
    let honest: Vec<_> = tried.into_iter().filter(|worker| *worker != liar).collect();
    assert!(honest.len() >= 2, "{honest:?}");
    let spent = network.core.job_view(bad).expect("it is there").workers;
    for worker in honest {
        let name = network.core.worker_view(worker).expect("it is there").offer.name;
        assert!(spent.iter().any(|tally| tally.name == name && tally.earned > Amount::ZERO), "{spent:?}");
    }
}
