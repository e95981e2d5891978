//! Writing a dataset into a folder, step by step from open folders to names in them.
//!
//! A file gets its name only when it is whole; until then it has a reserved one, the same on every try, so that nothing
//! is left behind by a run that was cut short and then repeated.
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstatvfs, mkdirat, renameat, statat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::Error;
use super::disk::Keeps;
use super::read::time;
use super::walk::open_folder;
use crate::manifest::{Name, RESERVED_PREFIX, Time};

/// Whether a disk tells small from capital letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// It does.
    Told,
    /// It does not: names that differ in that only are refused.
    Ignored,
    /// Try it out.
    Unknown,
}

/// The folder that a dataset is written into.
#[derive(Debug)]
pub struct Target {
    top: PathBuf,
    folder: Arc<OwnedFd>,
    keeps: Keeps,
    /// Of each open folder the names so far without their case, if that matters.
    folded: Option<HashMap<PathBuf, HashSet<Vec<u8>>>>,
}

impl Target {
    /// Opens or makes the folder.
    pub fn open(top: &Path, case: Case) -> Result<Self, Error> {
        std::fs::create_dir_all(top).map_err(|source| Error::File { doing: "make", path: top.to_owned(), source })?;
        let folder = open_folder(CWD, top.as_os_str().as_bytes(), OFlags::empty());
        let folder = folder.map_err(|error| Error::at("open", top, 0, error))?;
        let keeps = match case {
            Case::Told => Keeps::ALL,
            Case::Ignored => Keeps { case: false, ..Keeps::ALL },
            Case::Unknown => Keeps::try_out(&folder).map_err(|error| Error::at("write into", top, 0, error))?,
        };
        let folded = (!keeps.case).then(HashMap::new);
        Ok(Self { top: top.to_owned(), folder: Arc::new(folder), keeps, folded })
    }

    /// The open folder.
    pub fn folder(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.folder)
    }

    /// What the disk keeps of files.
    pub(crate) fn keeps(&self) -> Keeps {
        self.keeps
    }

    /// Where it is.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Refuses a dataset that does not fit. Where something lies already, some of it may be the dataset's: it is tried.
    pub fn check_room(&self, bytes: u64) -> Result<(), Error> {
        let at = |error| Error::at("look at", &self.top, 0, error);
        if !is_empty(&self.folder).map_err(at)? {
            return Ok(());
        }
        let room = fstatvfs(&self.folder).map_err(at)?;
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        if free < bytes { Err(Error::Full { path: self.top.clone(), bytes: bytes - free }) } else { Ok(()) }
    }

    /// Refuses a name that is another's on this disk.
    pub fn check_case(&mut self, folder: &Path, name: &Name) -> Result<(), Error> {
        let Some(folded) = &mut self.folded else { return Ok(()) };
        // A walk never comes back to a folder it has left.
        folded.retain(|open, _| folder.starts_with(open));
        let text = String::from_utf8_lossy(name.as_bytes()).to_lowercase().into_bytes();
        if folded.entry(folder.to_owned()).or_default().insert(text) {
            return Ok(());
        }
        Err(Error::Case { name: name.clone(), folder: folder.to_owned() })
    }
}

fn is_empty(folder: &OwnedFd) -> rustix::io::Result<bool> {
    for entry in Dir::read_from(folder)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes a folder, or opens the one that is there. It can be written into until its permissions are set.
pub(crate) fn enter(parent: &OwnedFd, name: &Name, mode: u32, keeps: Keeps, shown: &Path) -> Result<OwnedFd, Error> {
    let at = |doing| move |error| Error::at(doing, shown, 0, error);
    let mode = mode | 0o700;
    match mkdirat(parent, name.as_bytes(), Mode::from_raw_mode(mode)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(at("make")(error)),
    }
    let folder = match open_folder(parent, name.as_bytes(), OFlags::NOFOLLOW) {
        Err(Errno::NOTDIR | Errno::LOOP) => return Err(in_the_way(parent, name, shown, "a folder")),
        opened => opened.map_err(at("open"))?,
    };
    keeps.set_mode(&folder, mode).map_err(at("set the permissions of"))?;
    Ok(folder)
}

fn in_the_way(parent: &OwnedFd, name: &Name, shown: &Path, should: &'static str) -> Error {
    let is = match statat(parent, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW) {
        Err(_) => "something that changes",
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => "a folder",
            FileType::Symlink => "a link",
            FileType::RegularFile => "a file",
            _ => "neither a file nor a folder",
        },
    };
    Error::InTheWay { path: shown.to_owned(), is, should }
}

