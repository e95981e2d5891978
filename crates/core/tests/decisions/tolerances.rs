//! Results that differ legitimately: what honest ones differ by is learned, and classes of devices that nothing is known of are
//! not judged against each other.
use gleaner_core::proof::{Policy, WHOLE};
use gleaner_core::{Params, Verdict};
use gleaner_wire::api::JobState;
use gleaner_wire::check::{CheckFile, CheckKind, Compared};
use gleaner_wire::job_file::TaskFile;
use gleaner_wire::{DeviceKind, JobId, Offer, Outcome, Runtime, RuntimeOffer, State};

use crate::network::{Network, array, job, offer, output};

/// A hub that checks everything and takes everybody to be honest when it learns, so that a few dozen results teach it.
fn network() -> Network {
    let audits = Policy { trusted: WHOLE, floor: WHOLE, ..Policy::default() };
    Network::with(Params { checks: true, audits, ..Params::default() })
}

fn numeric(kind: CheckKind, tasks: u32) -> TaskFile {
    TaskFile { check: Some(CheckFile::from(kind)), ..array("simulate", tasks) }
}

/// Everybody delivers another result; whoever compares two finds them this far apart, by their classes.
fn run(network: &mut Network, apart: impl Fn(&str, &str) -> u64) {
    let mut number = 0;
    let mut made = std::collections::BTreeMap::<gleaner_wire::Hash, String>::new();
    for seed in 0..2000_u32 {
        let starts = network.started();
        for (worker, start) in &starts {
            let name = network.core.worker_view(*worker).expect("it is there").offer.devices[0].name.clone();
            let outcome = match &start.compare {
                Some([one, other]) => Compared::at(apart(&made[&one.hash()], &made[&other.hash()])).to_output(),
                None => {
                    number += 1;
                    let output = output(number << 32 | u64::from(start.index));
                    made.insert(output.hash(), name);
                    output
                }
            };
            network.now = network.now.after(gleaner_wire::Millis(10));
            network.finish(*worker, start.attempt, 10, Outcome::Done(outcome));
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

fn verdicts(network: &Network, job: JobId) -> Vec<Verdict> {
    network.core.proofs(job, 0, 1000).iter().map(|proof| proof.verdict).collect()
}

#[test]
fn what_honest_results_differ_by_is_learned_and_tolerated_from_then_on() {
    for kind in [CheckKind::Numeric, CheckKind::Image] {
        let mut network = network();
        for name in ["ann", "ben", "cid", "dot", "eve"] {
            network.join(offer(name, 1000, 10));
        }
        let first = network.submit("ada", &job(vec![numeric(kind, 80)]));
        run(&mut network, |_, _| 900_000);
        assert_eq!(network.state(first), JobState::Done);
        let known = network.core.job_view(first).expect("it is there").tolerances;
        assert_eq!(known.len(), 1, "{known:?}");
        assert!(
            known[0].seen >= 64 && (known[0].one.as_str(), known[0].other.as_str()) == ("wasm", "wasm"),
            "{known:?}"
        );
        assert!(
            known[0].tolerated.is_some_and(|tolerated| (28_800_000..=36_000_000).contains(&tolerated)),
            "{known:?}"
        );

        let wider = network.submit("ada", &job(vec![numeric(kind, 10)]));
        run(&mut network, |_, _| 25_000_000);
        assert!(verdicts(&network, wider).iter().all(|verdict| *verdict == Verdict::Agreed), "{kind:?}");
        let proofs = network.core.proofs(wider, 0, 10);
        let answers = proofs.iter().filter_map(|proof| proof.audit.as_ref()).flat_map(|audit| &audit.answers);
        assert!(answers.clone().count() > 0 && answers.into_iter().all(|answer| answer.tolerated > 25_000_000));

        // Another requester's programs are another matter.
        let other = network.submit("bob", &job(vec![numeric(kind, 3)]));
        run(&mut network, |_, _| 25_000_000);
        assert!(verdicts(&network, other).contains(&Verdict::NotRepeatable), "{kind:?}");
        let state = |worker: &gleaner_wire::api::WorkerView| worker.state;
        assert!(network.core.workers().iter().all(|worker| state(worker) == State::Available), "nobody was blamed");
    }
}

#[test]
fn a_replay_learns_the_same() {
    let mut network = network();
    for name in ["ann", "ben", "cid"] {
        network.join(offer(name, 1000, 10));
    }
    network.submit("ada", &job(vec![numeric(CheckKind::Numeric, 20)]));
    run(&mut network, |_, _| 900_000);
    let bytes = network.core.snapshot();
    let restored = gleaner_core::Core::restore(&bytes).expect("it was just written");
    assert_eq!(restored.snapshot(), bytes);
    let tolerances = |core: &gleaner_core::Core| core.job_view(JobId(1)).expect("it is there").tolerances;
    assert_eq!(tolerances(&restored), tolerances(&network.core));
}

/// A worker with one device that runs kernels.
fn card(name: &str, kind: DeviceKind, model: &str) -> Offer {
    let mut offer = offer(name, 1000, 10);
    let runtimes = vec![RuntimeOffer { runtime: Runtime::Wgsl, score: 1000, loops_max: None, engine: None }];
    (offer.devices[0].kind, offer.devices[0].name, offer.devices[0].runtimes) = (kind, model.into(), runtimes);
    offer
}

fn kernel(kind: CheckKind, tasks: u32) -> TaskFile {
    TaskFile { runtime: Runtime::Wgsl, args: vec![], ..numeric(kind, tasks) }
}

/// Two classes whose results are far apart, and close to their own.
fn diverging(one: &str, other: &str) -> u64 {
    if one == other { 500_000 } else { 90_000_000 }
}

#[test]
fn classes_that_differ_are_judged_against_each_other_only_once_it_is_known_by_how_much() {
    let mut network = network();
    let lone = network.join(card("lone", DeviceKind::Amd, "amd"));
    let sister = network.join(card("sister", DeviceKind::Amd, "amd"));
    for name in ["ann", "ben", "cid"] {
        network.join(card(name, DeviceKind::Nvidia, "nvidia"));
    }
    let key = network.core.worker_view(lone).expect("it is there").key;
    let of_lone = |network: &Network, job| {
        let proofs = network.core.proofs(job, 0, 1000).into_iter().filter(|proof| proof.worker == key);
        proofs.collect::<Vec<_>>()
    };
    // Nobody of its class is here: its results are not compared with those of another class, and those who can be checked do
    // the work.
    network.leave(sister);
    let before = network.submit("ada", &job(vec![kernel(CheckKind::Numeric, 20)]));
    run(&mut network, diverging);
    let found = of_lone(&network, before);
    assert!(
        !found.is_empty() && found.iter().all(|proof| proof.verdict == Verdict::Undecided && proof.audit.is_none())
    );
    assert_eq!(network.state(before), JobState::Done);
    let refused = network.core.totals().claims_refuted;
    // With a sister it is agreed with, and others compute the same now and then, without being judged.
    network.join(card("sister", DeviceKind::Amd, "amd"));
    let learning = network.submit("ada", &job(vec![kernel(CheckKind::Numeric, 900)]));
    run(&mut network, diverging);
    assert_eq!(network.state(learning), JobState::Done);
    let known = network.core.job_view(learning).expect("it is there").tolerances;
    let across = known.iter().find(|pair| pair.one != pair.other).expect("they were compared");
    assert!(across.seen >= 64 && across.tolerated.is_some_and(|tolerated| tolerated > 90_000_000), "{known:?}");
    assert!(network.core.totals().answers_wrong == 0 && network.core.totals().claims_refuted == refused);
    // From then on the others can say whether it is right.
    network.leave(sister);
    let after = network.submit("ada", &job(vec![kernel(CheckKind::Numeric, 60)]));
    run(&mut network, diverging);
    let found = of_lone(&network, after);
    assert!(found.iter().any(|proof| proof.verdict == Verdict::Agreed), "{found:?}");
}

#[test]
fn bytes_of_different_classes_are_never_compared() {
    let mut network = network();
    for (name, model) in [("ann", "one"), ("ben", "two"), ("cid", "three")] {
        network.join(card(name, DeviceKind::Nvidia, model));
    }
    let id = network.submit("ada", &job(vec![kernel(CheckKind::Exact, 30)]));
    run(&mut network, |_, _| panic!("nothing is there to compare"));
    assert!(verdicts(&network, id).iter().all(|verdict| *verdict == Verdict::NobodyToCheck));
}
