//! The program that the worker's own binary becomes for a moment: on the way into a sandbox, inside it just before the
//! stranger's program starts, and beside the worker as the watchdog of its containers.
//!
//! `enter` joins the job's groups, gives up root and becomes `bwrap`; `inner` runs inside, locks the door behind itself
//! (limits, Landlock, seccomp) and becomes the program; `watch` waits for the worker's death. All of it is ordinary code
//! in processes of its own, because between `fork` and `exec` of a worker with threads hardly anything is allowed.

pub(crate) mod enter;
pub(crate) mod inner;
mod landlock;
mod seccomp;
pub(crate) mod watch;

use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::os::fd::{BorrowedFd, RawFd};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// How to call the binary so that it runs [`run_helper`] with the arguments that follow.
#[derive(Debug, Clone)]
pub struct Helper {
    /// The binary.
    pub program: PathBuf,
    /// What comes first on its command line, such as a hidden subcommand.
    pub arguments: Vec<String>,
}

impl Helper {
    pub(crate) fn command(&self, role: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .arg(role)
            .env_clear()
            .current_dir("/")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// How much of the wall that Landlock is asked for the kernel enforces around a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Landlock {
    /// All of it.
    All,
    /// What a kernel of its age knows.
    Some,
    /// Nothing: it has no Landlock, or that is switched off.
    None,
}

/// What a helper tells the worker while a job starts.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) enum Report {
    /// The door is locked; the program starts with the next step.
    Ready {
        /// What Landlock enforces of what was asked.
        landlock: Landlock,
    },
    /// Something on the way failed.
    Failed { doing: String, error: String },
    /// The program itself cannot be started.
    NoProgram { error: String },
}

/// Becomes what the arguments say. A binary calls it when it is called as [`Helper`] says, with what follows there.
#[must_use]
pub fn run_helper(arguments: &[String]) -> ExitCode {
    match arguments {
        [role] if role == "enter" => enter::run(),
        [role, rest @ ..] if role == "inner" => inner::run(rest),
        [role, host, run] if role == "watch" => watch::run(host, run),
        _ => {
            let _ = writeln!(io::stderr(), "this is started by a worker, not by hand");
            ExitCode::from(2)
        }
    }
}

/// What failed on the way, told to the worker.
type Step<T> = Result<T, (String, io::Error)>;

trait Doing<T> {
    fn doing(self, what: &str) -> Step<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: &str) -> Step<T> {
        self.map_err(|error| (what.to_owned(), error.into()))
    }
}

/// Closes all but the standard streams at the next `exec`: a handle that some library of the worker left open would be a
/// way out.
fn close_inherited(keep: &[RawFd]) -> io::Result<()> {
    let open: Vec<RawFd> = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd > 2 && !keep.contains(fd))
        .collect();
    for fd in open {
        // SAFETY: the number was listed as open a moment ago, and this process has one thread. One that is closed by now
        // (the listing's own) is answered with an error, which changes nothing.
        let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
        let _ = rustix::io::fcntl_setfd(borrowed, rustix::io::FdFlags::CLOEXEC);
    }
    Ok(())
}
