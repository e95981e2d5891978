//! What can be wrong with a journal.
use rusqlite::ErrorCode;

/// What is wrong with a journal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Written by a version of Gleaner that this one does not know.
    #[error("its format is {found}, and this version of gleaner reads format {known}: use the version that wrote it")]
    Format {
        /// The format found.
        found: i64,
        /// The format this version reads.
        known: i64,
    },
    /// A row is not what was written.
    #[error(
        "row {seq} was altered or torn: its checksum does not match, so nothing after it can be trusted. \
         Restore the file from a backup; the hub will not guess"
    )]
    Altered {
        /// The row.
        seq: u64,
    },
    /// A row is missing.
    #[error("row {seq} is missing: restore the file from a backup; the hub will not guess")]
    Missing {
        /// The row.
        seq: u64,
    },
    /// No snapshot can be read.
    #[error("no snapshot in it can be read: restore the file from a backup; the hub will not guess")]
    NoSnapshot,
    /// Another process wrote to it.
    #[error("another hub has written to it: stop that one first")]
    Fenced,
    /// An event cannot be encoded.
    #[error("an event could not be encoded")]
    Encoding,
    /// No room.
    #[error("the disk is full: free some space, the hub goes on by itself")]
    Full,
    /// The disk does not work.
    #[error("the disk does not take writes ({0}): check it, the hub goes on by itself once it does")]
    Disk(rusqlite::Error),
    /// Something else.
    #[error("{0}")]
    Database(rusqlite::Error),
}

impl Error {
    /// Whether the same write may succeed later, because the world may mend.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Full | Self::Disk(_) => true,
            Self::Format { .. }
            | Self::Altered { .. }
            | Self::Missing { .. }
            | Self::NoSnapshot
            | Self::Fenced
            | Self::Encoding
            | Self::Database(_) => false,
        }
    }
}

impl Error {
    /// What it means if a row cannot be added: one with its number is there already.
    pub(super) fn adding(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => Self::Fenced,
            Some(_) | None => Self::from(error),
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly,
            ) => Self::Disk(error),
            Some(_) | None => Self::Database(error),
        }
    }
}
