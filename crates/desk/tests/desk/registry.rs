//! A registry of the test's own, Debian's `docker-registry`, on a free port of the loopback.
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Registry {
    _folder: tempfile::TempDir,
    server: Child,
    pub address: String,
}

impl Registry {
    /// Starts it, and waits until it listens.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.expect("a free port").to_string();
        let configuration = format!(
            "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: {address}\n",
            folder.path().display()
        );
        let file = folder.path().join("config.yml");
        std::fs::write(&file, configuration).expect("written");
        let mut server = Command::new("docker-registry");
        server.arg("serve").arg(file).stdout(Stdio::null()).stderr(Stdio::null());
        let server = server.spawn().expect("docker-registry (Debian: apt install docker-registry)");
        let registry = Self { _folder: folder, server, address };
        let begun = Instant::now();
        while TcpStream::connect(&registry.address).is_err() {
            assert!(begun.elapsed() < PATIENCE, "the registry does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        registry
    }

    pub fn name(&self, image: &str) -> String {
        format!("{}/{image}", self.address)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
