//! A device that a job is given can be used, and by nobody else.

use crate::cell::Cell;
use gleaner_sandbox::{Cause, Device, Error, Job};
use rustix::fs::{CWD, FileType, Gid, Mode, chown, makedev, mknodat};
use std::fs;
use std::path::{Path, PathBuf};

/// A group that nothing else on the machine has.
const RENDER: u32 = 54_321;

/// A node such as a graphics card has, with nothing but zeros behind it: only who is in its group may read them.
struct Node(PathBuf);

impl Node {
    fn make(number: u32) -> Self {
        assert!(rustix::process::geteuid().is_root(), "a device is made by root: run the tests of the sandbox as root");
        let _ = fs::create_dir("/dev/dri");
        let path = PathBuf::from(format!("/dev/dri/renderD{number}"));
        let _ = fs::remove_file(&path);
        let mode = Mode::from_raw_mode(0o660);
        mknodat(CWD, &path, FileType::CharacterDevice, mode, makedev(1, 5)).unwrap();
        chown(&path, None, Some(Gid::from_raw(RENDER))).unwrap();
        rustix::fs::chmod(&path, mode).unwrap();
        Self(path)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        // Only if it was not there before.
        let _ = fs::remove_dir("/dev/dri");
    }
}

async fn reads(cell: &Cell, path: &Path, devices: Vec<Device>) -> String {
    let job = Job { devices, ..cell.job(&["/in/attack", "read", &path.to_string_lossy()]) };
    let outcome = cell.run(job).await;
    assert_eq!(outcome.ending.cause, Cause::Finished, "{}: {}", cell.name(), outcome.text());
    outcome.text()
}

async fn is_used_by_whom_it_was_given_to(cell: &Cell, number: u32) {
    let (given, other) = (Node::make(number), Node::make(number + 1));
    let text = reads(cell, &given.0, vec![Device::Node(given.0.clone())]).await;
    assert!(text.contains("ESCAPED"), "{} cannot use what it was given: {text}", cell.name());
    let text = reads(cell, &other.0, vec![Device::Node(given.0.clone())]).await;
    assert!(text.contains("HELD") && !text.contains("ESCAPED"), "{}: {text}", cell.name());
    let text = reads(cell, &given.0, Vec::new()).await;
    assert!(text.contains("HELD") && !text.contains("ESCAPED"), "{}: {text}", cell.name());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_of_a_group_can_be_used_under_bubblewrap() {
    is_used_by_whom_it_was_given_to(&Cell::bubblewrap(), 240).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_of_a_group_can_be_used_in_a_container() {
    is_used_by_whom_it_was_given_to(&Cell::container().await, 244).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn name_of_a_device_is_refused_where_the_engine_takes_none() {
    let cell = Cell::container().await;
    let job = Job { devices: vec![Device::Cdi("nvidia.com/gpu=0".into())], ..cell.job(&["true"]) };
    let Err(Error::Refused(why)) = cell.start(job).await else { panic!("it was taken") };
    assert!(why.contains("takes no names of devices"), "{why}");
}
