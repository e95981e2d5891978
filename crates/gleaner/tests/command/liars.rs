//! Workers that do not do what they are paid for: each is caught, unpaid, slashed and shown with the evidence, and the job's
//! results are right all the same.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gleaner_wire::api::{CaseStage, JobState};
use gleaner_wire::{Amount, JobId, State};

use crate::network::{Network, sources};
use crate::programs;

const HONEST: usize = 3;
const LIAR: &str = "worker-4";
/// How long the court on the chain may take.
const COURT_TIME_MAX: Duration = Duration::from_secs(120);

/// A hub that checks results, three honest workers and one that lies like this.
fn network(lie: &str, options: &[&str], environment: &[(&str, &str)]) -> Network {
    network_with(lie, &[], options, environment)
}

/// The same, with options for the first of the honest.
fn network_with(lie: &str, friend: &[&str], options: &[&str], environment: &[(&str, &str)]) -> Network {
    let mut network = Network::with_chain(0);
    let url = network.url();
    for number in 0..HONEST {
        let friend = if number == 0 { friend } else { &[] };
        network.start_worker_with(&url, &[options, friend].concat(), environment);
    }
    network.start_worker_with(&url, &[options, &["--lie", lie]].concat(), environment);
    network.wait_for_workers(HONEST + 1);
    network
}

/// Looks at everything that a liar must not get away with, in the job that was just run.
fn caught(network: &Network) {
    let view = network.wait_for_job(JobId(1), |view| view.summary.state.has_ended());
    assert_eq!(view.summary.state, JobState::Done);
    let tally = view.workers.iter().find(|tally| tally.name == LIAR).expect("the liar took part");
    assert_eq!((tally.earned.0, tally.done), (0, 0), "nothing it said was paid");
    let refuted: Vec<_> = view.checks.iter().filter(|checks| !checks.paid).collect();
    assert!(!refuted.is_empty(), "{:?}", view.checks);
    let shown = network.run(&["job", "show", "1"]).succeeded().stdout;
    for words in [LIAR, "refuted", "the vote was against it", "it delivered", "the others computed"] {
        assert!(shown.contains(words), "{words} is missing:\n{shown}");
    }
    for command in ["show", "explain"] {
        let shown = network.run(&["job", command, "1"]).succeeded().stdout;
        let told = [
            "was contested: others computed something else",
            &format!("{LIAR} delivered "),
            "; it was wrong",
            "poll 1: 0 for the claim, 3 for answer 1",
        ];
        for words in told {
            assert!(shown.contains(words), "{words} is missing in `job {command}` of an ended job:\n{shown}");
        }
    }
    let workers = network.wait_for_workers(HONEST + 1);
    for worker in workers {
        let bad = worker.audits.expect("the hub checks results").bad;
        let out = matches!(worker.state, State::Probation | State::Disqualified);
        assert_eq!((bad > 0, out), (worker.offer.name == LIAR, worker.offer.name == LIAR), "{}", worker.offer.name);
    }
    let receipts = network.run(&["job", "receipts", "1", "--out", "receipts"]).succeeded();
    let files = walk(&network.folder().join("receipts"));
    assert!(!files.is_empty(), "{receipts:?}");
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    network.run(&[&["receipt", "verify"], &files[..]].concat()).succeeded();
    slashed(network);
}

/// Waits until the court has judged, and looks at whom it found guilty.
fn slashed(network: &Network) {
    let began = Instant::now();
    let case = loop {
        let cases = network.ask(async |client| client.cases(Some(JobId(1)), None).await).expect("the hub answers");
        assert_eq!(cases.len(), 1, "nobody else is accused: {cases:?}");
        if !matches!(cases[0].stage, CaseStage::Waiting | CaseStage::Open { .. }) {
            break cases[0].clone();
        }
        assert!(began.elapsed() < COURT_TIME_MAX, "the court has not judged: {cases:?}");
        std::thread::sleep(Duration::from_millis(250));
    };
    assert!(case.stage == CaseStage::Slashed && case.taken > Amount::ZERO, "{case:?}");
    let workers = network.wait_for_workers(HONEST + 1);
    let liar = workers.iter().find(|worker| worker.offer.name == LIAR).expect("it is there");
    assert_eq!(liar.offer.provider, Some(case.provider));
}

