//! The test binary as a process of its own, to be killed.
use super::actor::{Voice, command, role};
use std::path::Path;
use std::process::{Child, Stdio};

/// Without a role this is a test like any other and has nothing to do.
#[test]
fn plays_the_role_it_was_started_for() {
    let Some((role, folder)) = role() else { return };
    let words: Vec<&str> = role.split(' ').collect();
    let [name, number, port] = words[..] else { panic!("no such role: {role}") };
    let (number, port) = (number.parse().unwrap(), port.parse().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        match name {
            "up" | "hub" => super::ways_kill::play(name, &folder, port).await,
            _ => super::kill::play(name, number, &folder, port).await,
        }
    });
}

/// A child, and what it says.
pub struct Actor {
    child: Child,
    voice: Voice,
}

impl Actor {
    /// Starts one with this number, to do something with this folder and port.
    pub fn start(role: &str, number: u8, folder: &Path, port: u16) -> Self {
        let mut command = command(&format!("{role} {number} {port}"), folder);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
        let voice = Voice::new(child.stdout.take().unwrap());
        Self { child, voice }
    }

    /// The next thing it says, or nothing if it has ended.
    pub fn hear(&mut self) -> Option<String> {
        self.voice.hear()
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
