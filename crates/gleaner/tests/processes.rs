//! `gleaner up` leaves no process behind, whether it is asked to end or killed.

mod network;

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Stdio};

use network::{PATIENCE, gleaner};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tokio::io::unix::AsyncFd;

/// Starts a network and returns when all of it is there.
fn up(folder: &Path) -> Child {
    let mut up = gleaner()
        .arg("--dir")
        .arg(folder)
        .args(["up", "--workers", "2", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    BufReader::new(up.stdout.take().expect("piped")).read_line(&mut line).expect("it says its address");
    assert!(line.starts_with("http://127.0.0.1:"), "{line}");
    up
}

/// The processes whose parent is this one.
fn children_of(parent: u32) -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").expect("/proc").filter_map(|entry| {
        let status = std::fs::read_to_string(entry.ok()?.path().join("status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<i32>().ok());
        (field("PPid:")? == parent.cast_signed()).then(|| Pid::from_raw(field("Pid:")?)).flatten()
    });
    processes.collect()
}

/// A handle of each process, by which its end is noticed.
fn handles(processes: &[Pid]) -> Vec<OwnedFd> {
    processes.iter().map(|process| pidfd_open(*process, PidfdFlags::NONBLOCK).expect("it runs")).collect()
}

fn wait_for_ends(handles: Vec<OwnedFd>) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        for handle in handles {
            // SAFETY: the handle is owned and stays open for as long as it is registered.
            let handle = unsafe { AsyncFd::register(handle) }.expect("a handle can be waited for");
            let ended = tokio::time::timeout(PATIENCE, handle.readable()).await;
            drop(ended.expect("the process ends before patience does").expect("it can be waited for"));
        }
    });
}

fn process_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed()).expect("a process has a number")
}

#[test]
fn ctrl_c_ends_the_whole_network_cleanly() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut up = up(folder.path());
    let children = children_of(up.id());
    assert_eq!(children.len(), 3, "a hub and two workers");
    let handles = handles(&children);
    kill_process(process_of(&up), Signal::INT).expect("it can be signalled");
    assert!(up.wait().expect("it ends").success());
    wait_for_ends(handles);
}

#[test]
fn a_killed_network_leaves_no_orphan() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut up = up(folder.path());
    let children = children_of(up.id());
    let grandchildren: Vec<Pid> =
        children.iter().flat_map(|child| children_of(child.as_raw_nonzero().get().cast_unsigned())).collect();
    let handles = handles(&[children, grandchildren].concat());
    assert!(handles.len() >= 3, "a hub and two workers");
    up.kill().expect("it can be killed");
    up.wait().expect("it ends");
    wait_for_ends(handles);
}
