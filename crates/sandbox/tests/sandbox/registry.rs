//! A registry of the test's own, Debian's `docker-registry`, on a free port of the loopback.

use crate::podman::Podman;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Registry {
    _folder: tempfile::TempDir,
    server: Child,
    address: String,
}

impl Registry {
    /// Starts it, and waits until it listens.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let configuration = format!(
            "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: {address}\n",
            folder.path().display()
        );
        let file = folder.path().join("config.yml");
        fs::write(&file, configuration).unwrap();
        let server = Command::new("docker-registry")
            .arg("serve")
            .arg(file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("docker-registry (Debian: apt install docker-registry)");
        let registry = Self { _folder: folder, server, address };
        let begun = Instant::now();
        while TcpStream::connect(&registry.address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the registry does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        registry
    }

    pub fn name(&self, image: &str) -> String {
        format!("{}/{image}", self.address)
    }

    /// How an engine is told that it may reach it.
    pub fn configuration(&self) -> String {
        format!("[[registry]]\nlocation = \"{}\"\ninsecure = true\n", self.address)
    }

    /// Makes an image and leaves it in the registry only.
    pub fn fill(&self, podman: &Podman, image: &str) {
        let name = self.name(image);
        podman.import(&name);
        podman.run(&["push", "--quiet", &name]);
        podman.run(&["rmi", &name]);
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
