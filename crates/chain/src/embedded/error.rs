//! Why an embedded chain cannot be opened.
use std::path::PathBuf;

/// What stands in the way of opening a chain, or of reading what it stored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be used.
    #[error("the chain's folder {path} cannot be used")]
    Folder {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Another process has the folder.
    #[error("the chain in {dir} is open already, by process {pid}: stop that one first")]
    Locked {
        /// Which folder.
        dir: PathBuf,
        /// Who holds it.
        pid: String,
    },
    /// SQLite failed.
    #[error("the chain's database failed")]
    Database(#[from] rusqlite::Error),
    /// The disk, or the room given to the chain, is used up.
    #[error("the disk is full")]
    Full,
    /// The folder holds a chain with another number.
    #[error("the folder holds chain {found}, not {wanted}: choose another folder or the same chain id")]
    OtherChain {
        /// The number on disk.
        found: u64,
        /// The number that was asked for.
        wanted: u64,
    },
    /// What is on disk is not what was written.
    #[error("the chain's store is damaged at block {block}: {what}. Restore the folder from a backup")]
    Damaged {
        /// Where.
        block: u64,
        /// What does not fit.
        what: String,
    },
    /// The thread that seals blocks could not be started.
    #[error("the chain's thread cannot be started")]
    Thread(#[source] std::io::Error),
}

impl Error {
    pub(crate) fn damaged(block: u64, what: impl Into<String>) -> Self {
        Self::Damaged { block, what: what.into() }
    }

    /// Tells a full disk from other faults of the database.
    pub(crate) fn writing(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::Full,
            Some(_) | None => Self::Database(error),
        }
    }

    /// The whole chain of causes in one line.
    pub(crate) fn text(&self) -> String {
        match std::error::Error::source(self) {
            Some(source) => format!("{self}: {source}"),
            None => self.to_string(),
        }
    }
}
