//! The owner comes first: what runs is stopped when the machine is wanted, comes back to it or goes elsewhere, and the
//! owner's own command never runs beside a task. The device is a file; everything behind it is real.
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::network::Network;
use crate::programs;
use gleaner_wire::Amount;
use gleaner_wire::api::JobState;

/// A game on the device.
const GAME: &str =
    "busy_percent = 90\n[[process]]\npid = 4242\nname = \"game\"\nmemory = \"3GiB\"\nbusy_percent = 85\n";
const NOTHING: &str = "busy_percent = 0\n";
const OPTIONS: [&str; 5] = ["--no-gpu", "--cpu-slots", "2", "--no-containers", "--no-blender"];
/// How long something that happens every second may take on a machine that others use too.
const PATIENCE: Duration = Duration::from_secs(120);

/// The folder of the first worker, with what its owner wrote.
pub fn first_worker(network: &Network, preferences: &str) -> PathBuf {
    let folder = network.state().join("workers/1");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("preferences.toml"), preferences).expect("written");
    folder
}

/// Waits until the first worker has said so, and returns the line.
pub fn said(network: &Network, words: &str) -> String {
    wait(words, || {
        let log = String::from_utf8_lossy(&network.read("worker-1.log")).into_owned();
        log.lines().find(|line| line.contains(words)).map(str::to_owned)
    })
}

fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "this did not happen: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_game_gets_the_device_and_its_task_goes_on_elsewhere() {
    let mut network = Network::start(0);
    let url = network.url();
    let folder = first_worker(&network, "[yield]\nprocess_quiet = \"1s\"\n");
    network.start_worker_with(&url, &OPTIONS, &[]);
    network.wait_for_workers(1);
    network.write("program.wasm", programs::patterned(20_000, 10));
    let job =
        "name = \"long\"\n[[task]]\nname = \"long\"\nruntime = \"wasm\"\nprogram = \"program.wasm\"\nargs = [\"1\"]\n";
    let job = network.submit("job.toml", job);
    let _attending = network.attend(job);
    network.wait_for_job(job, |view| view.summary.running == 1);
    std::fs::write(folder.join("simulated-device.toml"), GAME).expect("written");
    let why = said(&network, "is yours now");
    assert!(why.contains("game"), "{why}");
    let freed = said(&network, "was free after");
    assert!(!freed.contains("later than you allow"), "{freed}");
    network.wait_for_job(job, |view| view.summary.running == 0);
    let explained = network.run(&["job", "explain", &job.to_string()]).succeeded().stdout;
    assert!(explained.contains("its owner uses the machine"), "{explained}");
    // Another machine takes it, and the requester is not asked again.
    network.start_worker_with(&url, &OPTIONS, &[]);
    let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
    assert_eq!(view.summary.state, JobState::Done, "{view:?}");
    std::fs::write(folder.join("simulated-device.toml"), NOTHING).expect("written");
    said(&network, "is shared again");
}

#[test]
fn a_measured_draw_moves_the_price_while_the_worker_is_connected() {
    let mut network = Network::start(0);
    let url = network.url();
    let folder = first_worker(&network, "tariff = \"0.36 EUR\"\ngln_price = \"0.10 EUR\"\n");
    std::fs::write(folder.join("simulated-device.toml"), "watts = 300\n").expect("written");
    network.start_worker_with(&url, &OPTIONS, &[]);
    let asked = |network: &Network| network.wait_for_workers(1)[0].offer.devices[0].price_per_second;
    assert_eq!(asked(&network), Amount(111_765), "95 W, which nobody has measured");
    network.write("program.wasm", programs::endless());
    let job = "name = \"long\"\n[[task]]\nname = \"long\"\nruntime = \"wasm\"\nprogram = \"program.wasm\"\n";
    let job = network.submit("job.toml", job);
    let _attending = network.attend(job);
    let told = said(&network, "from now on");
    assert!(told.contains("device 0 costs 1.2832992 GLN an hour"), "{told}");
    wait("the hub knows the price", || (asked(&network) == Amount(356_472)).then_some(()));
    let running = network.wait_for_job(job, |view| view.summary.running == 1);
    assert!(running.failures.is_empty(), "what runs goes on: {running:?}");
}

#[test]
fn every_device_is_taken_back_before_any_is_waited_for() {
    let mut network = Network::start(0);
    let url = network.url();
    let folder = first_worker(&network, "[yield]\nprocess_quiet = \"1s\"\n");
    // The processor, and the graphics device that computes on it.
    network.start_worker_with(&url, &["--cpu-slots", "1", "--no-containers", "--no-blender"], &[]);
    assert!(network.wait_for_workers(1)[0].offer.devices.len() > 1, "apt install mesa-vulkan-drivers");
    std::fs::write(folder.join("simulated-device.toml"), GAME).expect("written");
    said(&network, "device 1 was free after");
    let log = String::from_utf8(network.read("worker-1.log")).expect("text");
    let place = |words: &str| log.find(words).unwrap_or_else(|| panic!("{words} is not in {log}"));
    assert!(place("device 1 is yours now") < place("device 0 was free after"), "{log}");
}

#[test]
fn the_machine_is_its_owner_s_at_a_word_even_without_a_hub() {
    let mut network = Network::start(1);
    network.kill_hub();
    network.run(&["worker", "pause"]).succeeded();
    assert!(said(&network, "is yours now").contains("paused"));
    network.run(&["worker", "resume"]).succeeded();
    said(&network, "is shared again");
}

#[test]
fn the_owner_s_command_runs_while_there_is_no_work_and_is_gone_before_a_task_starts() {
    let mut network = Network::start(0);
    let url = network.url();
    let marks = network.folder().join("marks");
    std::fs::create_dir_all(&marks).expect("a folder");
    // Each life of it leaves its number; it ends only when it is made to.
    let script = format!("trap '' TERM; touch {}/$$; while :; do sleep 1; done", marks.display());
    let command = network.folder().join("idle");
    std::fs::write(&command, format!("#!/bin/sh\n{script}\n")).expect("written");
    first_worker(&network, &format!("idle_command = \"sh {}\"\n", command.display()));
    network.start_worker_with(&url, &OPTIONS, &[]);
    network.wait_for_workers(1);
    let lives = || -> Vec<u32> {
        let entries = std::fs::read_dir(&marks).expect("a folder").flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let alive = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    };
    let first = wait("the idle command starts", || lives().into_iter().find(|pid| alive(pid)));
    network.write("program.wasm", programs::talkative(3_000));
    let job = "name = \"work\"\n[[task]]\nname = \"work\"\nruntime = \"wasm\"\nprogram = \"program.wasm\"\n";
    let job = network.submit("job.toml", job);
    let _attending = network.attend(job);
    // The task's own words show that it has started.
    wait("the task speaks", || {
        let logs = network.run(&["job", "logs", &job.to_string()]).succeeded().stdout;
        logs.contains("first words").then_some(())
    });
    assert!(!alive(&first), "the idle command still runs beside a task");
    let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
    assert_eq!(view.summary.state, JobState::Done, "{view:?}");
    let next = wait("the idle command comes back", || lives().into_iter().find(|pid| *pid != first && alive(pid)));
    drop(network);
    wait("the idle command goes with the worker", || (!alive(&next)).then_some(()));
}
