//! Races and firm places with real processes: a worker that stands still, and one that has to give way.
use std::time::{Duration, Instant};

use gleaner_wire::api::JobState;
use rustix::process::{Pid, Signal, kill_process};

use crate::network::Network;
use crate::programs;

/// How long an answer takes, in milliseconds.
const ANSWER_MS: u64 = 300;
/// Sooner than a lease lapses by far.
const SOON: Duration = Duration::from_secs(12);

fn questions(count: u32) -> String {
    format!(
        "name = \"questions\"\n[market]\nmode = \"race\"\n[[task]]\nname = \"question\"\nruntime = \"wasm\"\n\
         program = \"answer.wasm\"\nargs = [\"{{index}}\"]\neach = \"1..{count}\"\nmemo = false\n"
    )
}

fn single(name: &str, tier: &str, program: &str) -> String {
    format!(
        "name = \"{name}\"\n[market]\ntier = \"{tier}\"\n[[task]]\nname = \"{name}\"\nruntime = \"wasm\"\n\
         program = \"{program}\"\nargs = [\"7\"]\nmemo = false\n"
    )
}

/// The value of a metric.
fn metric(network: &Network, name: &str) -> f64 {
    let url = format!("{}/metrics", network.url());
    let text = network.ask(async |_| reqwest::get(url).await.expect("it answers").text().await.expect("text"));
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    line.unwrap_or_else(|| panic!("{name} in {text}"))
}

#[test]
fn questions_that_a_stuck_worker_has_are_answered_by_another_and_little_is_wasted() {
    let network = Network::start(2);
    network.write("answer.wasm", programs::patterned(ANSWER_MS, 16));
    network.write("many.toml", questions(240));
    network.run(&["run", "many.toml", "--out", "many"]).succeeded();

    let stuck = Pid::from_raw(network.workers[1].id().cast_signed()).expect("a process");
    kill_process(stuck, Signal::STOP).expect("it can be stopped");
    network.write("few.toml", questions(16));
    let start = Instant::now();
    network.run(&["run", "few.toml", "--out", "few"]).succeeded();
    let took = start.elapsed();
    kill_process(stuck, Signal::CONT).expect("it can go on");

    assert!(took < SOON, "{took:?}");
    for number in 1..=16 {
        assert_eq!(network.read(&format!("few/question/{}", number - 1)), programs::pattern(number, 16));
    }
    let jobs = network.ask(async |client| client.jobs().await.expect("a list"));
    let last = jobs.iter().map(|job| job.id).max().expect("two jobs");
    let view = network.ask(async |client| client.job(last).await.expect("the job"));
    assert!(view.market.hedges >= 1, "{view:?}");
    let (paid, wasted) = ["gleaner_race_paid_seconds_total", "gleaner_race_wasted_seconds_total"]
        .map(|name| metric(&network, name))
        .into();
    assert!(wasted > 0.0 && wasted <= paid / 10.0, "{wasted} s wasted for {paid} s that were paid");
    let shown = network.run(&["job", "show", &last.to_string()]).succeeded().stdout;
    assert!(shown.contains("race: ") && shown.contains("of the paid device time wasted"), "{shown}");
}

#[test]
fn an_interruptible_task_gives_way_to_one_that_pays_more_and_ends_after_it() {
    let mut network = Network::start(0);
    let url = network.url();
    network.start_worker_with(&url, &["--no-gpu", "--cpu-slots", "1", "--no-containers", "--no-blender"], &[]);
    network.wait_for_workers(1);
    network.write("long.wasm", programs::patterned(4000, 16));
    network.write("short.wasm", programs::patterned(200, 16));
    let soft = network.submit("soft.toml", &single("soft", "interruptible", "long.wasm"));
    let _soft_keys = network.attend(soft);
    network.wait_for_job(soft, |view| view.summary.running == 1);
    let firm = network.submit("firm.toml", &single("firm", "on-demand", "short.wasm"));
    let _firm_keys = network.attend(firm);
    let firm = network.wait_for_job(firm, |view| view.summary.state.has_ended());
    assert_eq!(firm.summary.state, JobState::Done);
    let ended = network.wait_for_job(soft, |view| view.summary.state.has_ended());
    assert_eq!((&ended.summary.state, ended.market.moved), (&JobState::Done, 1), "{ended:?}");
    assert!(firm.summary.ended_at < ended.summary.ended_at);
    assert!(ended.failures.is_empty(), "to be outbid is no failure: {ended:?}");
    let shown = network.run(&["job", "show", &soft.to_string()]).succeeded().stdout;
    assert!(shown.contains("interruptible · 1 attempt moved for somebody who pays more"), "{shown}");
}
