//! The test binary as a process of its own: how it is started for a role, and how it is heard.
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

const ROLE: &str = "GLEANER_TEST_ROLE";
const FOLDER: &str = "GLEANER_TEST_FOLDER";
/// What begins the lines that a child writes; the test harness writes others.
const SAYS: &str = "child: ";

/// This binary, to play a role with what is in a folder.
pub fn command(role: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child::plays_the_role_it_was_started_for", "--nocapture"])
        .env(ROLE, role)
        .env(FOLDER, folder)
        .stdout(Stdio::piped());
    command
}

/// The role that this process was started for, and its folder. Without one it is a test like any other.
pub fn role() -> Option<(String, PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    Some((role, PathBuf::from(std::env::var_os(FOLDER).unwrap())))
}

/// Says something to who started this process.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{SAYS}{line}").unwrap();
    out.flush().unwrap();
}

/// What a child says.
pub struct Voice(BufReader<ChildStdout>);

impl Voice {
    pub fn new(out: ChildStdout) -> Self {
        Self(BufReader::new(out))
    }

    /// The next thing it says, or nothing if it has ended.
    pub fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.0.read_line(&mut line).unwrap() > 0 {
            // The harness may have begun the line with the name of the test.
            if let Some(at) = line.find(SAYS) {
                return Some(line[at + SAYS.len()..].trim_end().to_owned());
            }
            line.clear();
        }
        None
    }
}
