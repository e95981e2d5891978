//! The test binary as a process of its own, to be killed, locked out, or shut into a small disk.
use std::path::Path;
use std::process::{Child, Command, Stdio};

const ROLE: &str = "GLEANER_STORE_TEST_ROLE";
const FOLDER: &str = "GLEANER_STORE_TEST_FOLDER";
const SEED: &str = "GLEANER_STORE_TEST_SEED";

/// What begins the lines that a child writes; the test harness writes others.
pub const SAYS: &str = "child: ";

/// Without a role this is a test like any other and has nothing to do.
#[test]
fn plays_the_role_it_was_started_for() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let folder = std::env::var_os(FOLDER).unwrap();
    let folder = Path::new(&folder);
    match role.as_str() {
        "fill" => super::crash::fill(folder, std::env::var(SEED).unwrap().parse().unwrap()),
        "hold" => super::crash::hold(folder),
        "overfill" => super::full_disk::overfill(folder),
        other => panic!("no such role: {other}"),
    }
}

/// The command of a child.
pub fn arguments() -> Vec<String> {
    let binary = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let name = "child::plays_the_role_it_was_started_for".to_owned();
    vec![binary, "--exact".to_owned(), name, "--nocapture".to_owned()]
}

/// Starts a child by this command.
pub fn start(command: &[String], role: &str, folder: &Path, seed: u64) -> Child {
    Command::new(&command[0])
        .args(&command[1..])
        .env(ROLE, role)
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}
