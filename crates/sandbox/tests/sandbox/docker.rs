//! A Docker of the test's own, started by hand: images, containers and socket in a temporary folder, gone when it is dropped.

use std::fs;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Docker {
    folder: tempfile::TempDir,
    service: Child,
}

impl Docker {
    /// Starts it, and waits until it listens. It makes no network, since no container here gets one.
    pub fn start() -> Self {
        // Short, because the name of a socket has at most 107 bytes.
        let folder = tempfile::Builder::new().prefix("dock").tempdir_in("/tmp").unwrap();
        let at = |name: &str| folder.path().join(name);
        let service = Command::new("dockerd")
            .arg("--data-root")
            .arg(at("data"))
            .arg("--exec-root")
            .arg(at("exec"))
            .arg("--pidfile")
            .arg(at("pid"))
            .args(["--host", &format!("unix://{}", at("s").display())])
            .args(["--iptables=false", "--bridge=none"])
            .stdout(Stdio::null())
            .stderr(fs::File::create(at("log")).unwrap())
            .spawn()
            .expect("dockerd (Debian: apt install docker.io)");
        let docker = Self { folder, service };
        let begun = Instant::now();
        while UnixStream::connect(docker.folder.path().join("s")).is_err() {
            let log = || fs::read_to_string(docker.folder.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(60), "dockerd does not listen: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        docker
    }

    pub fn host(&self) -> String {
        format!("unix://{}", self.folder.path().join("s").display())
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        // Asked to end, it ends its containers and what it started itself.
        let process = rustix::process::Pid::from_child(&self.service);
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        let _ = self.service.wait();
    }
}
