//! What can go wrong while a network is built.
use std::io;

/// What can go wrong while a network is built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This system cannot have such networks.
    #[error("networks for tests cannot be built here: {0}")]
    Unavailable(String),
    /// The system refused something.
    #[error("{what} failed")]
    System {
        /// What was tried.
        what: String,
        /// Why it was refused.
        source: io::Error,
    },
    /// A command said no.
    #[error("{command} failed: {why}")]
    Command {
        /// Which.
        command: String,
        /// What it said.
        why: String,
    },
}

impl Error {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}
