//! How many bytes the folders hold, and may.
//!
//! The books are kept along with every write. The hub takes files away behind the server's back, so before anybody is
//! refused, and whenever somebody comes, the folders are counted again.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, statat};
use rustix::io::Errno;

use crate::folder::beneath;
use crate::refusal::Refusal;

/// What an entry of a folder costs beside its bytes: about what a disk needs for it. It bounds how many there can be.
pub(crate) const ENTRY_BYTES: u64 = 4096;
/// A full folder is not counted more often than this.
const RECOUNT_GAP: Duration = Duration::from_secs(30);

/// What a file counts for.
pub(crate) fn weight(stat: &Stat) -> u64 {
    let bytes = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => stat.st_size.unsigned_abs(),
        _ => 0,
    };
    bytes.saturating_add(ENTRY_BYTES)
}

/// The books of all folders.
#[derive(Debug)]
pub(crate) struct Quota {
    all: OwnedFd,
    all_bytes_max: u64,
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    used: BTreeMap<String, u64>,
    counted: Option<Instant>,
}

impl Books {
    fn all(&self) -> u64 {
        self.used.values().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }
}

impl Quota {
    /// Opens the books for the folders in `all`, and counts them.
    pub(crate) fn open(all: OwnedFd, all_bytes_max: u64) -> Result<Self, Errno> {
        let quota = Self { all, all_bytes_max, books: Mutex::default() };
        quota.recount()?;
        Ok(quota)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts all folders anew, those that are gone as well.
    fn recount(&self) -> Result<(), Errno> {
        let mut names: BTreeSet<String> = {
            let mut books = self.books();
            books.counted = Some(Instant::now());
            books.used.keys().cloned().collect()
        };
        for entry in Dir::read_from(&self.all)? {
            if let Ok(name) = entry?.file_name().to_str()
                && name != "."
                && name != ".."
            {
                names.insert(name.to_string());
            }
        }
        names.iter().try_for_each(|name| self.recount_folder(name))
    }

    /// Counts one folder anew. Nobody waits for it, so what was taken meanwhile may be counted twice; what is there is
    /// never counted for less than it is.
    pub(crate) fn recount_folder(&self, folder: &str) -> Result<(), Errno> {
        let before = self.used(folder);
        let bytes = count(&self.all, folder)?;
        let mut books = self.books();
        let used = books.used.entry(folder.to_string()).or_default();
        *used = bytes.saturating_add(used.saturating_sub(before));
        Ok(())
    }

    /// Writes down that a folder grows, before it does.
    pub(crate) fn take(&self, folder: &str, folder_bytes_max: u64, bytes: u64) -> Result<(), Refusal> {
        if bytes == 0 {
            return Ok(());
        }
        let taken = self.try_take(folder, folder_bytes_max, bytes);
        let is_stale = self.books().counted.is_none_or(|at| at.elapsed() >= RECOUNT_GAP);
        if taken.is_ok() || !is_stale {
            return taken;
        }
        self.recount()?;
        self.try_take(folder, folder_bytes_max, bytes)
    }

    fn try_take(&self, folder: &str, folder_bytes_max: u64, bytes: u64) -> Result<(), Refusal> {
        let mut books = self.books();
        if let Some(refusal) = self.excess(&books, folder, folder_bytes_max, bytes) {
            return Err(refusal);
        }
        let used = books.used.entry(folder.to_string()).or_default();
        *used = used.saturating_add(bytes);
        Ok(())
    }

    fn excess(&self, books: &Books, folder: &str, folder_bytes_max: u64, bytes: u64) -> Option<Refusal> {
        let used = books.used.get(folder).copied().unwrap_or(0);
        if used.saturating_add(bytes) > folder_bytes_max {
            let words = format!("your folder is full: it holds {used} of {folder_bytes_max} bytes");
            return Some(Refusal::failed(words));
        }
        if books.all().saturating_add(bytes) > self.all_bytes_max {
            return Some(Refusal::failed("the hub has no room left for uploads; try again later"));
        }
        None
    }

    /// Writes down that a folder shrank.
    pub(crate) fn give(&self, folder: &str, bytes: u64) {
        if let Some(used) = self.books().used.get_mut(folder) {
            *used = used.saturating_sub(bytes);
        }
    }

    /// What a folder holds, by the books.
    pub(crate) fn used(&self, folder: &str) -> u64 {
        self.books().used.get(folder).copied().unwrap_or(0)
    }
}

/// What a folder holds. One that is nested too deep to be counted counts as full.
fn count(all: impl AsFd, folder: &str) -> Result<u64, Errno> {
    let mut bytes = 0_u64;
    let mut left = vec![folder.as_bytes().to_vec()];
    while let Some(path) = left.pop() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let opened = match beneath(&all, &path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Err(Errno::NAMETOOLONG) => return Ok(u64::MAX),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            opened => opened?,
        };
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let Ok(stat) = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            bytes = bytes.saturating_add(weight(&stat));
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                left.push([&path[..], b"/", name.to_bytes()].concat());
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, openat};

    use super::*;

    fn quota(all_bytes_max: u64) -> (tempfile::TempDir, Quota) {
        let all = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir_all(all.path().join("ada/deep")).expect("folders");
        std::fs::write(all.path().join("ada/deep/file"), [0; 1000]).expect("a file");
        let root = openat(CWD, all.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("it opens");
        let quota = Quota::open(root, all_bytes_max).expect("it is counted");
        (all, quota)
    }

    #[test]
    fn what_is_there_already_counts() {
        let (_all, quota) = quota(u64::MAX);
        assert_eq!(quota.used("ada"), 1000 + 2 * ENTRY_BYTES);
    }

    #[test]
    fn a_folder_may_be_filled_to_the_last_byte_and_no_further() {
        let (_all, quota) = quota(u64::MAX);
        let max = quota.used("ada") + 10;
        assert!(quota.take("ada", max, 10).is_ok());
        let refusal = quota.take("ada", max, 1).expect_err("it is full");
        assert_eq!(refusal.words(), "your folder is full: it holds 9202 of 9202 bytes");
        quota.give("ada", 1);
        assert!(quota.take("ada", max, 1).is_ok());
    }

    #[test]
    fn a_full_folder_is_counted_again_before_anybody_is_refused() {
        let (all, quota) = quota(u64::MAX);
        let max = quota.used("ada");
        std::fs::remove_file(all.path().join("ada/deep/file")).expect("it was there");
        assert!(quota.take("ada", max, 1000).is_err(), "it was counted a moment ago");
        quota.books().counted = None;
        assert!(quota.take("ada", max, 1000).is_ok());
    }

    #[test]
    fn a_folder_that_cannot_be_counted_is_full() {
        let (_all, quota) = quota(u64::MAX);
        quota.books().used.insert("ada".into(), u64::MAX);
        assert!(quota.take("ada", u64::MAX - 1, 1).is_err());
        assert!(quota.take("ada", u64::MAX, 1).is_ok());
        assert_eq!(quota.used("ada"), u64::MAX);
    }

    #[test]
    fn all_folders_together_are_bounded() {
        let (_all, quota) = quota(20_000);
        assert!(quota.take("bob", u64::MAX, 10_000).is_ok());
        assert!(quota.take("bob", u64::MAX, 10_000).is_err());
    }

    #[test]
    fn what_the_hub_took_away_is_found_by_counting() {
        let (all, quota) = quota(u64::MAX);
        std::fs::remove_file(all.path().join("ada/deep/file")).expect("it was there");
        quota.recount_folder("ada").expect("it can be counted");
        assert_eq!(quota.used("ada"), ENTRY_BYTES);
    }
}