/// Makes a link, in place of one that is there.
pub(crate) fn link(parent: &OwnedFd, name: &Name, target: &[u8], shown: &Path) -> Result<(), Error> {
    let part = part_name(name);
    let _ = unlinkat(parent, &part[..], AtFlags::empty());
    symlinkat(target, parent, &part[..]).map_err(|error| Error::at("make", shown, 0, error))?;
    rename(parent, &part, name, shown, "a link")
}

pub(super) fn rename(
    parent: &OwnedFd,
    part: &[u8],
    name: &Name,
    shown: &Path,
    should: &'static str,
) -> Result<(), Error> {
    match renameat(parent, part, parent, name.as_bytes()) {
        Ok(()) => Ok(()),
        Err(error) => {
            let _ = unlinkat(parent, part, AtFlags::empty());
            match error {
                Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY => Err(in_the_way(parent, name, shown, should)),
                other => Err(Error::at("name", shown, 0, other)),
            }
        }
    }
}

pub(super) fn part_name(name: &Name) -> Vec<u8> {
    let hash = blake3::hash(name.as_bytes()).to_hex();
    [RESERVED_PREFIX, &hash.as_bytes()[..32]].concat()
}

/// Whether a file is there as it should be, as far as the disk can keep it. Files are named when they are whole, and after
/// their time was set.
pub(crate) fn is_there(parent: impl AsFd, name: &Name, mode: u32, changed: Time, bytes: u64, keeps: Keeps) -> bool {
    statat(parent, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
            && (stat.st_mode & 0o777 == mode || !keeps.modes)
            && keeps.is_same_time(time(&stat), changed)
            && stat.st_size.unsigned_abs() == bytes
    })
}

/// Sets the permissions of a folder once everything is in it.
pub(crate) fn set_mode(top: &OwnedFd, path: &[Name], mode: u32, keeps: Keeps, shown: &Path) -> Result<(), Error> {
    let at = |error| Error::at("set the permissions of", shown, 0, error);
    let mut folder = top.try_clone().map_err(|source| Error::File { doing: "open", path: shown.to_owned(), source })?;
    for name in path {
        folder = open_folder(&folder, name.as_bytes(), OFlags::NOFOLLOW).map_err(at)?;
    }
    keeps.set_mode(&folder, mode).map_err(at)
}

