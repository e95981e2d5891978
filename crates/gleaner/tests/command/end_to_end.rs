//! The commands against a real hub and real workers.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::network::{Network, sources};
use crate::programs::{self, ARRAY};
use gleaner_wire::api::JobState;

#[test]
fn an_array_job_delivers_a_file_for_each_element() {
    let network = Network::start(2);
    network.write("program.wasm", programs::echo());
    network.write("job.toml", ARRAY);
    let ended = network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    assert!(ended.stderr.contains("20 tasks · at most 1 GLN, reserved now"), "{}", ended.stderr);
    for index in 0..20 {
        assert_eq!(network.read(&format!("out/square/{index}")), (index + 1).to_string().into_bytes());
    }
    assert_eq!(ended.stdout, "out\n", "the folder is the one thing on stdout");
}

#[test]
fn the_examples_of_an_array_and_a_graph_run() {
    let network = Network::start(2);
    let examples = sources().join("../../examples");
    for example in ["array", "graph"] {
        let file = examples.join(example).join("job.toml").display().to_string();
        let ended = network.run(&["run", &file, "--out", example, "--json"]).succeeded();
        let view: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON on stdout");
        assert_eq!(view["state"], "done");
        assert!(network.folder().join(example).read_dir().expect("a folder").next().is_some());
    }
}

#[test]
fn a_killed_worker_costs_no_result() {
    let mut network = Network::start(2);
    network.write("program.wasm", programs::patterned(300, 5000));
    let job = network.submit("job.toml", &ARRAY.replace("1..20", "1..40"));
    network.wait_for_job(job, |view| view.summary.done >= 8);
    network.workers.remove(0).kill();
    let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
    assert_eq!(view.summary.state, JobState::Done);
    assert!(view.failures.iter().any(|failure| failure.cause == gleaner_wire::Cause::WorkerLeft), "{view:?}");
    network.run(&["job", "fetch", &job.to_string(), "--out", "out"]).succeeded();
    for index in 0..40 {
        assert_eq!(network.read(&format!("out/square/{index}")), programs::pattern(index + 1, 5000));
    }
}

#[test]
fn a_cancelled_job_ends_and_its_rest_is_released() {
    let network = Network::start(1);
    network.write("program.wasm", programs::endless());
    let job = network.submit("job.toml", ARRAY);
    network.wait_for_job(job, |view| view.summary.running > 0);
    let ended = network.run(&["job", "cancel", &job.to_string()]).succeeded();
    assert!(ended.stderr.contains("cancelled"), "{}", ended.stderr);
    let ledger = network.ask(async |client| client.ledger().await.expect("the books"));
    let sum: u64 = ledger.accounts.values().map(|amount| amount.0).sum();
    assert_eq!(sum, ledger.issued.0);
    assert!(!ledger.accounts.iter().any(|(name, amount)| name.starts_with("order:") && amount.0 > 0), "{ledger:?}");
}

#[test]
fn an_impossible_need_is_explained() {
    let network = Network::start(1);
    network.write("program.wasm", programs::echo());
    let job = network.submit("job.toml", &format!("{ARRAY}needs = {{ region = \"atlantis\" }}\n"));
    let ended = network.run(&["job", "explain", &job.to_string()]).succeeded();
    assert!(ended.stdout.contains("20 tasks of `square` waiting"), "{}", ended.stdout);
    assert!(ended.stdout.contains("atlantis"), "{}", ended.stdout);
    let ended = network.run(&["job", "explain", "--json", &job.to_string()]).succeeded();
    let view: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON on stdout");
    assert_eq!(view["waiting"][0]["queued"], 20);
}

#[test]
fn a_run_that_stands_still_says_why_once() {
    let mut network = Network::start(1);
    network.write("program.wasm", programs::echo());
    network.write("job.toml", format!("{ARRAY}needs = {{ region = \"atlantis\" }}\n"));
    let mut runner = network.command(&["run", "job.toml"]);
    let mut runner = runner.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(runner.stderr.take().expect("piped")).lines().map(|line| line.expect("text"));
    let reason = "  - 1 device: it is not in region atlantis";
    assert!(lines.by_ref().any(|line| line == reason), "the reason is said while the job waits");
    network.workers.remove(0).kill();
    let changed = "  - 1 device: its worker is not connected";
    assert!(lines.by_ref().find(|line| line == reason || line == changed).is_some_and(|line| line == changed));
    network.run(&["job", "cancel", "1"]).succeeded();
    assert!(!lines.any(|line| line == changed), "each reason is said once");
    assert!(!runner.wait().expect("it ends").success());
}

#[test]
fn mistakes_in_job_files_are_reported_with_their_line() {
    let network = Network::start(0);
    network.write("program.wasm", programs::echo());
    let cases = [
        (ARRAY.replace("each", "eech"), 8, "unknown field `eech`"),
        (ARRAY.replace("1..20", "20..1"), 8, "not a range"),
        (ARRAY.replace("1..20", "1..20000000"), 3, "the limit is 10000000"),
        (format!("{ARRAY}needs = {{ device = \"nvidia\" }}\n"), 9, "no GPU device runs wasm"),
        (ARRAY.replace("program.wasm", "missing.wasm"), 6, "missing.wasm"),
        (format!("{ARRAY}[[task.input]]\nname = \"x\"\nfrom = \"nobody\"\n"), 11, "nobody"),
        (format!("{ARRAY}[[task.input]]\nname = \"x\"\nfrom = \"square\"\n"), 11, "square"),
    ];
    for (text, line, words) in cases {
        network.write("job.toml", &text);
        let ended = network.run(&["run", "job.toml"]);
        assert_eq!(ended.code, 1, "{ended:?}");
        let place = format!("job.toml:{line}: ");
        assert!(ended.stderr.contains(&place) && ended.stderr.contains(words), "{place}…{words}: {}", ended.stderr);
    }
}

