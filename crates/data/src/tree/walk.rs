//! A walk through a folder, always in the same order: what is in a folder comes right after it, sorted by name.
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, readlinkat, statat};

use super::Error;
use super::names::Names;
use super::read::{status, time};
use crate::index::Stamp;
use crate::manifest::{DEPTH_MAX, Name, PATH_BYTES_MAX, RESERVED_PREFIX, Time, check_target};

/// The most remarks that are kept.
const NOTICES_MAX: usize = 1000;

/// Something the owner should know; the walk went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// About what.
    pub path: PathBuf,
    /// What.
    pub text: &'static str,
}

impl Notice {
    /// Adds a notice unless there are very many.
    pub fn add(notices: &mut Vec<Self>, path: PathBuf, text: &'static str) {
        if notices.len() < NOTICES_MAX {
            notices.push(Self { path, text });
        }
    }
}

/// Something in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How deep it lies: 1 for what is in the folder itself.
    pub depth: usize,
    /// Its name.
    pub name: Name,
    /// The names down to it, with a zero byte between them.
    pub path: Vec<u8>,
    /// What it is.
    pub what: What,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A folder.
    Folder {
        /// Its permissions.
        mode: u32,
    },
    /// A file.
    File {
        /// Its permissions.
        mode: u32,
        /// When its content was changed.
        changed: Time,
        /// By what it is known if it stays as it is.
        stamp: Stamp,
    },
    /// A link that stays inside.
    Link {
        /// Where it leads.
        target: Vec<u8>,
    },
}

/// A walk.
#[derive(Debug)]
pub struct Walk {
    top: PathBuf,
    folders: Vec<(OwnedFd, Names)>,
    path: Vec<Vec<u8>>,
    /// What was left out, and why.
    pub notices: Vec<Notice>,
}

impl Walk {
    /// Begins a walk through a folder, or past a single file.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let at = |doing| move |error| Error::at(doing, path, 0, error);
        let is_file = rustix::fs::stat(path).map_err(at("read"))?.st_mode & 0o170_000 == 0o100_000;
        let (top, single) = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if is_file => (parent, Some(name.as_bytes())),
            _ => (path, None),
        };
        let top = if top.as_os_str().is_empty() { Path::new(".") } else { top };
        let folder = open_folder(rustix::fs::CWD, top.as_os_str().as_bytes(), OFlags::empty()).map_err(at("read"))?;
        let names = match single {
            Some(name) => Names::one(name),
            None => Names::of(&folder).map_err(at("read"))?,
        };
        Ok(Self { top: top.to_owned(), folders: vec![(folder, names)], path: Vec::new(), notices: Vec::new() })
    }

    /// The folder that paths start from.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The next thing in the folder.
    pub fn found(&mut self) -> Result<Option<Found>, Error> {
        loop {
            let depth = self.folders.len();
            let Some((_, names)) = self.folders.last_mut() else { return Ok(None) };
            self.path.truncate(depth - 1);
            match names.next() {
                None => {
                    self.folders.pop();
                }
                Some(name) if name.starts_with(RESERVED_PREFIX) => {}
                Some(name) => {
                    self.path.push(name.to_vec());
                    if let Some(found) = self.look(depth)? {
                        return Ok(Some(found));
                    }
                }
            }
        }
    }

    fn look(&mut self, depth: usize) -> Result<Option<Found>, Error> {
        let (folder, _) = self.folders.last().expect("the folder it was found in");
        let name = self.path.last().expect("its name").clone();
        let stat = match statat(folder, &name[..], AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(rustix::io::Errno::NOENT) => {
                self.remark("vanished while the folder was read");
                return Ok(None);
            }
            Err(error) => return Err(Error::at("read", self.shown(), 0, error)),
        };
        let mode = stat.st_mode & 0o777;
        let what = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                self.enter(&name)?;
                What::Folder { mode }
            }
            FileType::RegularFile => What::File { mode, changed: time(&stat), stamp: status(&stat) },
            FileType::Symlink => What::Link { target: self.target(depth, &name)? },
            _ => {
                self.remark("was left out: it is neither a file nor a folder");
                return Ok(None);
            }
        };
        let path = self.path.join(&0);
        if path.len() > PATH_BYTES_MAX || depth > DEPTH_MAX {
            return Err(Error::Deep { path: self.shown() });
        }
        let name = Name::new(name).expect("the system gave it as a name");
        Ok(Some(Found { depth, name, path, what }))
    }

    fn enter(&mut self, name: &[u8]) -> Result<(), Error> {
        let (folder, _) = self.folders.last().expect("the folder it was found in");
        let opened = open_folder(folder, name, OFlags::NOFOLLOW).and_then(|folder| Ok((Names::of(&folder)?, folder)));
        let (names, folder) = opened.map_err(|error| Error::at("read", self.shown(), 0, error))?;
        self.folders.push((folder, names));
        Ok(())
    }

    fn target(&self, depth: usize, name: &[u8]) -> Result<Vec<u8>, Error> {
        let (folder, _) = self.folders.last().expect("the folder it was found in");
        let target = readlinkat(folder, name, Vec::new()).map_err(|error| Error::at("read", self.shown(), 0, error))?;
        let target = target.into_bytes();
        check_target(depth, &target).map_err(|reason| Error::Link { path: self.shown(), reason })?;
        Ok(target)
    }

    fn remark(&mut self, text: &'static str) {
        let path = self.shown();
        Notice::add(&mut self.notices, path, text);
    }

    fn shown(&self) -> PathBuf {
        self.path
            .iter()
            .map(|name| std::ffi::OsStr::from_bytes(name))
            .fold(self.top.clone(), |path, name| path.join(name))
    }
}

