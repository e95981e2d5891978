//! Folders on disk: walking through one, reading its files, and writing them again elsewhere.
//!
//! Reading never follows a link. Writing never follows one either, whoever puts it in the way while it happens: every
//! step goes from an open folder to a name in it.
mod disk;
mod names;
mod part;
mod place;
mod read;
mod walk;

use std::path::PathBuf;

pub(crate) use disk::Keeps;
pub(crate) use part::NOTE_BYTES;
pub use part::Part;
pub use place::{Case, Target};
pub(crate) use place::{enter, is_there, link, set_mode, shown};
pub use read::{Content, DataRange, data_ranges, open, read_small, stamp, status};
pub use walk::{Found, Notice, Walk, What};

use crate::manifest::Name;

/// Why a folder cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refuses.
    #[error("cannot {doing} {path:?}")]
    File {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A link leads out of the folder.
    #[error(
        "the link {path:?} {reason}: a dataset takes links only inside its folder. Replace it by what it leads to, or leave it out"
    )]
    Link {
        /// Which link.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A folder is too deep, or a path too long.
    #[error("{path:?} lies too deep: a dataset has at most 128 folders in each other and paths of 4096 bytes")]
    Deep {
        /// Which path.
        path: PathBuf,
    },
    /// Something else is where an entry should be.
    #[error("{path:?} is in the way: it is {is}, and should be {should}. Move it, or choose another folder")]
    InTheWay {
        /// Where.
        path: PathBuf,
        /// What is there.
        is: &'static str,
        /// What should be.
        should: &'static str,
    },
    /// The disk is full.
    #[error(
        "the disk is full at {path:?}: free {bytes} bytes or choose another folder, then run the same again to go on"
    )]
    Full {
        /// Where.
        path: PathBuf,
        /// How much is needed.
        bytes: u64,
    },
    /// Two names are one on this disk.
    #[error(
        "{name:?} in {folder:?} differs from another name in small and capital letters only, and this disk does not tell them apart: choose another disk"
    )]
    Case {
        /// The second of them.
        name: Name,
        /// Where.
        folder: PathBuf,
    },
}

impl Error {
    /// Says what failed where; a full disk says what to do.
    pub(crate) fn at(doing: &'static str, path: impl Into<PathBuf>, bytes: u64, error: rustix::io::Errno) -> Self {
        let path = path.into();
        match error {
            rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT => Self::Full { path, bytes },
            other => Self::File { doing, path, source: other.into() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_what_to_do() {
        for error in [rustix::io::Errno::NOSPC, rustix::io::Errno::DQUOT] {
            let text = Error::at("write", "/out/a", 4096, error).to_string();
            assert!(text.contains("free 4096 bytes") && text.contains("run the same again"), "{text}");
        }
        let other = Error::at("write", "/out/a", 4096, rustix::io::Errno::ACCESS);
        assert!(matches!(other, Error::File { doing: "write", .. }), "{other}");
    }
}
