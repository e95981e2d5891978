//! How a job ended, and why. A cause is what was observed, never what is likely.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a job ended and what it used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Why it ended.
    pub cause: Cause,
    /// What it used.
    pub usage: Usage,
}

/// Why a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The program ended by itself with 0.
    Finished,
    /// The program ended by itself with something else.
    ProgramFault {
        /// Its exit code; 128 and the signal's number if a signal ended it.
        exit_code: i32,
    },
    /// It used more memory than it may: the kernel counted a kill in its group, or the supervisor measured it.
    OutOfMemory,
    /// It ran longer than it may.
    TimeUp,
    /// It left more bytes or files than it may, or the disk below it ran full.
    DiskFull,
    /// The worker stopped it.
    Stopped,
    /// The sandbox could not be built or kept up; the program is not to blame.
    SandboxFault {
        /// What happened.
        what: String,
        /// What the owner can do about it.
        remedy: String,
    },
}

/// What a job used. A figure that nothing measured is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// From start to end, without the time it was frozen.
    pub time: Duration,
    /// Processor time of all its processes.
    pub cpu: Option<Duration>,
    /// The most memory it had at a time.
    pub memory_peak_bytes: Option<u64>,
    /// The most it had in `out` and `checkpoint` when it was looked at.
    pub disk_peak_bytes: u64,
}

/// How a program left, as the back end saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exit {
    /// With this code, in the manner of shells.
    Code(i32),
    /// Killed for its memory, as the container engine says.
    OutOfMemory,
    /// It never ran, or nobody could see how it ended.
    Fault { what: String, remedy: String },
}

/// Why the supervisor killed a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doom {
    TimeUp,
    DiskFull,
    OutOfMemory,
    Stopped,
}

/// The cause, out of what was observed. What the supervisor did comes first, then what the kernel counted: a program
/// that was killed for its memory also left with a code, and the code alone would say nothing.
pub(crate) fn judge(doom: Option<Doom>, out_of_memory: bool, exit: Exit) -> Cause {
    match (doom, exit) {
        (Some(Doom::OutOfMemory), _) => Cause::OutOfMemory,
        (Some(Doom::TimeUp), _) => Cause::TimeUp,
        (Some(Doom::DiskFull), _) => Cause::DiskFull,
        (Some(Doom::Stopped), Exit::Code(0)) | (None, Exit::Code(0)) => Cause::Finished,
        (Some(Doom::Stopped), _) => Cause::Stopped,
        (None, Exit::OutOfMemory) => Cause::OutOfMemory,
        (None, Exit::Code(_) | Exit::Fault { .. }) if out_of_memory => Cause::OutOfMemory,
        (None, Exit::Code(exit_code)) => Cause::ProgramFault { exit_code },
        (None, Exit::Fault { what, remedy }) => Cause::SandboxFault { what, remedy },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault() -> Exit {
        Exit::Fault { what: "w".into(), remedy: "r".into() }
    }

    #[test]
    fn memory_kill_is_told_from_any_other_kill() {
        assert_eq!(judge(None, true, Exit::Code(137)), Cause::OutOfMemory);
        assert_eq!(judge(None, false, Exit::Code(137)), Cause::ProgramFault { exit_code: 137 });
    }

    #[test]
    fn program_that_survived_a_memory_kill_of_its_child_has_finished() {
        assert_eq!(judge(None, true, Exit::Code(0)), Cause::Finished);
    }

    #[test]
    fn what_the_supervisor_did_comes_before_the_code() {
        assert_eq!(judge(Some(Doom::TimeUp), false, Exit::Code(137)), Cause::TimeUp);
        assert_eq!(judge(Some(Doom::DiskFull), true, Exit::Code(137)), Cause::DiskFull);
        assert_eq!(judge(Some(Doom::Stopped), false, Exit::Code(143)), Cause::Stopped);
        assert_eq!(judge(Some(Doom::Stopped), false, fault()), Cause::Stopped);
    }

    #[test]
    fn program_that_ends_well_while_it_is_stopped_has_finished() {
        assert_eq!(judge(Some(Doom::Stopped), false, Exit::Code(0)), Cause::Finished);
    }

    #[test]
    fn sandbox_that_failed_does_not_blame_the_program() {
        assert_eq!(judge(None, false, fault()), Cause::SandboxFault { what: "w".into(), remedy: "r".into() });
    }

    #[test]
    fn memory_kill_of_the_sandbox_itself_is_the_programs_memory() {
        assert_eq!(judge(None, true, fault()), Cause::OutOfMemory);
    }
}
