//! Why something an engine was asked for did not come about, and whose fault that is.
use gleaner_wire::Cause;
use std::io;
use std::time::Duration;

use crate::merge::Mismatch;

/// Why something an engine was asked for did not come about.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The scene has no camera at the frame.
    #[error("{0}. Add one, or choose one in the scene's properties")]
    NoCamera(String),
    /// The file is no scene, or broken.
    #[error("{0}")]
    Unreadable(String),
    /// The scene cannot be rendered in pieces.
    #[error("{0}")]
    Unsplittable(String),
    /// The engine has no denoiser, and the scene wants one.
    #[error("{0}")]
    NoDenoiser(String),
    /// Memory ran out.
    #[error("{0}")]
    OutOfMemory(String),
    /// The device or its driver failed.
    #[error("{0}")]
    Device(String),
    /// The engine said no for another reason.
    #[error("{0}")]
    Failed(String),
    /// The engine was ended by a signal.
    #[error("the engine crashed with signal {signal}; its last words: {last}")]
    Crashed {
        /// The signal's number.
        signal: i32,
        /// The last line it wrote.
        last: String,
    },
    /// The time was up.
    #[error("not done within {} s", .0.as_secs_f32())]
    TimeUp(Duration),
    /// The engine ended without an answer, or with one that cannot be read.
    #[error("the engine ended with code {code} and no answer: {why}")]
    NoAnswer {
        /// Its exit code.
        code: i32,
        /// What is wrong with the answer, or the last line it wrote.
        why: String,
    },
    /// The pieces of a frame do not go together.
    #[error("the pieces of the frame cannot be merged")]
    Pieces(#[from] Mismatch),
    /// The system refused something.
    #[error("{what} failed")]
    System {
        /// What was tried.
        what: String,
        /// Why it was refused.
        source: io::Error,
    },
}

impl Fault {
    /// What it is in the network's closed list of causes.
    pub fn cause(&self) -> Cause {
        match self {
            Self::NoCamera(_) | Self::Unreadable(_) | Self::Unsplittable(_) | Self::Pieces(_) => Cause::BadInput,
            Self::OutOfMemory(_) => Cause::OutOfMemory,
            Self::TimeUp(_) => Cause::TimeLimit,
            Self::Failed(_) | Self::Crashed { .. } | Self::NoAnswer { .. } => Cause::ProgramFault,
            Self::Device(_) | Self::NoDenoiser(_) | Self::System { .. } => Cause::DeviceFault,
        }
    }

    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}
