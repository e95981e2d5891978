//! A command as data, and running it within its time.
//!
//! [`run`] is no sandbox: it is for a requester's own scenes and for tests. A worker hands the [`Invocation`] to its
//! sandbox instead.
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crate::Fault;

/// The most bytes of a line that are kept.
pub const LINE_BYTES_MAX: usize = 4096;
/// Lines that may wait until somebody looks at them; the command waits beyond that.
const LINES_WAITING_MAX: usize = 256;
const LAST_LINES: usize = 8;

/// A command: what to start and with what. It needs no file but its program's own and those of its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// All of its environment; nothing else is handed on.
    pub environment: BTreeMap<String, String>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// By us, because this time was up.
    TimeUp(Duration),
    /// By the system or the sandbox, because it took more memory than it may.
    OutOfMemory,
}

/// What shells and sandboxes add to a signal's number to make a code of it.
const SIGNAL_CODE: i32 = 128;
/// The highest signal of Linux.
const SIGNAL_MAX: i32 = 64;

impl Exit {
    /// From a code in the manner of shells: 128 and the signal's number if a signal ended it.
    pub fn of_code(code: i32) -> Self {
        match code - SIGNAL_CODE {
            signal @ 1..=SIGNAL_MAX => Self::Signal(signal),
            _ => Self::Code(code),
        }
    }
}

/// How a command ended, and its last words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How.
    pub exit: Exit,
    /// The last lines it wrote, oldest first.
    pub last: Vec<String>,
}

/// Runs a command in a folder, with everything it starts in one process group that is gone when this returns. Both of
/// its outputs go to `on_line`, line by line.
pub fn run(
    invocation: &Invocation,
    folder: &Path,
    time_max: Duration,
    on_line: &mut dyn FnMut(&str),
) -> Result<Ending, Fault> {
    let started = Instant::now();
    let what = format!("starting {}", invocation.program.display());
    let (mut child, reader) = start(invocation, folder).map_err(Fault::system(what))?;
    let (sender, lines) = sync_channel(LINES_WAITING_MAX);
    let pump = std::thread::spawn(move || read_lines(reader, &sender));
    let mut last = VecDeque::new();
    let in_time = listen(&lines, started + time_max, &mut |line| {
        if last.len() == LAST_LINES {
            last.pop_front();
        }
        on_line(&line);
        last.push_back(line);
    });
    // Also after a good end: whatever it has left behind goes as well.
    end_group(&child);
    drop(lines);
    let status = child.wait().map_err(Fault::system("waiting for the engine"))?;
    let _ = pump.join();
    let exit = match (in_time, status.code(), status.signal()) {
        (false, _, _) => Exit::TimeUp(time_max),
        (true, Some(code), _) => Exit::of_code(code),
        (true, None, signal) => Exit::Signal(signal.unwrap_or_default()),
    };
    Ok(Ending { exit, last: last.into() })
}

fn start(invocation: &Invocation, folder: &Path) -> io::Result<(Child, io::PipeReader)> {
    let (reader, writer) = io::pipe()?;
    let child = Command::new(&invocation.program)
        .args(&invocation.arguments)
        .env_clear()
        .envs(&invocation.environment)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    Ok((child, reader))
}

fn end_group(child: &Child) {
    let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    // An error says that nobody is left.
    let _ = kill_process_group(group, Signal::KILL);
}

/// Takes lines until the command closes its outputs; false if the time is up first.
fn listen(lines: &Receiver<String>, deadline: Instant, on_line: &mut dyn FnMut(String)) -> bool {
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) if Instant::now() < deadline => on_line(line),
            Err(RecvTimeoutError::Disconnected) => return true,
            Ok(_) | Err(RecvTimeoutError::Timeout) => return false,
        }
    }
}

fn read_lines(mut reader: impl Read, lines: &SyncSender<String>) {
    let mut buffer = [0; 8192];
    let mut line = Vec::new();
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        for byte in &buffer[..count] {
            if matches!(byte, b'\n' | b'\r') {
                if !line.is_empty() && lines.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
                line.clear();
            } else if line.len() < LINE_BYTES_MAX {
                line.push(*byte);
            }
        }
    }
    if !line.is_empty() {
        let _ = lines.send(String::from_utf8_lossy(&line).into_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, pidfd_open};

    fn shell(script: &str) -> Invocation {
        Invocation {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: BTreeMap::new(),
        }
    }

    fn ending(script: &str, time_max: Duration) -> (Ending, Vec<String>) {
        let mut lines = Vec::new();
        let ending =
            run(&shell(script), Path::new("/"), time_max, &mut |line| lines.push(line.into())).expect("starts");
        (ending, lines)
    }

    #[test]
    fn lines_of_both_outputs_and_the_code_arrive() {
        let (ending, lines) = ending("echo one; echo two >&2; exit 3", Duration::from_secs(60));
        assert_eq!(ending.exit, Exit::Code(3));
        assert_eq!(lines, ["one", "two"]);
        assert_eq!(ending.last, lines);
    }

    #[test]
    fn what_runs_past_its_time_is_ended_with_its_children() {
        let (ending, lines) = ending("sleep 600 & echo $!; wait", Duration::from_secs(1));
        assert_eq!(ending.exit, Exit::TimeUp(Duration::from_secs(1)));
        let child = Pid::from_raw(lines[0].trim().parse().expect("a number")).expect("not zero");
        // It may be on its way out for a moment; if it were not, this would wait for its ten minutes.
        if let Ok(child) = pidfd_open(child, PidfdFlags::empty()) {
            let minute = Timespec { tv_sec: 60, tv_nsec: 0 };
            let gone = poll(&mut [PollFd::new(&child, PollFlags::IN)], Some(&minute)).expect("waits");
            assert_eq!(gone, 1, "the child is still there");
        }
    }

    #[test]
    fn a_signal_is_told_apart_from_a_code() {
        assert_eq!(ending("kill -SEGV $$", Duration::from_secs(60)).0.exit, Exit::Signal(11));
    }

    #[test]
    fn a_code_that_stands_for_a_signal_is_one() {
        assert_eq!(ending("exit 139", Duration::from_secs(60)).0.exit, Exit::Signal(11));
        assert_eq!((Exit::of_code(128), Exit::of_code(255)), (Exit::Code(128), Exit::Code(255)));
    }

    #[test]
    fn an_endless_line_is_cut() {
        let (_, lines) = ending("head -c 100000 /dev/zero | tr '\\0' a", Duration::from_secs(60));
        assert_eq!(lines.iter().map(String::len).collect::<Vec<_>>(), [LINE_BYTES_MAX]);
    }

    #[test]
    fn nothing_of_the_environment_is_handed_on() {
        let (_, lines) = ending("/usr/bin/env", Duration::from_secs(60));
        assert!(!lines.iter().any(|line| line.starts_with("HOME=") || line.starts_with("CARGO")), "{lines:?}");
    }
}