/// A path as it is shown.
pub(crate) fn shown(top: &Path, names: &[Name]) -> PathBuf {
    names.iter().fold(top.to_owned(), |path, name| path.join(OsStr::from_bytes(name.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Part;

    fn name(text: &str) -> Name {
        Name::new(text.as_bytes().to_vec()).expect("a name")
    }

    fn target() -> (tempfile::TempDir, Target) {
        let folder = tempfile::tempdir().expect("a folder");
        let target = Target::open(&folder.path().join("in/here"), Case::Unknown).expect("opened");
        (folder, target)
    }

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let (_folder, target) = target();
        let path = target.top().join("a");
        let changed = Time { seconds: 1_000_000_000, nanoseconds: 5 };
        std::fs::write(target.top().join(OsStr::from_bytes(&part_name(&name("a")))), "left behind").expect("written");
        let part = Part::begin(target.folder(), name("a"), 10, true, path.clone()).expect("begun");
        part.write(b"tail", 6).expect("written");
        assert!(!path.exists());
        assert!(!is_there(target.folder(), &name("a"), 0o640, changed, 10, target.keeps()));
        part.finish(0o640, changed, Keeps::ALL).expect("finished");
        assert_eq!(std::fs::read(&path).expect("read"), b"\0\0\0\0\0\0tail");
        assert!(is_there(target.folder(), &name("a"), 0o640, changed, 10, target.keeps()));
        assert_eq!(std::fs::read_dir(target.top()).expect("read").count(), 1);
    }

    #[test]
    fn a_link_put_in_the_way_leads_nowhere() {
        let (folder, target) = target();
        let outside = folder.path().join("outside");
        std::fs::create_dir(&outside).expect("made");
        std::fs::write(outside.join("victim"), "whole").expect("written");
        std::os::unix::fs::symlink(&outside, target.top().join("sub")).expect("linked");
        let entered = enter(&target.folder(), &name("sub"), 0o755, Keeps::ALL, &target.top().join("sub"));
        assert!(matches!(entered, Err(Error::InTheWay { is: "a link", .. })), "{entered:?}");

        let part = OsStr::from_bytes(&part_name(&name("file"))).to_owned();
        std::os::unix::fs::symlink(outside.join("victim"), target.top().join(part)).expect("linked");
        std::os::unix::fs::symlink(outside.join("victim"), target.top().join("file")).expect("linked");
        let part = Part::begin(target.folder(), name("file"), 3, true, target.top().join("file")).expect("begun");
        part.write(b"new", 0).expect("written");
        part.finish(0o644, Time::default(), Keeps::ALL).expect("finished");
        assert_eq!(std::fs::read(outside.join("victim")).expect("read"), b"whole");
        assert_eq!(std::fs::read(target.top().join("file")).expect("read"), b"new");
        assert!(std::fs::symlink_metadata(target.top().join("file")).expect("there").is_file());
    }

    #[test]
    fn a_folder_swapped_after_it_was_opened_keeps_what_is_written_inside() {
        let (folder, target) = target();
        let outside = folder.path().join("outside");
        std::fs::create_dir(&outside).expect("made");
        let sub = enter(&target.folder(), &name("sub"), 0o755, Keeps::ALL, &target.top().join("sub")).expect("made");
        std::fs::rename(target.top().join("sub"), target.top().join("moved")).expect("moved");
        std::os::unix::fs::symlink(&outside, target.top().join("sub")).expect("linked");
        let part = Part::begin(Arc::new(sub), name("file"), 1, true, PathBuf::from("file")).expect("begun");
        part.finish(0o644, Time::default(), Keeps::ALL).expect("finished");
        assert!(!outside.join("file").exists());
        assert!(target.top().join("moved/file").exists());
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let (_folder, target) = target();
        std::fs::create_dir_all(target.top().join("a/b")).expect("made");
        let part = Part::begin(target.folder(), name("a"), 1, true, PathBuf::from("a")).expect("begun");
        let error = part.finish(0o644, Time::default(), Keeps::ALL).expect_err("refused");
        assert!(matches!(error, Error::InTheWay { is: "a folder", should: "a file", .. }), "{error}");
        let error = link(&target.folder(), &name("a"), b"x", Path::new("a")).expect_err("refused");
        assert!(matches!(error, Error::InTheWay { .. }), "{error}");
        assert_eq!(std::fs::read_dir(target.top()).expect("read").count(), 1, "no part is left");
    }

    #[test]
    fn names_that_differ_in_case_are_refused_where_that_is_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut target = Target::open(folder.path(), Case::Ignored).expect("opened");
        let (one, other) = (Path::new("one"), Path::new("other"));
        target.check_case(one, &name("Ä")).expect("new");
        target.check_case(&one.join("x"), &name("ä")).expect("elsewhere");
        assert!(matches!(target.check_case(one, &name("ä")), Err(Error::Case { .. })));
        target.check_case(other, &name("ä")).expect("elsewhere");
        let mut told = Target::open(folder.path(), Case::Unknown).expect("opened");
        told.check_case(one, &name("a")).expect("new");
        told.check_case(one, &name("A")).expect("this disk tells them apart");
    }

    #[test]
    fn a_dataset_that_does_not_fit_is_refused_at_once() {
        let (_folder, target) = target();
        target.check_room(1).expect("room for a byte");
        let error = target.check_room(u64::MAX).expect_err("refused").to_string();
        assert!(error.contains("free") && error.contains("run the same again"), "{error}");
    }
}