pub(super) fn open_folder(at: impl std::os::fd::AsFd, name: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    openat(at, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn walk(path: &Path) -> Result<Vec<(String, What)>, Error> {
        let mut walk = Walk::new(path)?;
        let mut found = Vec::new();
        while let Some(next) = walk.found()? {
            assert_eq!(next.depth, next.path.split(|byte| *byte == 0).count());
            found.push((next.path.escape_ascii().to_string().replace("\\x00", "/"), next.what));
        }
        Ok(found)
    }

    fn names(path: &Path) -> Vec<String> {
        walk(path).expect("walked").into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn the_order_is_that_of_a_walk() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        std::fs::create_dir_all(path.join("a/empty")).expect("made");
        for name in ["a/x", "a.b", "B", "a/.gleaner-part-1"] {
            std::fs::write(path.join(name), name).expect("written");
        }
        std::fs::write(path.join(std::ffi::OsStr::from_bytes(b"\xff")), "").expect("written");
        assert_eq!(names(path), ["B", "a", "a/empty", "a/x", "a.b", "\\xff"]);
        assert_eq!(names(&path.join("a/x")), ["x"]);
    }

    #[test]
    fn links_inside_are_kept_and_others_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        std::fs::create_dir(path.join("a")).expect("made");
        symlink("../b", path.join("a/in")).expect("linked");
        assert_eq!(walk(path).expect("walked")[1].1, What::Link { target: b"../b".to_vec() });
        symlink("../../b", path.join("a/out")).expect("linked");
        let error = walk(path).expect_err("refused").to_string();
        assert!(error.contains("a/out") && error.contains("leads out of the folder"), "{error}");
    }

    #[test]
    fn what_is_no_file_is_left_out_with_a_notice() {
        let folder = tempfile::tempdir().expect("a folder");
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).expect("bound");
        let mut walk = Walk::new(folder.path()).expect("begun");
        assert_eq!(walk.found().expect("walked"), None);
        assert_eq!(walk.notices[0].path, folder.path().join("socket"));
    }
}
