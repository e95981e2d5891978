//! Why a dataset was not brought.
use crate::{manifest, net, store, unpack};

/// Why a dataset was not brought.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its chunks did not come, or could not be stored.
    #[error(transparent)]
    Net(#[from] net::Error),
    /// Its root is not what it should be.
    #[error(transparent)]
    Root(#[from] manifest::Error),
    /// Its manifest is not what it should be.
    #[error(transparent)]
    Manifest(#[from] unpack::Error),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Net(error.into())
    }
}
