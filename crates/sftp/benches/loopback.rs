//! Uploads and downloads over loopback by OpenSSH's `sftp`, from this server and from OpenSSH's own, in turns.
//!
//! `cargo bench -p gleaner-sftp [-- --sshd PATH]`; needs Debian's openssh-client and openssh-server. What counts are the
//! ratios: both servers have the same client, files, disk and neighbours.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fmt::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gleaner_sftp::{Account, Config, HostKey, PublicKey, Server, Users};

const LARGE_BYTES: usize = 256 * 1024 * 1024;
const SMALL_FILES: usize = 1000;
const ROUNDS: usize = 3;
const CIPHERS: [&str; 2] = ["chacha20-poly1305@openssh.com", "aes128-gcm@openssh.com"];

struct Anybody;

impl Users for Anybody {
    fn password(&self, _user: &str, _password: &str) -> Option<Account> {
        None
    }

    fn public_key(&self, _user: &str, _key: &PublicKey) -> Option<Account> {
        Some(Account { folder: "inbox".into(), bytes_max: u64::MAX })
    }
}

/// Ends OpenSSH's server with the benchmark.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn keygen(path: &Path) {
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status();
    assert!(made.expect("ssh-keygen is missing: install Debian's openssh-client").success());
}

fn start_peer(folder: &Path, sshd: &Path, port: u16) -> Peer {
    keygen(&folder.join("peer_key"));
    let mut config = String::new();
    for (option, value) in [("HostKey", "peer_key"), ("AuthorizedKeysFile", "key.pub"), ("PidFile", "peer.pid")] {
        writeln!(config, "{option} {}", folder.join(value).display()).expect("a string takes it");
    }
    writeln!(config, "ListenAddress 127.0.0.1:{port}\nUsePAM no\nStrictModes no\nPermitRootLogin yes")
        .and_then(|()| writeln!(config, "Subsystem sftp internal-sftp"))
        .expect("a string takes it");
    std::fs::write(folder.join("sshd_config"), config).expect("the folder is ours");
    // Where it wants to be rooted when it is started by root; elsewhere it does not care.
    drop(std::fs::create_dir("/run/sshd"));
    let mut command = Command::new(sshd);
    command.args(["-D", "-e", "-f"]).arg(folder.join("sshd_config")).stderr(Stdio::null());
    let peer = Peer(command.spawn().expect("sshd is missing: install Debian's openssh-server, or name it with --sshd"));
    let end = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < end, "sshd does not listen; run it by hand with -e to see why");
        std::thread::sleep(Duration::from_millis(50));
    }
    peer
}

/// The seconds that `sftp` takes for a batch of commands.
fn run(folder: &Path, port: u16, cipher: &str, batch: &str) -> f64 {
    std::fs::write(folder.join("batch"), batch).expect("the folder is ours");
    let user = String::from_utf8(Command::new("id").arg("-un").output().expect("id runs").stdout).expect("a name");
    let mut command = Command::new("sftp");
    command.args(["-q", "-F", "/dev/null", "-i"]).arg(folder.join("key")).current_dir(folder);
    for option in ["IdentitiesOnly=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"] {
        command.args(["-o", option]);
    }
    command.args(["-o", &format!("Ciphers={cipher}"), "-P", &port.to_string(), "-b", "batch"]);
    command.arg(format!("{}@127.0.0.1", user.trim())).stdout(Stdio::null());
    let start = Instant::now();
    assert!(command.status().expect("sftp is missing: install Debian's openssh-client").success(), "{batch}");
    start.elapsed().as_secs_f64()
}

/// The least seconds that each server takes for the same batch, run in turns.
fn compare(folder: &Path, ports: [u16; 2], cipher: &str, batches: [&str; 2]) -> [f64; 2] {
    let mut least = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        for server in 0..2 {
            least[server] = least[server].min(run(folder, ports[server], cipher, batches[server]));
        }
    }
    least
}

fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes).expect("the system has random bytes");
    bytes
}

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--sshd").skip(1);
    let sshd = PathBuf::from(arguments.next().unwrap_or_else(|| "/usr/sbin/sshd".into()));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    keygen(&folder.join("key"));
    std::fs::write(folder.join("large"), noise(LARGE_BYTES)).expect("there is room");
    std::fs::create_dir_all(folder.join("small")).expect("the folder is ours");
    for file in 0..SMALL_FILES {
        std::fs::write(folder.join(format!("small/{file}")), noise(4096)).expect("there is room");
    }

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        host_key: HostKey::load_or_make(&folder.join("host_key")).expect("it is made"),
        root: folder.join("root"),
        bytes_max: u64::MAX,
        users: Arc::new(Anybody),
    };
    let server = runtime.block_on(Server::start(config)).expect("it starts");
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    let peer = start_peer(folder, &sshd, free.port());
    std::fs::create_dir(folder.join("peer")).expect("the folder is ours");
    let at_peer = folder.join("peer").display().to_string();

    let ports = [server.address().port(), free.port()];
    println!("{:<24} {:<30} {:>10} {:>10} {:>8}", "", "cipher", "gleaner s", "openssh s", "ratio");
    for cipher in CIPHERS {
        let rows = [
            ("put 256 MiB", "put large /large".to_string(), format!("put large {at_peer}/large")),
            ("get 256 MiB", "get /large back".to_string(), format!("get {at_peer}/large back")),
            ("put 1000 × 4 KiB", "put -r small /".to_string(), format!("put -r small {at_peer}/")),
        ];
        for (what, ours, theirs) in rows {
            let [ours, theirs] = compare(folder, ports, cipher, [&ours, &theirs]);
            println!("{what:<24} {cipher:<30} {ours:>10.2} {theirs:>10.2} {:>8.2}", ours / theirs);
        }
    }
    drop(peer);
    runtime.block_on(server.stop());
}
