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

/// The process whose command line ends with these words.
fn process_with(words: &str) -> Option<rustix::process::Pid> {
    let ends = |entry: &fs::DirEntry| {
        fs::read(entry.path().join("cmdline")).is_ok_and(|command| command.ends_with(words.as_bytes()))
    };
    let found = fs::read_dir("/proc").unwrap().flatten().find(ends)?;
    rustix::process::Pid::from_raw(found.file_name().to_str()?.parse().ok()?)
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
    let watchdog = process_with(&format!("watch\0{host}\0{name}\0")).expect("a watchdog");
    rustix::process::kill_process(watchdog, rustix::process::Signal::TERM).unwrap();
    assert!(worker.try_wait().unwrap().is_none(), "the worker ended before it was killed");
    worker.kill().unwrap();
    worker.wait().unwrap();
    wait_until("no process of the container is left", || !is_running(&marker));
    wait_until("no container is left", || podman.containers() == 0);
}
