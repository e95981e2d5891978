//! The processes of a job under bubblewrap: starting them so that they die with this process, and ending them.

use crate::cgroup::Freezer;
use crate::process_tree::{descendants, signal, stands_still};
use crate::supervise::Cage;
use crate::{Error, Helper};
use rustix::process::Signal;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::thread;
use std::time::Duration;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::oneshot;

/// So often it is looked whether a job stands still. Stopping takes as long as what its processes ask of the kernel.
const FREEZE_ROUNDS_MAX: u32 = 200;
const FREEZE_PAUSE: Duration = Duration::from_millis(10);
/// After so many rounds, processes that were stopped one by one are let go for a moment.
const LET_GO_ROUNDS: u32 = 5;

/// A job's first process outside its sandbox.
pub(super) struct Child {
    pub(super) process: i32,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
    /// What the helper reads its orders from and reports to.
    pub(super) channel: tokio::net::UnixStream,
    pub(super) exit: oneshot::Receiver<i32>,
}

/// Starts the helper. The kernel ends a process with the *thread* that started it, so a thread of its own starts each job
/// and stays until the job has ended; one of the runtime's might retire before.
pub(super) async fn spawn(helper: &Helper) -> Result<Child, Error> {
    let failed = |error| Error::system("starting the helper of a job", error);
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    ours.set_nonblocking(true).map_err(failed)?;
    let mut command = helper.command("enter");
    command.stdin(std::os::fd::OwnedFd::from(theirs));
    let (child_sender, child) = oneshot::channel();
    let (exit_sender, exit) = oneshot::channel();
    thread::Builder::new()
        .name("sandboxed job".into())
        .spawn(move || {
            let started = command.spawn();
            // Only the helper holds the other end of the channel from now on.
            drop(command);
            match started {
                Ok(mut child) => {
                    let parts = (child.id(), child.stdout.take(), child.stderr.take());
                    let _ = child_sender.send(Ok(parts));
                    let _ = exit_sender.send(child.wait().map_or(-1, code));
                }
                Err(error) => drop(child_sender.send(Err(error))),
            }
        })
        .map_err(failed)?;
    let gone = || failed(std::io::Error::other("its thread went away"));
    let (process, stdout, stderr) = child.await.map_err(|_| gone())?.map_err(failed)?;
    Ok(Child {
        process: i32::try_from(process).map_err(|_| gone())?,
        stdout: piped(stdout).and_then(ChildStdout::from_std).map_err(failed)?,
        stderr: piped(stderr).and_then(ChildStderr::from_std).map_err(failed)?,
        channel: tokio::net::UnixStream::from_std(ours).map_err(failed)?,
        exit,
    })
}

fn piped<T>(pipe: Option<T>) -> std::io::Result<T> {
    pipe.ok_or_else(|| std::io::Error::other("a pipe is missing"))
}

/// A code in the manner of shells.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// The processes of one job.
#[derive(Debug)]
pub(super) struct ProcessCage {
    pub(super) process: i32,
    pub(super) frozen_by_group: Option<Freezer>,
}

impl ProcessCage {
    /// Stops or continues process by process, and says whether all stand. One that was made while the others were being
    /// stopped shows when they are counted again, and is met by the next round.
    fn signal_all(&self, frozen: bool) -> bool {
        let processes = descendants(self.process);
        signal(&processes, if frozen { Signal::STOP } else { Signal::CONT });
        frozen
            && processes.iter().all(|process| stands_still(*process))
            && descendants(self.process).iter().all(|process| processes.contains(process))
    }
}

impl Cage for ProcessCage {
    /// The first process outside would take all with it, and the first one inside takes no notice; so neither is meant.
    async fn terminate(&self) {
        signal(&descendants(self.process), Signal::TERM);
    }

    async fn kill(&self) {
        signal(&[self.process], Signal::KILL);
    }

    async fn freeze(&self, frozen: bool) -> bool {
        let group = self.frozen_by_group.as_ref().filter(|freezer| freezer.set(frozen).is_ok());
        for round in 1..=FREEZE_ROUNDS_MAX {
            let stands = match group {
                Some(freezer) => freezer.stands(),
                None => self.signal_all(frozen),
            };
            if stands == frozen {
                return true;
            }
            // A process that waits for its child to become another program (vfork) takes no signal, and would wait for a
            // child that was stopped on the way as long as that is.
            if group.is_none() && round.is_multiple_of(LET_GO_ROUNDS) {
                signal(&descendants(self.process), Signal::CONT);
            }
            tokio::time::sleep(FREEZE_PAUSE).await;
        }
        false
    }

    fn first_process(&self) -> Option<i32> {
        Some(self.process)
    }
}
