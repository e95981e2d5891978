//! Nothing is left over, whatever happens.
use super::*;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const ROLE: &str = "GLEANER_LAB_TEST_ROLE";
const SAYS: &str = "child: ";

fn sleep() -> Command {
    let mut command = Command::new("sleep");
    command.arg("1000").stdin(Stdio::null());
    command
}

fn devices() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir("/sys/class/net")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Waits for the end of a process that is not a child of this one; gives up after long.
fn ends(id: u32) -> bool {
    let start = Instant::now();
    let stat = || std::fs::read_to_string(Path::new("/proc").join(id.to_string()).join("stat"));
    while stat().is_ok_and(|stat| !stat.contains(") Z ")) {
        if start.elapsed() > Duration::from_secs(20) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

#[test]
fn commands_run_inside_and_see_nothing_else() {
    if !possible() {
        return;
    }
    let pair = pair();
    let mut command = Command::new("ip");
    command.args(["-brief", "address"]);
    let seen = String::from_utf8(pair.left.run(command).unwrap().stdout).unwrap();
    assert!(seen.contains("10.0.0.1 peer 10.0.0.2"), "{seen}");
    assert_eq!(seen.lines().count(), 2, "{seen}");
}

#[test]
fn a_network_that_is_dropped_is_gone_with_its_commands() {
    if !possible() {
        return;
    }
    let before = devices();
    let network = pair();
    let mut process = network.left.start(sleep()).unwrap();
    let id = process.id();
    assert!(process.is_running().unwrap());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _network = (network, process);
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert!(ends(id));
    assert_eq!(devices(), before, "no device was ever seen outside");
}

/// Without a role this is a test like any other and has nothing to do.
#[test]
fn plays_the_role_it_was_started_for() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let network = pair();
    let process = network.right.start(sleep()).unwrap();
    println!("{SAYS}{}", process.id());
    std::thread::sleep(Duration::from_secs(1000));
}

#[test]
fn a_network_whose_process_was_killed_is_gone_with_its_commands() {
    if !possible() {
        return;
    }
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leftovers::plays_the_role_it_was_started_for", "--nocapture"])
        .env(ROLE, "owner")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let said = lines.map_while(Result::ok).find_map(|line| line.split(SAYS).nth(1).map(str::to_owned));
    let id = said.unwrap().parse().unwrap();
    assert!(Path::new("/proc").join(format!("{id}")).exists());
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(ends(id), "the command outlived its network");
}
