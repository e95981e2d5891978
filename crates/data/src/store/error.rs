//! What can go wrong in a store, and what to do about it.
use gleaner_wire::Hash;
use rusqlite::ErrorCode;
use std::io;
use std::path::PathBuf;

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process has the folder.
    #[error(
        "the store in {} is in use by process {pid}: stop that one first, or give this one its own folder",
        folder.display()
    )]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// The process that has it.
        pid: String,
    },
    /// Written by a version of Gleaner that this one does not know.
    #[error(
        "the store's format is {found}, and this version of gleaner reads format {known}: use the version that wrote \
         it, or remove the folder and let it be fetched anew"
    )]
    Format {
        /// The format found.
        found: i64,
        /// The format this version reads.
        known: i64,
    },
    /// The bytes are not what their name says.
    #[error("the bytes of chunk {0} do not have that hash: fetch it again, from somebody else")]
    Mismatch(Hash),
    /// No bytes at all.
    #[error("an empty chunk is not stored: leave it out")]
    Empty,
    /// One chunk too large.
    #[error("a chunk may have at most {max} bytes, and {id} has {bytes}: cut it smaller")]
    TooLarge {
        /// The chunk.
        id: Hash,
        /// Its length.
        bytes: u64,
        /// The longest one.
        max: u64,
    },
    /// No room without evicting what is pinned.
    #[error(
        "the store lacks {missing} bytes of room: {pinned} of its {limit} bytes are pinned by running work. Raise its \
         limit by that much, or wait until work that is running here has ended"
    )]
    NoRoom {
        /// Bytes that are missing.
        missing: u64,
        /// Bytes that may not be evicted.
        pinned: u64,
        /// The limit of the store.
        limit: u64,
    },
    /// No room on the disk.
    #[error("the disk of the store is full: free some space on it, the store goes on by itself")]
    DiskFull,
    /// A list longer than the store keeps.
    #[error("a dataset may have at most {max} chunks: split it")]
    TooManyChunks {
        /// The longest list.
        max: u64,
    },
    /// A file of the store cannot be read or written.
    #[error("the store could not {what} {}: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The index cannot be read or written.
    #[error(
        "the store's index failed ({0}): check the disk; if it is damaged, remove the store's folder and let it be fetched anew"
    )]
    Index(rusqlite::Error),
    /// Opened without the bucket that it needs.
    #[error("{segments} segments of this store are in object storage: open it with the bucket it was filled with")]
    NoBucket {
        /// How many.
        segments: usize,
    },
    /// Object storage did not do what it was asked.
    #[error("object storage could not {what}: {why}. Check its address, its keys and the network; nothing was lost")]
    Objects {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        why: String,
    },
}

impl Error {
    /// For `map_err`: what was tried with which file.
    pub(super) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::File { what, path, source },
        }
    }

    /// Whether a file was not there.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(_) | None => Self::Index(error),
        }
    }
}
