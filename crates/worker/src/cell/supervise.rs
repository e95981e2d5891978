//! A program in its cell, from its start to its end: its lines, its time, its checkpoints.
use std::time::{Duration, Instant};

use gleaner_sandbox::{Cause as SandboxCause, Ending, Line, Lines, Running};
use gleaner_wire::Cause;
use tokio::time::{MissedTickBehavior, interval};

use super::save::Saver;
use super::task::Task;
use crate::failure::Failure;
use crate::watch::Interruption;

/// How often it is looked at.
const LOOK_UP: Duration = Duration::from_millis(20);
/// How long its last lines are waited for.
const LAST_LINES_TIME: Duration = Duration::from_secs(2);

/// Watches over a program until nothing of it runs any more. It gets `grace` to save itself when the owner needs the device.
/// `freed` is told as soon as nothing of it runs, before its last lines have come.
pub(super) async fn supervise(
    running: Running,
    mut lines: Lines,
    task: &mut Task<'_>,
    grace: Duration,
    mut saver: Option<&mut Saver>,
    on_line: &mut (dyn FnMut(&Line) + Send),
    freed: &dyn Fn(),
) -> Ending {
    let controls = running.controls();
    let mut ending = Box::pin(running.ending());
    let mut looks = interval(LOOK_UP);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stopped = false;
    let ended = loop {
        tokio::select! {
            Some(line) = lines.next() => heard(&line, task, on_line),
            ended = &mut ending => break ended,
            _ = looks.tick() => {
                task.log.flush_old();
                if !stopped && task.watch.check() == Err(Interruption::Cancelled) {
                    stopped = true;
                    let grace = if task.delivery.is_recalled(task.attempt()) { grace } else { Duration::ZERO };
                    controls.stop(grace).await;
                }
                if let Some(saver) = saver.as_deref_mut().filter(|_| !stopped) {
                    saver.look(Instant::now(), &controls).await;
                }
            }
        }
    };
    freed();
    let rest = async {
        while let Some(line) = lines.next().await {
            heard(&line, task, on_line);
        }
    };
    // Nothing of it runs any more, so there is nobody to hold its lines open for long.
    let _ = tokio::time::timeout(LAST_LINES_TIME, rest).await;
    task.log.flush();
    ended
}

fn heard(line: &Line, task: &mut Task<'_>, on_line: &mut (dyn FnMut(&Line) + Send)) {
    if line.lost > 0 {
        task.log.write(format!("[{} lines came too fast and are lost]\n", line.lost).as_bytes());
    }
    task.log.write(line.text.as_bytes());
    task.log.write(b"\n");
    on_line(line);
}

/// How a program failed; none if it did not.
pub(super) fn failure(ending: &Ending, task: &Task<'_>) -> Option<Failure> {
    let last = task.log.tail();
    let words = |text: String| if last.is_empty() { text } else { format!("{text}; its last words:\n{last}") };
    let (cause, text) = match &ending.cause {
        SandboxCause::Finished => return None,
        SandboxCause::ProgramFault { exit_code } => {
            (Cause::ProgramFault, words(format!("the program ended with code {exit_code}")))
        }
        SandboxCause::OutOfMemory => {
            (Cause::OutOfMemory, words("the program used more memory than needs.memory".to_owned()))
        }
        SandboxCause::TimeUp => (Cause::TimeLimit, words("the program ran past its time limit".to_owned())),
        SandboxCause::DiskFull => {
            (Cause::ProgramFault, words("the program wrote more than output_max, or the disk is full".to_owned()))
        }
        SandboxCause::Stopped => return Some(Failure::new(Cause::RefusedByOwner, "the worker stopped it")),
        SandboxCause::SandboxFault { what, remedy } => {
            tracing::warn!(what, remedy, "a sandbox failed");
            (Cause::DeviceFault, format!("the sandbox failed: {what}"))
        }
    };
    Some(Failure::new(cause, text))
}
