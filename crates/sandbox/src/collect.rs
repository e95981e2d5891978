//! Takes up what a program left, without being led anywhere else by it.
//!
//! Only regular files and folders are taken. Links are never followed, devices, pipes and sockets never opened, and a
//! file is opened again only if it still is the one that was seen. What changes while it is read is noticed.

use crate::Error;
use crate::reading::{Reading, Stamp};
use crate::walk::{Closed, Met, open_root, walk};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// So many refusals are kept; the rest is only counted.
pub const REFUSED_MAX: usize = 100;

/// How much is taken at most.
#[derive(Debug, Clone, Copy)]
pub struct CollectLimits {
    /// Files and folders.
    pub files: u64,
    /// Bytes of all files, as long as they claim to be.
    pub bytes: u64,
}

/// What a program left.
#[derive(Debug)]
pub struct Harvest {
    root: OwnedFd,
    /// Its regular files, by path.
    pub files: Vec<Found>,
    /// Its folders, by path, each before what is in it.
    pub folders: Vec<PathBuf>,
    /// The first of what was not taken, and why.
    pub refused: Vec<Refused>,
    /// How many were not taken.
    pub refused_count: u64,
    /// Length of all files.
    pub bytes: u64,
}

/// A regular file that a program left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it lies below the folder.
    pub path: PathBuf,
    /// How long it is.
    pub bytes: u64,
    /// Whether its owner may execute it. No other bit of its mode is kept.
    pub executable: bool,
    pub(crate) stamp: Stamp,
}

/// Something that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Where it lies below the folder.
    pub path: PathBuf,
    /// Why it was not taken.
    pub why: Why,
}

/// Why something was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A symbolic link, wherever it points.
    Link,
    /// A device node.
    Device,
    /// A named pipe or a socket.
    Channel,
    /// A file that also has a name outside the folder.
    LinkedFromOutside,
    /// On another file system than the folder.
    MountedHere,
    /// A folder that cannot be read.
    Unreadable,
    /// A folder deeper than is taken.
    TooDeep,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Link => "a symbolic link",
            Self::Device => "a device node",
            Self::Channel => "a named pipe or a socket",
            Self::LinkedFromOutside => "a file that also lies elsewhere",
            Self::MountedHere => "on another file system",
            Self::Unreadable => "cannot be read",
            Self::TooDeep => "too many folders deep",
        })
    }
}

