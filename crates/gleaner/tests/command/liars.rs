//! Workers that do not do what they are paid for: each is caught, unpaid and shown with the evidence, and the job's results
//! are right all the same.
use gleaner_wire::State;
use gleaner_wire::api::{JobState, JobView};

use crate::network::{Network, sources};
use crate::programs;

const HONEST: usize = 3;
const LIAR: &str = "worker-4";

/// A hub that checks results, three honest workers and one that lies like this.
fn network(lie: &str, options: &[&str], environment: &[(&str, &str)]) -> Network {
    let mut network = Network::with(|_| ["--chain", "none", "--no-tests"].map(str::to_owned).into(), 0);
    let url = network.url();
    for _ in 0..HONEST {
        network.start_worker_with(&url, options, environment);
    }
    network.start_worker_with(&url, &[options, &["--lie", lie]].concat(), environment);
    network.wait_for_workers(HONEST + 1);
    network
}

/// The job that was just run, after everything that a liar must not get away with was looked at.
fn caught(network: &Network) -> JobView {
    let view = network.wait_for_job(gleaner_wire::JobId(1), |view| view.summary.state.has_ended());
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
    view
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).expect("a folder");
    files.map(|file| file.expect("a file").path().display().to_string()).collect()
}

const CPU: [&str; 5] = ["--no-gpu", "--cpu-slots", "1", "--no-containers", "--no-blender"];

fn wasm(lie: &str) {
    let network = network(lie, &CPU, &[]);
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
    wasm("altered");
}

#[test]
fn results_of_other_tasks_are_caught() {
    wasm("another");
}

#[test]
fn stale_results_are_caught() {
    wasm("stale");
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
