//! The state of a worker as people see it.
#[cfg(feature = "openapi")]
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The state of a worker. What moves it from one to the next is one table in the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = WorkerState))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not connected.
    Offline,
    /// Connected, with room for work.
    Available,
    /// Connected, with all the work it takes.
    Busy,
    /// Its owner wants the machine.
    Paused,
    /// It failed too often and waits for a test.
    Probation,
    /// It failed its test.
    Disqualified,
}

impl State {
    /// Every state, in order.
    pub const ALL: [Self; 6] =
        [Self::Offline, Self::Available, Self::Busy, Self::Paused, Self::Probation, Self::Disqualified];
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Offline => "offline",
            Self::Available => "available",
            Self::Busy => "busy",
            Self::Paused => "paused",
            Self::Probation => "probation",
            Self::Disqualified => "disqualified",
        })
    }
}
