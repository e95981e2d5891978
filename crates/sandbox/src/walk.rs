//! Walks a tree that a stranger's program made, perhaps while it still runs, without ever leaving it.
//!
//! Every step goes from one open folder to the next and follows no link, so nothing that is renamed or replaced on the way
//! leads elsewhere.

use crate::folder::DEPTH_MAX;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What a walk meets.
#[derive(Debug)]
pub(crate) enum Met<'a> {
    /// Something in the tree; folders come before what is in them.
    Entry(&'a Path, &'a Stat),
    /// A folder that could not be looked into, or that lies too deep.
    Closed(&'a Path, Closed),
}

/// Why a folder was not looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    TooDeep,
    Unreadable,
}

pub(crate) fn open_root(root: &Path) -> Result<OwnedFd, Errno> {
    openat(CWD, root, FOLDER, Mode::empty())
}

/// Calls `visit` for everything below `root`, whose own path is empty, until it breaks off. What vanishes meanwhile is
/// passed over.
pub(crate) fn walk(root: impl AsFd, visit: &mut dyn FnMut(Met<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    match Dir::read_from(root) {
        Ok(dir) => descend(dir, &mut PathBuf::new(), 0, visit),
        Err(_) => visit(Met::Closed(Path::new(""), Closed::Unreadable)),
    }
}

fn descend(
    mut dir: Dir,
    path: &mut PathBuf,
    depth: usize,
    visit: &mut dyn FnMut(Met<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    while let Some(Ok(entry)) = dir.read() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Ok(here) = dir.fd() else { return ControlFlow::Continue(()) };
        let Ok(stat) = statat(here, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        path.push(OsStr::from_bytes(name.to_bytes()));
        visit(Met::Entry(path, &stat))?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            if depth + 1 == DEPTH_MAX {
                visit(Met::Closed(path, Closed::TooDeep))?;
            } else {
                match openat(here, name, FOLDER, Mode::empty()).and_then(Dir::new) {
                    Ok(inner) => descend(inner, path, depth + 1, visit)?,
                    Err(Errno::NOENT) => {}
                    Err(_) => visit(Met::Closed(path, Closed::Unreadable))?,
                }
            }
        }
        path.pop();
    }
    ControlFlow::Continue(())
}

/// What a tree takes up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Volume {
    /// Bytes on the disk, not the length that a file with holes claims to have.
    pub(crate) bytes: u64,
    /// Files, folders and everything else that has a name.
    pub(crate) files: u64,
    /// Parts of it could not be looked into, because the program closed them or hid them too deep.
    pub(crate) hidden: bool,
}

/// Adds up a tree, and stops once it is beyond the limits.
pub(crate) fn volume(root: &Path, bytes_max: u64, files_max: u64) -> Volume {
    let mut sum = Volume::default();
    let Ok(root) = open_root(root) else { return sum };
    let _ = walk(root, &mut |met| {
        match met {
            Met::Entry(_, stat) => {
                sum.bytes = sum.bytes.saturating_add(u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512));
                sum.files += 1;
            }
            Met::Closed(..) => sum.hidden = true,
        }
        if sum.bytes > bytes_max || sum.files > files_max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn folder_linked_from_the_tree_is_not_counted() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let (tree, other) = (home.path().join("tree"), home.path().join("other"));
        fs::create_dir(&tree).expect("tree");
        fs::create_dir(&other).expect("other");
        fs::write(other.join("big"), vec![1; 1 << 20]).expect("a file");
        std::os::unix::fs::symlink(&other, tree.join("link")).expect("a link");
        let sum = volume(&tree, u64::MAX, u64::MAX);
        assert_eq!(sum.files, 1);
        assert!(sum.bytes < 1 << 16, "{} bytes", sum.bytes);
    }

    #[test]
    fn tree_that_is_deeper_than_anyone_needs_is_hidden_and_ends() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let deep: PathBuf = std::iter::repeat_n("d", DEPTH_MAX + 5).collect();
        fs::create_dir_all(home.path().join(deep)).expect("a deep folder");
        let sum = volume(home.path(), u64::MAX, u64::MAX);
        assert!(sum.hidden);
        assert_eq!(sum.files, DEPTH_MAX as u64);
    }

    #[test]
    fn counting_stops_beyond_the_limit() {
        let home = tempfile::tempdir().expect("a temporary folder");
        (0..50).for_each(|n| fs::write(home.path().join(n.to_string()), "x").expect("a file"));
        assert_eq!(volume(home.path(), u64::MAX, 10).files, 11);
    }
}
