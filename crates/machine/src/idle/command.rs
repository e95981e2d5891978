//! The process of an idle command, with everything that it starts.
//!
//! Two processes share a group. The keeper waits for the end of a pipe whose other end only this process holds; it ends
//! when we do, however we end, and takes the group with it. (The kernel's own signal at the death of a parent is sent when
//! the starting *thread* ends, and reaches the first process alone.) The keeper leads the group, so the number of the
//! group cannot become another's before we have collected it.
use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{self, Child, ChildStdin, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::Process;
use super::members::{MARK, of_group, of_mark, signal_marked};
use crate::probe::Tree;

const SHELL: &str = "/bin/sh";
/// Waits for the end of its input, and ends its group.
const KEEPER: &str = "trap '' HUP INT TERM; read -r _; kill -KILL 0";
/// How much is kept of what a command complains about.
const TAIL_BYTES_MAX: usize = 2048;
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long its last words may take to arrive; something that escaped may hold their pipe for ever.
const LISTEN_TIME_MAX: Duration = Duration::from_millis(100);
/// How long a process that was ended by force may take to disappear before it is given up.
const COLLECT_TIME_MAX: Duration = Duration::from_secs(2);

/// Where a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The folder it starts in.
    pub dir: PathBuf,
    /// What its processes carry in their environment, so that those that leave the group are found again. One for each
    /// worker, and the same whenever that worker starts: its folder.
    pub mark: String,
}

/// Why a command cannot be run, or got rid of.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be started.
    #[error("cannot start the idle command")]
    Start(#[source] io::Error),
    /// It is still there although it was ended.
    #[error("the idle command was ended and is still there: processes {0:?}")]
    StillThere(BTreeSet<u32>),
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The last that it complained about.
    pub said: String,
}

/// A command that was started. Dropping it ends it and everything that it started.
#[derive(Debug)]
pub struct Command {
    line: String,
    mark: String,
    tree: Tree,
    keeper: Child,
    /// As long as this is open, we live.
    _alive: ChildStdin,
    group: Pid,
    child: Child,
    status: Option<ExitStatus>,
    said: Arc<Mutex<VecDeque<u8>>>,
    listener: JoinHandle<()>,
}

impl Command {
    /// Starts a command line, as a shell reads it. It gets our environment, no input, and nobody reads its output.
    pub fn start(line: &str, place: &Place) -> Result<Self, Error> {
        let mut keeper = process::Command::new(SHELL)
            .args(["-c", KEEPER])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(Error::Start)?;
        let alive = keeper.stdin.take().expect("its input was asked for");
        match spawn(line, place, &keeper) {
            Ok(mut child) => {
                let said = Arc::new(Mutex::new(VecDeque::new()));
                let listener = listen(&mut child, said.clone());
                let (line, mark, tree) = (line.to_owned(), place.mark.clone(), Tree::default());
                let group = Pid::from_child(&keeper);
                Ok(Self { line, mark, tree, keeper, _alive: alive, group, child, status: None, said, listener })
            }
            Err(error) => {
                drop(alive);
                // Its input has ended, so it ends, and there is nothing to learn from how.
                let _ = keeper.wait();
                Err(Error::Start(error))
            }
        }
    }

    /// The command line.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// What is left of it. Once that is nothing, it stays so.
    pub fn process(&mut self) -> Process {
        if self.status.is_none() {
            // An error means that there is no such child any more.
            self.status = self.child.try_wait().unwrap_or(Some(ExitStatus::from_raw(0)));
        }
        match self.status {
            None => Process::There,
            Some(_) if self.left().is_empty() => Process::Gone,
            Some(_) => Process::Left,
        }
    }

    /// The processes of it and of its keeper, which are ours and nobody's who uses the device.
    pub fn pids(&self) -> BTreeSet<u32> {
        let mut pids = of_group(&self.tree, self.keeper.id());
        pids.extend(of_mark(&self.tree, &self.mark));
        pids
    }

    /// Asks all of it to end.
    pub fn ask(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all of it.
    pub fn end_now(&self) {
        self.signal(Signal::KILL);
    }

    /// How it ended, if it did.
    pub fn ended(&self) -> Option<Ended> {
        let status = self.status?;
        let end = Instant::now() + LISTEN_TIME_MAX;
        while !self.listener.is_finished() && Instant::now() < end {
            thread::sleep(LOOK_EVERY);
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = said.iter().copied().collect();
        let said = String::from_utf8_lossy(&bytes).trim().to_owned();
        Some(Ended { code: status.code(), signal: status.signal(), said })
    }

    fn left(&self) -> BTreeSet<u32> {
        let mut pids = self.pids();
        pids.remove(&self.keeper.id());
        pids
    }

    fn signal(&self, signal: Signal) {
        // A group that is not there needs no signal.
        let _ = kill_process_group(self.group, signal);
        signal_marked(&self.tree, &self.mark, signal);
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        self.end_now();
        let end = Instant::now() + COLLECT_TIME_MAX;
        for child in [&mut self.child, &mut self.keeper] {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
                thread::sleep(LOOK_EVERY);
            }
        }
    }
}

fn spawn(line: &str, place: &Place, keeper: &Child) -> io::Result<Child> {
    let group = i32::try_from(keeper.id()).map_err(io::Error::other)?;
    process::Command::new(SHELL)
        .args(["-c", line])
        .current_dir(&place.dir)
        .env(MARK, &place.mark)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(group)
        .spawn()
}

/// Keeps the end of what a command complains about, until nobody can write to it any more.
fn listen(child: &mut Child, said: Arc<Mutex<VecDeque<u8>>>) -> JoinHandle<()> {
    let mut errors = child.stderr.take().expect("its errors were asked for");
    thread::spawn(move || {
        let mut bytes = [0; 512];
        while let Ok(count @ 1..) = errors.read(&mut bytes) {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.extend(&bytes[..count]);
            let excess = said.len().saturating_sub(TAIL_BYTES_MAX);
            said.drain(..excess);
        }
    })
}
