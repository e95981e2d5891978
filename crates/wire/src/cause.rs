//! The closed list of causes of a failed attempt.
#[cfg(feature = "openapi")]
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// Why an attempt failed. What follows from each cause is one table in the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The worker's connection or lease ended.
    WorkerLeft,
    /// The driver or the device broke.
    DeviceFault,
    /// The program ended with an error of its own.
    ProgramFault,
    /// The program needed more memory than its limit.
    OutOfMemory,
    /// The program ran past its time limit.
    TimeLimit,
    /// The program or an input could not be read as what it should be.
    BadInput,
    /// The owner of the machine took it back.
    RefusedByOwner,
    /// The hub could not do its part.
    HubFault,
    /// Others computed something else: the result was wrong, or it cannot be told whose is right.
    Refuted,
}

impl Cause {
    /// Every cause, in order.
    pub const ALL: [Self; 9] = [
        Self::WorkerLeft,
        Self::DeviceFault,
        Self::ProgramFault,
        Self::OutOfMemory,
        Self::TimeLimit,
        Self::BadInput,
        Self::RefusedByOwner,
        Self::HubFault,
        Self::Refuted,
    ];
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WorkerLeft => "worker left",
            Self::DeviceFault => "device fault",
            Self::ProgramFault => "program fault",
            Self::OutOfMemory => "out of memory",
            Self::TimeLimit => "time limit",
            Self::BadInput => "bad input",
            Self::RefusedByOwner => "refused by owner",
            Self::HubFault => "hub fault",
            Self::Refuted => "refuted",
        })
    }
}
