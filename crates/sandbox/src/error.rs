//! What can go wrong before a program runs. What ends a program that ran is in [`crate::Ending`].

use std::io;
use thiserror::Error;

/// Why a job could not be started, or an image not be had.
#[derive(Debug, Error)]
pub enum Error {
    /// The job asks for something that this back end never gives.
    #[error("the job cannot run in this sandbox: {0}")]
    Refused(String),
    /// Something is missing on this machine.
    #[error("{what}. {remedy}")]
    Unavailable {
        /// What was found missing.
        what: String,
        /// What the owner can do about it.
        remedy: String,
    },
    /// The operating system refused something.
    #[error("{doing}")]
    System {
        /// What was tried.
        doing: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The container engine refused something.
    #[error("{doing}")]
    Engine {
        /// What was tried.
        doing: String,
        /// What the engine answered.
        source: Box<bollard::errors::Error>,
    },
    /// An image that is not what it should be.
    #[error("the image cannot be used: {0}")]
    Image(String),
    /// An image took longer to arrive than it may.
    #[error("the image {image} did not arrive within {seconds} s")]
    PullTimeUp {
        /// The image that was asked for.
        image: String,
        /// The time it was given.
        seconds: u64,
    },
}

impl Error {
    pub(crate) fn system(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::System { doing: doing.into(), source: source.into() }
    }

    pub(crate) fn engine(doing: impl Into<String>, source: bollard::errors::Error) -> Self {
        Self::Engine { doing: doing.into(), source: Box::new(source) }
    }

    pub(crate) fn unavailable(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Unavailable { what: what.into(), remedy: remedy.into() }
    }
}