/// Looks through the folder. It may be done while the program runs: what changes meanwhile is taken as it was or is passed
/// over, and [`Harvest::read`] notices it. [`crate::snapshot()`] copies a folder that stood still.
///
/// # Errors
/// If the folder is not one, or holds more than the limits allow.
pub fn collect(folder: &Path, limits: CollectLimits) -> Result<Harvest, Error> {
    let failed = |error| Error::system(format!("opening {}", folder.display()), io::Error::from(error));
    let root = open_root(folder).map_err(failed)?;
    let device = fstat(&root).map_err(failed)?.st_dev;
    let mut harvest = Harvest::empty(root.try_clone().map_err(|error| Error::system("keeping a folder open", error))?);
    let mut names = BTreeMap::<u64, u64>::new();
    let mut links = BTreeMap::<u64, u64>::new();
    let flow = walk(&root, &mut |met| {
        match met {
            Met::Closed(path, Closed::TooDeep) => harvest.refuse(path, Why::TooDeep),
            Met::Closed(path, Closed::Unreadable) => harvest.refuse(path, Why::Unreadable),
            Met::Entry(path, stat) if stat.st_dev != device => harvest.refuse(path, Why::MountedHere),
            Met::Entry(path, stat) => {
                harvest.take(path, stat);
                *names.entry(stat.st_ino).or_default() += 1;
                links.insert(stat.st_ino, wide(stat.st_nlink));
            }
        }
        let count = harvest.files.len() as u64 + harvest.folders.len() as u64 + harvest.refused_count;
        if count > limits.files || harvest.bytes > limits.bytes {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    if flow.is_break() {
        return Err(Error::Refused(format!("it left more than {} files or {} bytes", limits.files, limits.bytes)));
    }
    harvest.drop_linked_from_outside(|inode| links.get(&inode) > names.get(&inode));
    harvest.files.sort_by(|left, right| left.path.cmp(&right.path));
    harvest.folders.sort();
    Ok(harvest)
}

/// Its width differs between processors.
fn wide(count: impl Into<u64>) -> u64 {
    count.into()
}

impl Harvest {
    fn empty(root: OwnedFd) -> Self {
        Self { root, files: Vec::new(), folders: Vec::new(), refused: Vec::new(), refused_count: 0, bytes: 0 }
    }

    fn refuse(&mut self, path: &Path, why: Why) {
        self.refused_count += 1;
        if self.refused.len() < REFUSED_MAX {
            self.refused.push(Refused { path: path.to_owned(), why });
        }
    }

    fn take(&mut self, path: &Path, stat: &Stat) {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let bytes = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
                self.bytes = self.bytes.saturating_add(bytes);
                let executable = stat.st_mode & 0o100 != 0;
                self.files.push(Found { path: path.to_owned(), bytes, executable, stamp: Stamp::of(stat) });
            }
            FileType::Directory => self.folders.push(path.to_owned()),
            FileType::Symlink => self.refuse(path, Why::Link),
            FileType::Fifo | FileType::Socket => self.refuse(path, Why::Channel),
            FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => self.refuse(path, Why::Device),
        }
    }

    /// A file with more names than were met has one elsewhere: it may be anybody's.
    fn drop_linked_from_outside(&mut self, outside: impl Fn(u64) -> bool) {
        let (foreign, own): (Vec<_>, Vec<_>) = self.files.drain(..).partition(|found| outside(found.stamp.inode));
        self.files = own;
        for found in foreign {
            self.bytes = self.bytes.saturating_sub(found.bytes);
            self.refuse(&found.path, Why::LinkedFromOutside);
        }
    }

    /// Opens a file that was found, for reading.
    ///
    /// # Errors
    /// If it is no longer there, or something else took its place.
    pub fn open(&self, found: &Found) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let file = openat2(self.root.as_fd(), &found.path, flags, Mode::empty(), within)?;
        let stat = fstat(&file)?;
        if !Stamp::of(&stat).same_file(&found.stamp) || FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other(format!("{} was replaced meanwhile", found.path.display())));
        }
        Ok(File::from(file))
    }

    /// Opens a file that was found, to read it as it was then: no more bytes than it had, and an error of the kind
    /// [`io::ErrorKind::ResourceBusy`], at the latest at its end, if it has changed since it was found.
    ///
    /// # Errors
    /// If it is no longer there, or something else took its place.
    pub fn read(&self, found: &Found) -> io::Result<Reading> {
        Reading::new(self.open(found)?, found.stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    const LIMITS: CollectLimits = CollectLimits { files: 1000, bytes: 1 << 20 };

    fn out() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().expect("a temporary folder");
        let out = home.path().join("out");
        fs::create_dir_all(out.join("sub")).expect("folders");
        fs::write(out.join("sub/result"), "good").expect("a file");
        (home, out)
    }

    fn whys(harvest: &Harvest) -> Vec<(&str, Why)> {
        harvest.refused.iter().map(|refused| (refused.path.to_str().expect("a name"), refused.why)).collect()
    }

    #[test]
    fn plain_files_are_taken_and_read() {
        let (_home, out) = out();
        let harvest = collect(&out, LIMITS).expect("a harvest");
        assert_eq!(harvest.folders, [PathBuf::from("sub")]);
        let mut text = String::new();
        harvest.open(&harvest.files[0]).expect("opening").read_to_string(&mut text).expect("reading");
        assert_eq!((text.as_str(), harvest.bytes, harvest.refused_count), ("good", 4, 0));
    }

    #[test]
    fn links_are_not_followed() {
        let (_home, out) = out();
        symlink("/etc/shadow", out.join("shadow")).expect("a link");
        symlink("/etc", out.join("etc")).expect("a link");
        symlink("..", out.join("sub/up")).expect("a link");
        let harvest = collect(&out, LIMITS).expect("a harvest");
        let mut found = whys(&harvest);
        found.sort_by_key(|(path, _)| *path);
        assert_eq!(found, [("etc", Why::Link), ("shadow", Why::Link), ("sub/up", Why::Link)]);
        assert_eq!(harvest.files.len(), 1);
    }

    #[test]
    fn file_with_a_name_outside_is_refused_and_one_with_two_names_inside_is_not() {
        let (home, out) = out();
        fs::write(home.path().join("wallet"), "secret").expect("a secret");
        fs::hard_link(home.path().join("wallet"), out.join("mine")).expect("a hard link");
        fs::hard_link(out.join("sub/result"), out.join("twice")).expect("a hard link");
        let harvest = collect(&out, LIMITS).expect("a harvest");
        assert_eq!(whys(&harvest), [("mine", Why::LinkedFromOutside)]);
        assert_eq!(harvest.files.len(), 2);
        assert_eq!(harvest.bytes, 8);
    }

    #[test]
    fn pipes_and_sockets_are_refused_without_waiting_for_a_writer() {
        let (_home, out) = out();
        let _socket = std::os::unix::net::UnixListener::bind(out.join("socket")).expect("a socket");
        rustix::fs::mknodat(rustix::fs::CWD, out.join("pipe"), FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
        let harvest = collect(&out, LIMITS).expect("a harvest");
        assert_eq!(harvest.refused_count, 2);
        assert!(whys(&harvest).iter().all(|(_, why)| *why == Why::Channel));
    }

    #[test]
    fn file_that_was_swapped_for_a_link_is_not_opened() {
        let (home, out) = out();
        fs::write(home.path().join("wallet"), "secret").expect("a secret");
        let harvest = collect(&out, LIMITS).expect("a harvest");
        fs::remove_file(out.join("sub/result")).expect("removing");
        symlink(home.path().join("wallet"), out.join("sub/result")).expect("a link");
        assert!(harvest.open(&harvest.files[0]).is_err());
    }

    #[test]
    fn folder_that_was_swapped_for_a_link_leads_nowhere() {
        let (home, out) = out();
        let harvest = collect(&out, LIMITS).expect("a harvest");
        fs::rename(out.join("sub"), home.path().join("elsewhere")).expect("moving");
        symlink(home.path().join("elsewhere"), out.join("sub")).expect("a link");
        assert!(harvest.open(&harvest.files[0]).is_err());
    }

    #[test]
    fn file_that_claims_to_be_huge_is_refused() {
        let (_home, out) = out();
        File::create(out.join("holes")).and_then(|file| file.set_len(1 << 30)).expect("a file with holes");
        assert!(matches!(collect(&out, LIMITS), Err(Error::Refused(_))));
    }

    #[test]
    fn folder_that_is_a_link_is_not_entered() {
        let (home, out) = out();
        symlink(&out, home.path().join("link")).expect("a link");
        assert!(collect(&home.path().join("link"), LIMITS).is_err());
    }
}
