//! Why a program ends before it returns by itself.
use gleaner_wire::ByteSize;

use super::errno::Errno;
use crate::product::Scratch;
use crate::watch::Interruption;

/// Why a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    #[error("exit code {0}")]
    Exit(i32),
    #[error("time limit")]
    TimeLimit,
    #[error("cancelled")]
    Cancelled,
    #[error("it needed {} of memory, its limit is {}", ByteSize(*wanted), ByteSize(*limit))]
    Memory { wanted: u64, limit: u64 },
    #[error("it needed a table of {wanted} elements, the limit is {limit}")]
    Table { wanted: u64, limit: u64 },
    #[error("it wrote more than its output limit of {}", ByteSize(*limit))]
    Output { limit: u64 },
}

impl From<Interruption> for Stop {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::TimeLimit => Self::TimeLimit,
            Interruption::Cancelled => Self::Cancelled,
        }
    }
}

/// Why a call of a program to its host does not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fail {
    /// The program is told and goes on.
    Errno(Errno),
    /// The program ends.
    Stop(Stop),
}

impl From<Errno> for Fail {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<Stop> for Fail {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<Interruption> for Fail {
    fn from(interruption: Interruption) -> Self {
        Self::Stop(interruption.into())
    }
}

impl From<std::io::Error> for Fail {
    fn from(error: std::io::Error) -> Self {
        Self::Errno(error.into())
    }
}

/// The output that a program may still write, standard output and files together, and where it goes.
#[derive(Debug)]
pub(crate) struct Quota {
    used: u64,
    limit: u64,
    pub(crate) scratch: Scratch,
}

impl Quota {
    pub(crate) fn new(limit: u64, scratch: Scratch) -> Self {
        Self { used: 0, limit, scratch }
    }

    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), Stop> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.limit { Err(Stop::Output { limit: self.limit }) } else { Ok(()) }
    }

    pub(crate) fn give_back(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
    }
}
