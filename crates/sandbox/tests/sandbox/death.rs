//! What is left of a worker's jobs when the worker is killed: nothing.

use crate::attacker::attacker;
use crate::cell::{helper, worker_name};
use crate::escapes::is_running;
use crate::podman::Podman;
use gleaner_sandbox::{Folder, Groups};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts a worker with one job, and waits until the job has printed something.
fn worker(name: &str, folder: &Path, sandbox: &[&str], job: &[&str]) -> Child {
    let folder = Folder::create(folder).map(|made| (made.inputs(), folder)).unwrap();
    fs::copy(attacker(), folder.0.join("attack")).unwrap();
    let mut worker = Command::new(helper().program)
        .arg("as-worker")
        .arg(name)
        .arg(folder.1)
        .args(sandbox)
        .args(job)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(worker.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "LEFT a process");
    worker
}

/// Waits until something holds, for a bounded time.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The watchdogs of workers whose engine listens there.
fn watchdogs(host: &str) -> Vec<rustix::process::Pid> {
    let words = format!("\0watch\0{host}\0");
    let is_one = |entry: &fs::DirEntry| {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(&words)
    };
    let found = fs::read_dir("/proc").unwrap().flatten().filter(is_one);
    found.filter_map(|entry| rustix::process::Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// A job that has left a process behind in a session of its own and goes on itself.
fn job(marker: &str) -> String {
    format!("/in/attack linger {marker}; exec /in/attack sleep {marker}")
}

#[test]
fn killed_worker_leaves_no_process() {
    let home = tempfile::tempdir().unwrap();
    let (name, marker) = (worker_name(), format!("orphan-{}", std::process::id()));
    let mut worker = worker(&name, &home.path().join("job"), &[], &["sh", "-c", &job(&marker)]);
    assert!(is_running(&marker));
    assert!(worker.try_wait().unwrap().is_none(), "the worker ended before it was killed");
    worker.kill().unwrap();
    worker.wait().unwrap();
    wait_until("no process of the job is left", || !is_running(&marker));
    let groups = Groups::open(&name).unwrap();
    assert_eq!(groups.cleared(), usize::from(groups.missing().is_none()), "the group of the dead worker's job");
    assert_eq!(Groups::open(&name).unwrap().cleared(), 0);
}

#[test]
fn killed_worker_leaves_no_container() {
    let podman = Podman::start();
    let archive = podman.archive();
    let home = tempfile::tempdir().unwrap();
    let (name, marker) = (worker_name(), format!("orphaned-container-{}", std::process::id()));
    let host = podman.host();
    let sandbox = ["container", &host, archive.to_str().unwrap()];
    let mut worker = worker(&name, &home.path().join("job"), &sandbox, &["sh", "-c", &job(&marker)]);
    assert!(is_running(&marker));
    assert_eq!(podman.containers(), 1);
    // A service manager asks every process of a service to end before it kills them.
    let [watchdog] = watchdogs(&host)[..] else { panic!("one watchdog") };
    rustix::process::kill_process(watchdog, rustix::process::Signal::TERM).unwrap();
    assert!(worker.try_wait().unwrap().is_none(), "the worker ended before it was killed");
    worker.kill().unwrap();
    worker.wait().unwrap();
    wait_until("no process of the container is left", || !is_running(&marker));
    wait_until("no container is left", || podman.containers() == 0);
}

/// A service manager starts a worker that crashed again at once, while the watchdog of its first run is still at work.
#[test]
fn worker_that_is_started_again_keeps_its_new_containers() {
    let podman = Podman::start();
    let archive = podman.archive();
    let home = tempfile::tempdir().unwrap();
    let (name, host) = (worker_name(), podman.host());
    let sandbox = ["container", &host, archive.to_str().unwrap()];
    let start = |marker: &str| worker(&name, &home.path().join(marker), &sandbox, &["sh", "-c", &job(marker)]);
    let marker = |life: &str| format!("{life}-life-{}", std::process::id());
    let mut first = start(&marker("first"));
    let [old] = watchdogs(&host)[..] else { panic!("one watchdog") };
    // It cannot begin to sweep before the second life has its container.
    rustix::process::kill_process(old, rustix::process::Signal::STOP).unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    let mut second = start(&marker("second"));
    assert!(!is_running(&marker("first")), "the second life has ended what the first one left");
    rustix::process::kill_process(old, rustix::process::Signal::CONT).unwrap();
    wait_until("the watchdog of the first life has done its work", || !watchdogs(&host).contains(&old));
    assert!(is_running(&marker("second")), "it swept what was not its own");
    assert_eq!(podman.containers(), 1);
    second.kill().unwrap();
    second.wait().unwrap();
    wait_until("no container is left", || podman.containers() == 0);
}
