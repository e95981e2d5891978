//! Inside the sandbox: locks the door and becomes the stranger's program.

use super::{Doing, Report, Step, close_inherited, landlock, seccomp};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

const FILES_OPEN_MAX: u64 = 4096;

/// What `inner` is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Locks {
    /// The longest file that may be written.
    pub(crate) file_bytes: u64,
    /// How many processes there may be, where no group counts them.
    pub(crate) processes: Option<u64>,
    /// Folders that may be read beside the usual ones.
    pub(crate) readable: Vec<String>,
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
}

pub(super) fn run(arguments: &[String]) -> ExitCode {
    let [locks, channel] = arguments else { return ExitCode::from(2) };
    let Ok(number) = channel.parse::<RawFd>() else { return ExitCode::from(2) };
    // SAFETY: `enter` opened this handle for us and told its number; nothing else in this process owns it.
    let channel = UnixStream::from(unsafe { OwnedFd::from_raw_fd(number) });
    let report = match start(locks, &channel) {
        Ok(error) => {
            let _ = writeln!(io::stderr(), "the program cannot be started: {error}");
            Report::NoProgram { error: error.to_string() }
        }
        Err((doing, error)) => Report::Failed { doing, error: error.to_string() },
    };
    tell(&channel, &report);
    ExitCode::from(127)
}

fn tell(channel: &UnixStream, report: &Report) {
    let mut text = serde_json::to_vec(report).unwrap_or_default();
    text.push(b'\n');
    let _ = (&*channel).write_all(&text);
}

/// Returns only if the program cannot be started.
fn start(locks: &str, channel: &UnixStream) -> Step<io::Error> {
    let locks: Locks = serde_json::from_str(locks).map_err(io::Error::from).doing("reading the limits")?;
    close_inherited(&[]).doing("closing what was inherited")?;
    limit(&locks).doing("setting limits")?;
    let landlock = landlock::lock(&locks.readable).map_err(io::Error::other).doing("locking by Landlock")?;
    let (program, arguments) =
        locks.command.split_first().ok_or_else(|| io::Error::other("no program")).doing("reading the limits")?;
    let mut command = Command::new(program);
    command.args(arguments);
    // Said before the last lock, so that nothing the program does can pass for it.
    tell(channel, &Report::Ready { landlock });
    seccomp::lock().map_err(io::Error::other).doing("locking by seccomp")?;
    Ok(command.exec())
}

fn limit(locks: &Locks) -> io::Result<()> {
    lower(Resource::Core, 0)?;
    lower(Resource::Nofile, FILES_OPEN_MAX)?;
    lower(Resource::Fsize, locks.file_bytes)?;
    lower(Resource::Msgqueue, 1 << 20)?;
    locks.processes.map_or(Ok(()), |processes| lower(Resource::Nproc, processes))
}

fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let now = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Some(to.min(now));
    Ok(setrlimit(resource, Rlimit { current: limit, maximum: limit })?)
}
