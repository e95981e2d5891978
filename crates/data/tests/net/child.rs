//! The test binary as a process of its own, to be killed.
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

const ROLE: &str = "GLEANER_NET_TEST_ROLE";
const FOLDER: &str = "GLEANER_NET_TEST_FOLDER";
const PORT: &str = "GLEANER_NET_TEST_PORT";
/// What begins the lines that a child writes; the test harness writes others.
const SAYS: &str = "child: ";

/// Without a role this is a test like any other and has nothing to do.
#[test]
fn plays_the_role_it_was_started_for() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let folder = std::env::var_os(FOLDER).unwrap();
    let port = std::env::var(PORT).unwrap().parse().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        match role.as_str() {
            "up" | "hub" => super::ways_kill::play(&role, Path::new(&folder), port).await,
            _ => super::kill::play(&role, Path::new(&folder), port).await,
        }
    });
}

pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{SAYS}{line}").unwrap();
    out.flush().unwrap();
}

/// A child, and what it says.
pub struct Actor {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Actor {
    pub fn start(role: &str, folder: &Path, port: u16) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child::plays_the_role_it_was_started_for", "--nocapture"])
            .env(ROLE, role)
            .env(FOLDER, folder)
            .env(PORT, port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    /// The next thing it says, or nothing if it has ended.
    pub fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.out.read_line(&mut line).unwrap() > 0 {
            // The harness may have begun the line with the name of the test.
            if let Some(at) = line.find(SAYS) {
                return Some(line[at + SAYS.len()..].trim_end().to_owned());
            }
            line.clear();
        }
        None
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// kill -9.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
