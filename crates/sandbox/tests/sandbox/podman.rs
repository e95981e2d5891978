//! A podman of the test's own: storage, configuration, socket and image in a temporary folder, gone when it is dropped.

use crate::box_image::write_archive;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const CONFIGURATION: &str = r#"
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=1024:1024"]
[engine]
runtime = "DEFAULT"
cgroup_manager = "cgroupfs"
events_logger = "file"
[engine.runtimes]
runsc = ["RUNSC"]
broken = ["/bin/false"]
[network]
network_backend = "cni"
network_config_dir = "NETWORKS"
"#;

pub struct Podman {
    folder: tempfile::TempDir,
    service: Child,
}

impl Podman {
    /// Starts it, and waits until it listens.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// One whose containers run under gVisor.
    pub fn start_with_gvisor() -> Self {
        Self::start_as("", "runsc")
    }

    /// One that answers, and whose containers cannot start.
    pub fn start_broken() -> Self {
        Self::start_as("", "broken")
    }

    /// The same, with registries that it may reach without encryption, as their configuration is written.
    pub fn start_with(registries: &str) -> Self {
        Self::start_as(registries, "runc")
    }

    fn start_as(registries: &str, runtime: &str) -> Self {
        // Short, because the name of a socket has at most 107 bytes.
        let folder = tempfile::Builder::new().prefix("pod").tempdir_in("/tmp").unwrap();
        let wrapper = folder.path().join("runsc");
        fs::write(
            &wrapper,
            "#!/bin/sh\nexec /usr/bin/runsc --platform=ptrace --ignore-cgroups --network=none \"$@\"\n",
        )
        .unwrap();
        executable(&wrapper);
        let networks = folder.path().join("networks");
        let configuration = CONFIGURATION
            .replace("RUNSC", &wrapper.to_string_lossy())
            .replace("DEFAULT", runtime)
            .replace("NETWORKS", &networks.to_string_lossy());
        fs::write(folder.path().join("containers.conf"), configuration).unwrap();
        fs::write(folder.path().join("registries.conf"), registries).unwrap();
        let socket = format!("unix://{}", folder.path().join("s").display());
        let service = command(folder.path())
            .args(["system", "service", "--time", "0", &socket])
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .expect("podman (Debian: apt install podman runc)");
        let podman = Self { folder, service };
        let begun = Instant::now();
        while UnixStream::connect(podman.folder.path().join("s")).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "podman does not listen: {}", podman.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        podman
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    pub fn host(&self) -> String {
        format!("unix://{}", self.folder.path().join("s").display())
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a command of this podman and gives what it prints.
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = command(self.folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// An image of nothing but busybox, as an OCI archive.
    pub fn archive(&self) -> PathBuf {
        self.archive_of("archive", &serde_json::json!({}))
    }

    /// The same with a configuration such as `{ "Volumes": { "/data": {} } }`.
    pub fn archive_of(&self, name: &str, config: &serde_json::Value) -> PathBuf {
        let archive = self.folder.path().join(format!("{name}.tar"));
        write_archive(&archive, config);
        archive
    }

    /// Makes an image of busybox under a name, as the owner of the machine would.
    pub fn import(&self, tag: &str) {
        let archive = self.archive_of("import", &serde_json::json!({ "Labels": { "tag": tag } }));
        let said = self.run(&["load", "--quiet", "--input", &archive.to_string_lossy()]);
        let loaded = said.rsplit(' ').next().unwrap();
        self.run(&["tag", loaded, tag]);
    }

    /// How many containers there are, running or not.
    pub fn containers(&self) -> usize {
        self.run(&["ps", "--all", "--quiet"]).lines().count()
    }
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new("podman");
    // What watches over containers leaves files where it was started.
    command.current_dir(folder);
    let at = |name: &str| folder.join(name);
    command.env("CONTAINERS_CONF", at("containers.conf")).env("CONTAINERS_REGISTRIES_CONF", at("registries.conf"));
    command.arg("--root").arg(at("root")).arg("--runroot").arg(at("runroot")).arg("--tmpdir").arg(at("tmp"));
    command.args(["--storage-driver", "overlay", "--log-level", "error"]);
    command
}

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = command(self.folder.path()).args(["rm", "--all", "--force", "--time", "0"]).output();
        let _ = command(self.folder.path()).args(["network", "prune", "--force"]).output();
        let _ = self.service.kill();
        let _ = self.service.wait();
        // Layers are mounted below the folder, which could not be removed then.
        let _ = Command::new("umount")
            .arg("--recursive")
            .arg("--quiet")
            .arg(self.folder.path().join("root/overlay"))
            .output();
    }
}
