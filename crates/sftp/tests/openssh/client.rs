//! A server for one test, and OpenSSH's own clients that talk to it.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gleaner_sftp::{Account, Config, HostKey, PublicKey, Quiet, Server, Users};
use tokio::runtime::Runtime;

/// No state that a test waits for takes longer than this on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Two users, each with a key and a password.
struct Book {
    keys: [(&'static str, PublicKey); 2],
    bytes_max: u64,
}

impl Book {
    fn account(&self, user: &str) -> Option<Account> {
        Some(Account { folder: format!("{user}-inbox"), bytes_max: self.bytes_max })
    }
}

impl Users for Book {
    fn password(&self, user: &str, password: &str) -> Option<Account> {
        (user == "ada" && password == "correct horse").then(|| self.account(user)).flatten()
    }

    fn public_key(&self, user: &str, key: &PublicKey) -> Option<Account> {
        let is_known = |(name, known): &(&str, PublicKey)| *name == user && known.key_data() == key.key_data();
        self.keys.iter().any(is_known).then(|| self.account(user)).flatten()
    }
}

pub struct Hub {
    runtime: Runtime,
    server: Option<Server>,
    port: u16,
    folder: tempfile::TempDir,
}

fn keygen(path: &Path) -> PublicKey {
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status();
    assert!(made.expect("ssh-keygen is missing: scripts/test installs Debian's openssh-client").success());
    let public = std::fs::read_to_string(path.with_extension("pub")).expect("it was made");
    PublicKey::from_openssh(&public).expect("it is a key")
}

impl Hub {
    pub fn start() -> Self {
        Self::with_room(u64::MAX)
    }

    /// A hub whose users may upload so many bytes each.
    pub fn with_room(bytes_max: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keys = ["ada", "bob"].map(|user| (user, keygen(&folder.path().join(user))));
        keygen(&folder.path().join("stranger"));
        let host_key = HostKey::load_or_make(&folder.path().join("host_key")).expect("it is made");
        let public = host_key.public_line();
        let config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            host_key,
            root: folder.path().join("root"),
            bytes_max: u64::MAX,
            users: Arc::new(Book { keys, bytes_max }),
        };
        let runtime = Runtime::new().expect("a runtime");
        let server = runtime.block_on(Server::start(config)).expect("it starts");
        let port = server.address().port();
        let known = format!("[127.0.0.1]:{port} {public}\n");
        std::fs::write(folder.path().join("known_hosts"), known).expect("the folder is ours");
        std::fs::write(folder.path().join("root/secret"), "of the hub").expect("the folder is ours");
        Self { runtime, server: Some(server), port, folder }
    }

    /// Where the test keeps its files.
    pub fn local(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join("local").join(path)
    }

    /// Where the hub keeps what a user uploaded.
    pub fn inbox(&self, user: &str) -> PathBuf {
        self.folder.path().join("root").join(format!("{user}-inbox"))
    }

    fn options(&self, key: &str) -> Vec<OsString> {
        let path = |name: &str| self.folder.path().join(name).into_os_string();
        let mut options: Vec<OsString> = vec!["-F".into(), "/dev/null".into(), "-i".into(), path(key)];
        let mut known = OsString::from("UserKnownHostsFile=");
        known.push(path("known_hosts"));
        for option in ["IdentitiesOnly=yes", "IdentityAgent=none", "StrictHostKeyChecking=yes", "LogLevel=ERROR"] {
            options.extend(["-o".into(), option.into()]);
        }
        options.extend(["-o".into(), known, "-o".into(), format!("Port={}", self.port).into()]);
        options
    }

    /// A command of OpenSSH that logs in by a key.
    pub fn command(&self, program: &str, key: &str) -> Command {
        let local = self.local("");
        std::fs::create_dir_all(&local).expect("the folder is ours");
        let mut command = Command::new(program);
        command.args(self.options(key)).current_dir(local).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn batch(&self, mut command: Command, user: &str, batch: &[u8]) -> Child {
        command.args(["-b", "-"]).arg(format!("{user}@127.0.0.1")).stdin(Stdio::piped());
        let mut child = command.spawn().expect("sftp is missing: scripts/test installs Debian's openssh-client");
        // One that was refused may have ended before it has read its batch.
        let written = child.stdin.take().expect("it is piped").write_all(batch);
        assert!(written.is_ok() || written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe));
        child
    }

    /// Starts OpenSSH's `sftp` with a batch of commands.
    pub fn spawn(&self, user: &str, options: &[&str], batch: impl AsRef<[u8]>) -> Child {
        let mut command = self.command("sftp", user);
        command.args(options);
        self.batch(command, user, batch.as_ref())
    }

    /// Runs a batch of commands to its end.
    pub fn sftp(&self, user: &str, batch: impl AsRef<[u8]>) -> Output {
        self.spawn(user, &[], batch).wait_with_output().expect("it ends")
    }

    /// Runs a batch of commands that has to succeed, and gives what it printed.
    pub fn succeed(&self, user: &str, batch: impl AsRef<[u8]>) -> String {
        let output = self.sftp(user, batch);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a batch of commands that has to fail, and gives what it complained of.
    pub fn fail(&self, user: &str, batch: impl AsRef<[u8]>) -> String {
        let output = self.sftp(user, batch.as_ref());
        assert!(!output.status.success(), "{} succeeded", String::from_utf8_lossy(batch.as_ref()));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Logs in by somebody's key, and lists the folder.
    pub fn login_by_key(&self, user: &str, key: &str) -> Output {
        let command = self.command("sftp", key);
        self.batch(command, user, b"ls\n").wait_with_output().expect("it ends")
    }

    /// Logs in by a password, and lists the folder.
    pub fn login_by_password(&self, user: &str, password: &str) -> Output {
        // Not written here: a file that was just written cannot be run as long as any process that another thread is
        // starting has it open too.
        let sources = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo tells tests where their package is");
        let asked = Path::new(&sources).join("tests/openssh/askpass");
        let mut command = self.command("sftp", "ada");
        command.env("SSH_ASKPASS", asked).env("SSH_ASKPASS_REQUIRE", "force").env("PASSWORD", password);
        for option in ["BatchMode=no", "PreferredAuthentications=password", "NumberOfPasswordPrompts=1"] {
            command.args(["-o", option]);
        }
        self.batch(command, user, b"ls\n").wait_with_output().expect("it ends")
    }

    /// Waits for the next quiet change.
    pub fn quiet(&self) -> Quiet {
        let changes = self.server.as_ref().expect("it runs").changes();
        let quiet = async { tokio::time::timeout(PATIENCE, changes.next_quiet(Duration::from_millis(50))).await };
        let quiet = self.runtime.block_on(quiet).expect("something changed");
        changes.heard(&quiet, || {});
        quiet
    }

    pub fn stop(&mut self) {
        self.runtime.block_on(self.server.take().expect("it runs").stop());
    }
}

/// Looks again and again until something is so.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "it never came to this: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Bytes that do not compress, the same for the same seed.
pub fn noise(mut seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend(((seed >> 29) ^ seed).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Everything in a folder: paths, permissions, times, and contents or targets.
pub fn contents(folder: &Path) -> Vec<(OsString, u32, Option<i64>, Vec<u8>)> {
    use std::os::unix::fs::MetadataExt;
    let mut found = Vec::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(path) = left.pop() {
        let metadata = path.symlink_metadata().expect("it was listed");
        let name = path.strip_prefix(folder).expect("it is inside").as_os_str().to_os_string();
        let (time, bytes) = if metadata.is_dir() {
            left.extend(std::fs::read_dir(&path).expect("it opens").map(|entry| entry.expect("it is read").path()));
            (None, Vec::new())
        } else {
            (Some(metadata.mtime()), std::fs::read(&path).expect("it opens"))
        };
        found.push((name, metadata.mode() & 0o777, time, bytes));
    }
    found.sort();
    found
}

/// A name that is no UTF-8.
pub fn odd_name() -> &'static OsStr {
    OsStr::from_bytes(b"na\xefve \xff.txt")
}