fn walk(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).expect("a folder");
    files.map(|file| file.expect("a file").path().display().to_string()).collect()
}

const CPU: [&str; 5] = ["--no-gpu", "--cpu-slots", "1", "--no-containers", "--no-blender"];

fn wasm(lie: &str, friend: &[&str]) {
    let network = network_with(lie, friend, &CPU, &[]);
    network.write("program.wasm", programs::patterned(20, 1000));
    network.write("job.toml", programs::ARRAY);
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    caught(&network);
    for index in 1..=20 {
        assert_eq!(
            network.read(&format!("out/square/{}", index - 1)),
            programs::pattern(index, 1000),
            "element {index}"
        );
    }
}

#[test]
fn altered_results_are_caught() {
    wasm("altered", &[]);
}

#[test]
fn results_of_other_tasks_are_caught() {
    wasm("another", &[]);
}

#[test]
fn results_of_other_workers_are_caught() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |how: &str| format!("{how}={}", folder.path().display());
    wasm(&of("copied"), &["--lie", &of("lent")]);
    let lent = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert!(lent > 0, "there was something to copy");
}

#[test]
fn stale_results_are_caught() {
    wasm("stale", &[]);
}

/// Needs a Vulkan driver, as the other tests of kernels do.
#[test]
fn results_of_a_cheaper_kernel_are_caught() {
    let gpu = ["--no-cpu", "--no-containers", "--no-blender", "--adapter", "llvmpipe"];
    let network = network("cheaper", &gpu, &[("LP_NUM_THREADS", "1")]);
    let example = sources().join("../../examples/kernel");
    for name in ["job.toml", "collatz.wgsl"] {
        network.write(name, std::fs::read(example.join(name)).expect("the example"));
    }
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    caught(&network);
    let steps = (0..20).flat_map(|index| network.read(&format!("out/collatz/{index}")));
    let steps: Vec<u8> = steps.collect();
    let longest = steps.chunks_exact(4).map(|steps| u32::from_le_bytes(steps.try_into().expect("four bytes"))).max();
    assert_eq!(longest, Some(524), "the longest way below a million");
}

#[test]
fn altered_tiles_are_caught() {
    let gpu = ["--no-cpu", "--no-containers", "--no-blender", "--adapter", "llvmpipe"];
    let network = network("altered", &gpu, &[("LP_NUM_THREADS", "1")]);
    let example = sources().join("../../examples/path-tracer");
    let job = std::fs::read_to_string(example.join("job.toml")).expect("the example");
    network.write("job.toml", small(&job));
    network.write("path.wgsl", std::fs::read(example.join("path.wgsl")).expect("the example"));
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    caught(&network);
    let mut honest = Network::start(0);
    let url = honest.url();
    honest.start_worker_with(&url, &gpu, &[("LP_NUM_THREADS", "1")]);
    honest.wait_for_workers(1);
    for name in ["job.toml", "path.wgsl"] {
        honest.write(name, network.read(name));
    }
    honest.run(&["run", "job.toml", "--out", "out"]).succeeded();
    let (ours, theirs) = (files(&network.folder().join("out")), files(&honest.folder().join("out")));
    assert!(theirs.keys().any(|name| name.extension().is_some_and(|end| end == "png")), "{:?}", theirs.keys());
    assert!(ours == theirs, "the picture is the one that an honest worker alone renders");
}

/// All files below a folder, with their bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("it is below").to_owned();
                found.insert(name, std::fs::read(path).expect("a file"));
            }
        }
    }
    found
}

/// The example's picture, small enough for a test.
fn small(job: &str) -> String {
    let shrunk = job.lines().map(|line| match line.split('=').next().map(str::trim) {
        Some("tiles") => "tiles = { width = 192, height = 108, tile_width = 48, tile_height = 27 }".to_owned(),
        Some("values") => "values = [4]".to_owned(),
        Some(_) | None => line.to_owned(),
    });
    shrunk.collect::<Vec<_>>().join("\n")
}
