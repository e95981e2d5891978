//! One user's folder, and the only way to anything in it.
//!
//! Paths of clients never reach any other call than `openat2` beneath the folder; everything else works on what that
//! opened, with at most one plain name. So links and `..` are the kernel's business, and nothing can change between a
//! check and its use.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, readlink};
use rustix::io::{Errno, Result};

/// How often a path is resolved again while others rename folders on its way.
const RESOLVE_TRIES_MAX: usize = 16;

/// The folder of one user.
#[derive(Debug)]
pub(crate) struct Folder {
    top: OwnedFd,
}

/// The folder that something is in, and its name there.
pub(crate) struct Spot<'a> {
    pub(crate) parent: OwnedFd,
    pub(crate) name: &'a [u8],
    /// The real path of it from the user's folder, links resolved.
    pub(crate) place: Option<Vec<u8>>,
}

/// Makes a path of the client one from its folder: to the client, its folder is `/`.
fn from_top(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    if start == path.len() { b"." } else { &path[start..] }
}

impl Folder {
    /// Opens a user's folder in the folder of all users, and makes it first if there is none.
    pub(crate) fn open(all: impl AsFd, name: &str) -> Result<Self> {
        match mkdirat(&all, name, Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { top: openat(all, name, flags, Mode::empty())? })
    }

    /// Opens a path of the client. Links on the way are followed as long as they stay inside.
    pub(crate) fn resolve(&self, path: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd> {
        beneath(&self.top, from_top(path), flags, mode, ResolveFlags::empty())
    }

    /// Finds what is at a path, for looking at it or changing its attributes. Its last name is not followed if it is a
    /// link and `is_followed` is false.
    pub(crate) fn locate(&self, path: &[u8], is_followed: bool) -> Result<OwnedFd> {
        let flags = if is_followed { OFlags::PATH } else { OFlags::PATH | OFlags::NOFOLLOW };
        self.resolve(path, flags, Mode::empty())
    }

    /// Finds the folder of a path, for making, renaming or removing something in it.
    pub(crate) fn spot<'a>(&self, path: &'a [u8]) -> Result<Spot<'a>> {
        let path = from_top(path);
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let start = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let name = &path[start..end];
        if name.is_empty() || name == b"." || name == b".." {
            return Err(Errno::INVAL);
        }
        let parent = self.resolve(&path[..start], OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        let place = self.place(&parent).map(|parent| join(&parent, name));
        Ok(Spot { parent, name, place })
    }

    /// Where something open is, from the user's folder; `None` if it was removed or `/proc` is missing.
    pub(crate) fn place(&self, open: impl AsFd) -> Option<Vec<u8>> {
        let top = readlink(proc_path(&self.top), Vec::new()).ok()?.into_bytes();
        let path = readlink(proc_path(open), Vec::new()).ok()?.into_bytes();
        let rest = path.strip_prefix(&top[..])?;
        match rest {
            [] => Some(Vec::new()),
            [b'/', rest @ ..] => Some(rest.to_vec()),
            _ => None,
        }
    }
}

/// Opens a path beneath a folder and refuses any way out of it.
pub(crate) fn beneath(
    top: impl AsFd,
    path: &[u8],
    flags: OFlags,
    mode: Mode,
    resolve: ResolveFlags,
) -> Result<OwnedFd> {
    let resolve = resolve | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut tries = 0;
    loop {
        match openat2(&top, path, flags | OFlags::CLOEXEC, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) if tries < RESOLVE_TRIES_MAX => tries += 1,
            opened => return opened,
        }
    }
}

/// The name by which a call that takes only paths finds what is open.
pub(crate) fn proc_path(open: impl AsFd) -> String {
    format!("/proc/self/fd/{}", open.as_fd().as_raw_fd())
}

fn join(parent: &[u8], name: &[u8]) -> Vec<u8> {
    if parent.is_empty() { name.to_vec() } else { [parent, b"/", name].concat() }
}

/// Whether a link at `place` may point to `target`: it has to be relative, and never climb above the folder.
pub(crate) fn stays_inside(place: &[u8], target: &[u8]) -> bool {
    if target.is_empty() || target[0] == b'/' {
        return false;
    }
    let mut depth = place.split(|byte| *byte == b'/').count() - 1;
    for name in target.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." if depth == 0 => return false,
            b".." => depth -= 1,
            _ => depth += 1,
        }
    }
    true
}

/// The path as the client should write it: absolute, without `.` and `..`. Like the kernel's, the top is its own parent.
pub(crate) fn normal(path: &[u8]) -> Vec<u8> {
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    [b"/", &names.join(&b'/')[..]].concat()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn inbox() -> (tempfile::TempDir, Folder) {
        let all = tempfile::tempdir().expect("a temporary folder");
        let root = openat(rustix::fs::CWD, all.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        let folder = Folder::open(root.expect("it opens"), "ada").expect("a folder is made");
        std::fs::write(all.path().join("secret"), "of the hub").expect("a file beside it");
        (all, folder)
    }

    #[test]
    fn no_path_leads_out() {
        let (all, folder) = inbox();
        symlink("../secret", all.path().join("ada/relative")).expect("a link");
        symlink(all.path().join("secret"), all.path().join("ada/absolute")).expect("a link");
        symlink("..", all.path().join("ada/up")).expect("a link");
        for path in ["../secret", "/../secret", "relative", "absolute", "up/secret", "up/ada/../secret"] {
            let opened = folder.resolve(path.as_bytes(), OFlags::RDONLY, Mode::empty());
            assert_eq!(opened.err(), Some(Errno::XDEV), "{path}");
        }
        assert_eq!(folder.spot(b"up/made").err().map(|error| error.raw_os_error()), Some(Errno::XDEV.raw_os_error()));
    }

    #[test]
    fn the_top_itself_is_not_in_any_folder() {
        let (_all, folder) = inbox();
        for path in ["", "/", ".", "..", "a/..", "///"] {
            assert!(folder.spot(path.as_bytes()).is_err(), "{path}");
        }
    }

    #[test]
    fn a_place_has_its_links_resolved() {
        let (all, folder) = inbox();
        std::fs::create_dir_all(all.path().join("ada/real/deep")).expect("folders");
        symlink("real/deep", all.path().join("ada/link")).expect("a link");
        let spot = folder.spot(b"/link/file").expect("it is inside");
        assert_eq!(spot.place.as_deref(), Some(&b"real/deep/file"[..]));
    }

    #[test]
    fn links_may_climb_as_far_as_the_top() {
        assert!(stays_inside(b"a/b/link", b"../../c"));
        assert!(!stays_inside(b"a/b/link", b"../../../c"));
        assert!(!stays_inside(b"link", b"x/../../y"));
        assert!(!stays_inside(b"link", b"/etc/passwd"));
        assert!(!stays_inside(b"link", b""));
    }

    #[test]
    fn normal_paths_are_absolute_and_never_above_the_top() {
        for (path, expected) in [("", "/"), (".", "/"), ("a/./b/../c", "/a/c"), ("/../..", "/"), ("//a//", "/a")] {
            assert_eq!(normal(path.as_bytes()), expected.as_bytes(), "{path}");
        }
    }
}
