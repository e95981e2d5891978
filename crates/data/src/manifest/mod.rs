//! The manifest: which files a dataset has, and which parts of which chunks they are made of.
//!
//! It is a stream in the order of a walk through the folder: each entry says how deep it lies and its own name, so there
//! are no paths to leave the folder with, no file can be a folder too, and names that only ever increase cannot be there
//! twice. Reading and writing take little memory however long it is. What is read is hostile: it is refused with a
//! reason, and no length in it is believed before it is checked.
//!
//! Extents name a chunk in full once, and then by how many chunks ago that was.
mod bytes;
mod decode;
mod encode;
#[cfg(test)]
mod hostile;
mod name;
mod order;
mod recall;
mod root;

pub use decode::Reader;
pub use encode::Writer;
pub use name::{NAME_BYTES_MAX, Name, RESERVED_PREFIX, TARGET_BYTES_MAX, check_target};
pub use root::{CHUNKS_MAX, INLINE_BYTES_MAX, ROOT_BYTES_MAX, Root, SealedRoot};

/// The version of the encoding. Readers refuse others.
pub const VERSION: u8 = 1;
/// How deep folders lie in each other.
pub const DEPTH_MAX: usize = 128;
/// The longest path.
pub const PATH_BYTES_MAX: usize = 4096;
/// The largest file.
pub const FILE_BYTES_MAX: u64 = 1 << 50;

const MAGIC: [u8; 4] = *b"GLNM";
/// Permissions are all that is kept of a mode: nobody's dataset makes programs run as somebody else.
const MODE_MAX: u32 = 0o777;

/// The most extents that a file may have: many tiny ones would make a short manifest cause endless work.
pub fn extents_max(file_bytes: u64) -> u64 {
    file_bytes / 256 + 16
}

/// When a file was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Seconds since 1970.
    pub seconds: i64,
    /// And nanoseconds, less than a second.
    pub nanoseconds: u32,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How deep it lies: 1 for what is in the dataset's own folder.
    pub depth: usize,
    /// Its name there.
    pub name: Name,
    /// What it is.
    pub kind: Kind,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A folder; what is in it follows, one deeper.
    Folder {
        /// Its permissions.
        mode: u32,
    },
    /// A file; its extents follow.
    File {
        /// Its permissions.
        mode: u32,
        /// When it was changed.
        changed: Time,
        /// How long it is.
        bytes: u64,
    },
    /// A symbolic link to something in the dataset.
    Link {
        /// Where it leads, from the folder it is in.
        target: Vec<u8>,
    },
}

/// What a dataset amounts to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Files, folders and links.
    pub entries: u64,
    /// The sizes of all files.
    pub bytes: u64,
    /// Without holes: what it takes of a disk.
    pub stored_bytes: u64,
}

/// Why a manifest or root is refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It breaks the rules.
    #[error("the manifest is refused: {0}")]
    Refused(&'static str),
    /// A name breaks the rules.
    #[error("the manifest is refused: the name {name:?} {reason}")]
    Name {
        /// Which, as far as it can be shown.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// It was made by another version of this program.
    #[error("the manifest has version {found}, this program reads version {VERSION}: update it")]
    Version {
        /// The version it has.
        found: u8,
    },
    /// The root cannot be opened.
    #[error(transparent)]
    Seal(#[from] crate::seal::Error),
    /// It cannot be read or written.
    #[error("the manifest cannot be read or written")]
    Stream(#[source] std::io::Error),
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Self::Refused("it ends too early"),
            _ => Self::Stream(error),
        }
    }
}
