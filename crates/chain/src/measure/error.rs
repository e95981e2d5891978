//! Why nothing could be measured.
use crate::market::ReadError;
use crate::node::SendError;
use crate::{deploy, embedded, genesis, node};

/// What stood in the way of a measurement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no room to work in.
    #[error("cannot work in a folder for the measurement")]
    Folder(#[from] std::io::Error),
    /// The chain could not be opened.
    #[error(transparent)]
    Chain(#[from] embedded::Error),
    /// The contracts could not be put on it.
    #[error(transparent)]
    Deploy(#[from] deploy::Error),
    /// The preset is not there.
    #[error(transparent)]
    Genesis(#[from] genesis::Error),
    /// The chain did not take a transaction.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The chain did not answer.
    #[error(transparent)]
    Node(#[from] node::Error),
    /// A contract did not answer.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What ran did not do what it should, so that its speed means nothing.
    #[error("the measurement is worth nothing: {0}")]
    Worthless(String),
}

impl Error {
    /// A measurement of something else than was meant.
    pub(super) fn worthless(why: impl Into<String>) -> Self {
        Self::Worthless(why.into())
    }
}
