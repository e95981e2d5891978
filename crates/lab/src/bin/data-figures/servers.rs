//! The servers that the tools talk to, each set up as its package does it, with keys of its own. curl talks to nginx, which
//! takes what is put and gives files, with TLS as Debian's package has it.
use super::tool::Tool;
use anyhow::{Context, Result, bail};
use gleaner_lab::{Machine, Process};
use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const LOG: &str = "server.log";
const TRIES: u32 = 2000;
const SESSION_TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// A server and all that it has started. They end together when this is dropped, sessions that still wait for a lost line
/// as well: they have a space of process numbers of their own, which ends with its first process.
pub struct Server {
    holder: Option<Process>,
    process: u32,
}

impl Server {
    /// The number of the server's process.
    pub fn id(&self) -> u32 {
        self.process
    }

    /// Waits a moment for the end of what it has started, whose processor time it knows only then.
    pub fn wait_for_sessions(&self) {
        for _ in 0..SESSION_TRIES {
            match only_child(self.process) {
                Some(_) => std::thread::sleep(PAUSE),
                None => return,
            }
        }
    }

    fn is_running(&mut self) -> bool {
        self.holder.as_mut().is_some_and(|holder| holder.is_running().unwrap_or(false))
    }

    fn start(machine: &Machine, command: &Command, folder: &Path) -> Result<Self> {
        let log = fs::File::create(folder.join(LOG))?;
        let mut held = Command::new("unshare");
        held.args(["--pid", "--fork", "--kill-child"]).arg(command.get_program()).args(command.get_args());
        held.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut holder = machine.start(held).context("starting unshare (Debian: util-linux)")?;
        let holders = holder.id();
        for _ in 0..TRIES {
            // Until it is what it was told to become, the child is still the same program as its parent.
            match only_child(holders).filter(|child| program(*child) != program(holders)) {
                Some(process) => return Ok(Self { holder: Some(holder), process }),
                None if holder.is_running()? => std::thread::sleep(PAUSE),
                None => bail!("a server ended at once: {}", log_of(folder)),
            }
        }
        bail!("a server does not start: {}", log_of(folder))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.holder.take());
        // Nothing is written any more when this returns.
        for _ in 0..TRIES {
            match program(self.process) {
                Some(_) => std::thread::sleep(PAUSE),
                None => return,
            }
        }
    }
}

fn only_child(process: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

fn program(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

/// What the server of this folder has written.
pub fn log_of(folder: &Path) -> String {
    [LOG, "nginx.log"].iter().map(|name| fs::read_to_string(folder.join(name)).unwrap_or_default()).collect()
}

/// Starts the server of a tool, and waits until it listens.
pub fn start(tool: Tool, machine: &Machine, address: Ipv4Addr, folder: &Path, product: &Path) -> Result<Server> {
    let (command, port) = match tool {
        Tool::Gleaner => (hub(product, address, folder), Some(7700)),
        Tool::RsyncSsh | Tool::Scp => (sshd(folder)?, Some(2222)),
        Tool::RsyncPlain => (rsyncd(folder)?, Some(8873)),
        Tool::Curl => (nginx(folder)?, Some(8443)),
        Tool::Stream => (stream(address, folder)?, None),
    };
    let mut server = Server::start(machine, &command, folder)?;
    for _ in 0..TRIES {
        if !server.is_running() {
            bail!("{} ended: {}", tool.title(), log_of(folder));
        }
        let listens = match port {
            Some(port) => machine.inside(move || TcpStream::connect((address, port))).is_ok(),
            // It speaks UDP, and says when it can be reached.
            None => log_of(folder).contains(super::stream::READY),
        };
        if listens {
            return Ok(server);
        }
        std::thread::sleep(PAUSE);
    }
    bail!("{} does not listen: {}", tool.title(), log_of(folder))
}

fn hub(product: &Path, address: Ipv4Addr, folder: &Path) -> Command {
    let mut command = Command::new(product);
    command.args(["hub", "--chain", "none", "--allow-remote", "--listen", &format!("{address}:7700"), "--dir"]);
    command.arg(folder.join("hub"));
    command
}

fn make(program: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new(program).args(arguments).output().with_context(|| format!("starting {program}"))?;
    if !output.status.success() {
        bail!("{program}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn sshd(folder: &Path) -> Result<Command> {
    let at = folder.display();
    for name in ["key", "host"] {
        make("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &format!("{at}/{name}")])?;
    }
    fs::create_dir_all("/run/sshd")?;
    // Another home keeps what the user's own shell does at each start out of the figures.
    let settings = format!(
        "Port 2222\nHostKey {at}/host\nAuthorizedKeysFile {at}/key.pub\nStrictModes no\nUsePAM no\nSetEnv HOME={at}\n\
         PermitRootLogin yes\nPidFile none\nSubsystem sftp /usr/lib/openssh/sftp-server\n"
    );
    fs::write(folder.join("sshd.conf"), settings)?;
    let mut command = Command::new("/usr/sbin/sshd");
    command.args(["-D", "-e", "-f", &format!("{at}/sshd.conf")]);
    Ok(command)
}

fn rsyncd(folder: &Path) -> Result<Command> {
    let at = folder.display();
    let settings = format!("use chroot = no\nuid = root\ngid = root\n[served]\npath = {at}/served\nread only = no\n");
    fs::write(folder.join("rsyncd.conf"), settings)?;
    let mut command = Command::new("rsync");
    command.args(["--daemon", "--no-detach", "--port=8873", &format!("--config={at}/rsyncd.conf")]);
    Ok(command)
}

fn nginx(folder: &Path) -> Result<Command> {
    let at = folder.display();
    let (key, certificate) = (format!("{at}/tls.key"), format!("{at}/tls.crt"));
    let subject = ["-subj", "/CN=figures", "-days", "2"];
    let new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", &key, "-out", &certificate];
    make("openssl", &[&new[..], &subject[..]].concat())?;
    let settings = format!(
        "daemon off; master_process off; user root; pid {at}/nginx.pid; error_log {at}/nginx.log;\n\
         events {{ worker_connections 64; }}\n\
         http {{ access_log off; client_max_body_size 0; sendfile on; client_body_temp_path {at}/body;\n\
         server {{ listen 8443 ssl; ssl_certificate {at}/tls.crt; ssl_certificate_key {at}/tls.key;\n\
         root {at}/served; location / {{ dav_methods PUT; }} }} }}\n"
    );
    fs::write(folder.join("nginx.conf"), settings)?;
    let mut command = Command::new("/usr/sbin/nginx");
    command.args(["-c", &format!("{at}/nginx.conf"), "-p", &at.to_string()]);
    Ok(command)
}

fn stream(address: Ipv4Addr, folder: &Path) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["stream-serve", &format!("{address}:4444")]).arg(folder.join("served/moved"));
    Ok(command)
}
