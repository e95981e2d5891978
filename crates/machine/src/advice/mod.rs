//! Each capability of a machine: that it works, or why it does not and the exact command that fixes it here.
use std::fmt;

use serde::{Deserialize, Serialize};

mod capability;
mod cure;
mod distribution;

pub use capability::findings;
pub use cure::{Cure, cure, start_engine};
pub use distribution::{Distribution, Need};

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was tried.
    pub capability: String,
    /// How it went.
    pub state: State,
}

/// How it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It works.
    Works {
        /// How well.
        detail: String,
    },
    /// It does not.
    Missing {
        /// Why.
        why: String,
        /// What to do, a command where there is one.
        fix: String,
    },
}

impl Finding {
    /// Something that works.
    pub fn works(capability: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { capability: capability.into(), state: State::Works { detail: detail.into() } }
    }

    /// Something that does not.
    pub fn missing(capability: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { capability: capability.into(), state: State::Missing { why: why.into(), fix: fix.into() } }
    }

    /// Whether it works.
    pub fn is_good(&self) -> bool {
        matches!(self.state, State::Works { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.state {
            State::Works { detail } => write!(f, "{}: {detail}", self.capability),
            State::Missing { why, fix } => write!(f, "{}: {why} (to fix it: {fix})", self.capability),
        }
    }
}