#[test]
fn a_program_fault_ends_the_job_with_its_words() {
    let network = Network::start(3);
    network.write("program.wasm", programs::broken());
    network.write("job.toml", ARRAY.replace("each = \"1..20\"\n", ""));
    let ended = network.run(&["run", "job.toml"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stderr.contains("program fault"), "{}", ended.stderr);
    assert!(ended.stderr.contains("out of luck"), "{}", ended.stderr);
    assert!(ended.stderr.contains("EARNED includes failed attempts"), "{}", ended.stderr);
}

#[test]
fn followed_logs_arrive_while_the_job_runs_and_end_with_it() {
    let network = Network::start(1);
    network.write("program.wasm", programs::talkative(1500));
    let job = network.submit("job.toml", &ARRAY.replace("each = \"1..20\"\n", ""));
    let mut follower = network.command(&["job", "logs", "-f", &job.to_string()]);
    let mut follower = follower.stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(follower.stdout.take().expect("piped")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(first.ends_with("| first words"), "{first}");
    let state = network.ask(async move |client| client.job(job).await.expect("a job")).summary.state;
    assert_eq!(state, JobState::Running, "the first line came while the job ran");
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    assert!(rest.len() == 1 && rest[0].ends_with("| last words"), "{rest:?}");
    assert!(follower.wait().expect("it ends").success());
}

#[test]
fn an_interrupted_fetch_goes_on_where_it_was() {
    let network = Network::start(1);
    network.write("program.wasm", programs::patterned(0, 50_000));
    let job = network.submit("job.toml", ARRAY);
    network.wait_for_job(job, |view| view.summary.state.has_ended());
    network.run(&["job", "fetch", &job.to_string(), "--out", "out"]).succeeded();
    // As an interruption leaves it: one file whole, one half-way, one damaged, the others missing.
    let folder = network.folder().join("out/square");
    for index in 3..20 {
        std::fs::remove_file(folder.join(index.to_string())).expect("removed");
    }
    std::fs::remove_file(folder.join("1")).expect("removed");
    std::fs::write(folder.join("1.part"), &programs::pattern(2, 50_000)[..20_000]).expect("written");
    std::fs::write(folder.join("2"), "damaged").expect("written");
    let ended = network.run(&["job", "fetch", &job.to_string(), "--out", "out"]).succeeded();
    assert!(ended.stderr.contains("1 of them there before"), "{}", ended.stderr);
    for index in 0..20 {
        assert_eq!(network.read(&format!("out/square/{index}")), programs::pattern(index + 1, 50_000));
    }
    assert!(!folder.join("1.part").exists());
}

#[test]
fn a_paused_worker_gets_no_work_until_it_is_resumed() {
    let network = Network::start(1);
    let worker = network.wait_for_workers(1)[0].id.to_string();
    network.run(&["worker", "pause", &worker]).succeeded();
    network.write("program.wasm", programs::echo());
    let job = network.submit("job.toml", ARRAY);
    let ended = network.run(&["job", "explain", &job.to_string()]).succeeded();
    assert!(ended.stdout.contains("1 device: its owner uses the machine"), "{}", ended.stdout);
    network.run(&["worker", "resume", &worker]).succeeded();
    network.wait_for_job(job, |view| view.summary.state == JobState::Done);
}

#[test]
fn a_worker_is_readmitted_by_its_number() {
    let network = Network::start(1);
    let ended = network.run(&["worker", "readmit", "0"]).succeeded();
    assert_eq!(ended.stderr, "worker 0 (worker-1) is available\n");
    let ended = network.run(&["worker", "readmit", "99"]);
    assert!(ended.code == 1 && ended.stderr.contains("there is no worker 99"), "{ended:?}");
}

#[test]
fn a_job_survives_the_death_of_its_hub_and_its_watcher_notices_nothing() {
    let mut network = Network::start(1);
    network.write("program.wasm", programs::patterned(200, 100));
    network.write("job.toml", ARRAY);
    let mut runner = network.command(&["run", "job.toml", "--out", "out"]);
    let mut runner = runner.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(runner.stderr.take().expect("piped")).lines();
    lines.next().expect("it says that the job is submitted").expect("text");
    network.kill_hub();
    network.start_hub();
    let words: Vec<String> = lines.map(|line| line.expect("text")).collect();
    assert!(runner.wait().expect("it ends").success(), "{words:?}");
    for index in 0..20 {
        assert_eq!(network.read(&format!("out/square/{index}")), programs::pattern(index + 1, 100));
    }
}

#[test]
fn a_second_hub_on_the_same_folder_is_refused() {
    let network = Network::start(0);
    let ended = network.run(&["hub", "--listen", "127.0.0.1:0", "--chain", "none"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stderr.contains("another hub (process "), "{}", ended.stderr);
}
