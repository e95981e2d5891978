//! Copies a folder that a program may be writing, such as its checkpoint, if it stood still meanwhile.
//!
//! A copy that mixes two states of a checkpoint is worse than none, so there is either a whole one or none at all. A program
//! that never leaves its folder alone can be frozen for the moment of the copy ([`crate::Controls::freeze`]).

use crate::disk::DISK_RESERVE_BYTES;
use crate::reading::TIME_STEP_MAX;
use crate::{CollectLimits, Error, Found, Harvest, Refused, collect};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// So many changed paths are named.
const CHANGED_MAX: usize = 20;

/// What came of a copy.
#[derive(Debug)]
pub enum Snapshot {
    /// The copy is what the folder was at one moment.
    Whole {
        /// Files in it.
        files: u64,
        /// Their bytes.
        bytes: u64,
        /// The first of what was not taken, and why.
        refused: Vec<Refused>,
        /// How many were not taken.
        refused_count: u64,
    },
    /// The folder changed meanwhile, and no copy was kept. Some of what changed, by path.
    Changed(Vec<PathBuf>),
}

/// Copies `folder` to `into`, which must not exist and should lie where the program cannot see it. This takes as long as the
/// copy and belongs on a thread that may wait.
///
/// # Errors
/// If the folder is not one, holds more than the limits allow, or the copy cannot be written.
pub fn snapshot(folder: &Path, into: &Path, limits: CollectLimits) -> Result<Snapshot, Error> {
    let harvest = collect(folder, limits)?;
    check_room(into, harvest.bytes)?;
    // Nothing that was written just now could be told from what is written now.
    let now = SystemTime::now();
    if harvest.files.iter().any(|found| found.stamp.is_fresh(now)) {
        std::thread::sleep(TIME_STEP_MAX);
    }
    fs::create_dir(into).map_err(|error| Error::system(format!("making {}", into.display()), error))?;
    let taken = copy_all(&harvest, into).and_then(|changed| {
        if changed.is_empty() { Ok(differences(&harvest, &collect(folder, limits)?)) } else { Ok(changed) }
    });
    match taken {
        Ok(changed) if changed.is_empty() => Ok(Snapshot::Whole {
            files: harvest.files.len() as u64,
            bytes: harvest.bytes,
            refused: harvest.refused,
            refused_count: harvest.refused_count,
        }),
        Ok(changed) => {
            let _ = fs::remove_dir_all(into);
            Ok(Snapshot::Changed(changed))
        }
        Err(error) => {
            let _ = fs::remove_dir_all(into);
            Err(error)
        }
    }
}

fn check_room(into: &Path, bytes: u64) -> Result<(), Error> {
    let beside = into.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let free = rustix::fs::statvfs(beside).map_or(u64::MAX, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    if free < bytes.saturating_add(DISK_RESERVE_BYTES) {
        return Err(Error::unavailable(
            format!("there is no room for a copy of {bytes} bytes at {}", beside.display()),
            "Free some space on that disk",
        ));
    }
    Ok(())
}

/// Copies until something turns out to have changed, which is named then.
fn copy_all(harvest: &Harvest, into: &Path) -> Result<Vec<PathBuf>, Error> {
    for folder in &harvest.folders {
        fs::create_dir(into.join(folder)).map_err(|error| Error::system("making a folder of a copy", error))?;
    }
    for found in &harvest.files {
        if !copy(harvest, found, into)? {
            return Ok(vec![found.path.clone()]);
        }
    }
    Ok(Vec::new())
}

/// Copies one file; false if it is not any more what it was.
fn copy(harvest: &Harvest, found: &Found, into: &Path) -> Result<bool, Error> {
    // What cannot be opened any more was replaced or closed.
    let Ok(mut from) = harvest.read(found) else { return Ok(false) };
    let mode = if found.executable { 0o755 } else { 0o644 };
    let failed = |error| Error::system(format!("copying {}", found.path.display()), error);
    let mut to =
        OpenOptions::new().write(true).create_new(true).mode(mode).open(into.join(&found.path)).map_err(failed)?;
    match io::copy(&mut from, &mut to) {
        Ok(count) => Ok(count == found.bytes),
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

/// What was added, removed or changed between two looks.
fn differences(before: &Harvest, after: &Harvest) -> Vec<PathBuf> {
    let files = |harvest: &Harvest, other: &Harvest| {
        let has = |found: &&Found| {
            let at = other.files.binary_search_by(|candidate| candidate.path.cmp(&found.path));
            at.is_ok_and(|at| other.files[at].stamp == found.stamp)
        };
        harvest.files.iter().filter(|found| !has(found)).map(|found| found.path.clone()).collect::<Vec<_>>()
    };
    let folders = |harvest: &Harvest, other: &Harvest| {
        let missing = |folder: &&PathBuf| other.folders.binary_search(folder).is_err();
        harvest.folders.iter().filter(missing).cloned().collect::<Vec<_>>()
    };
    let mut all = [files(before, after), files(after, before), folders(before, after), folders(after, before)].concat();
    all.sort();
    all.dedup();
    all.truncate(CHANGED_MAX);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    const LIMITS: CollectLimits = CollectLimits { files: 1000, bytes: 1 << 20 };

    fn checkpoint() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let home = tempfile::tempdir().expect("a temporary folder");
        let (from, into) = (home.path().join("checkpoint"), home.path().join("copy"));
        fs::create_dir_all(from.join("deep/empty")).expect("folders");
        fs::write(from.join("deep/state"), "step 1").expect("a file");
        (home, from, into)
    }

    #[test]
    fn folder_that_stands_still_is_copied_whole() {
        let (_home, from, into) = checkpoint();
        std::os::unix::fs::symlink("/etc/shadow", from.join("link")).expect("a link");
        let taken = snapshot(&from, &into, LIMITS).expect("a copy");
        assert!(matches!(taken, Snapshot::Whole { files: 1, bytes: 6, refused_count: 1, .. }), "{taken:?}");
        assert_eq!(fs::read_to_string(into.join("deep/state")).expect("the copy"), "step 1");
        assert!(into.join("deep/empty").is_dir() && !into.join("link").exists());
    }

    #[test]
    fn file_that_changes_while_it_is_read_is_noticed() {
        let (_home, from, _into) = checkpoint();
        std::thread::sleep(TIME_STEP_MAX * 2);
        let harvest = collect(&from, LIMITS).expect("a harvest");
        let mut reading = harvest.read(&harvest.files[0]).expect("opening");
        let mut byte = [0];
        reading.read_exact(&mut byte).expect("a byte");
        fs::write(from.join("deep/state"), "step 2").expect("a change of the same length");
        let error = reading.read_to_end(&mut Vec::new()).expect_err("it changed");
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
    }

    #[test]
    fn file_that_grows_is_read_no_further_than_it_was() {
        let (_home, from, _into) = checkpoint();
        std::thread::sleep(TIME_STEP_MAX * 2);
        let harvest = collect(&from, LIMITS).expect("a harvest");
        let mut reading = harvest.read(&harvest.files[0]).expect("opening");
        let mut file = OpenOptions::new().append(true).open(from.join("deep/state")).expect("opening");
        file.write_all(&[b'x'; 1000]).expect("growing");
        let mut read = Vec::new();
        let _ = reading.read_to_end(&mut read).expect_err("it changed");
        assert_eq!(read, b"step 1");
    }

    #[test]
    fn change_between_two_looks_is_named() {
        let (_home, from, _into) = checkpoint();
        std::thread::sleep(TIME_STEP_MAX * 2);
        let before = collect(&from, LIMITS).expect("a harvest");
        fs::write(from.join("deep/state"), "step 2").expect("a change");
        fs::write(from.join("new"), "").expect("a new file");
        fs::remove_dir(from.join("deep/empty")).expect("removing");
        let after = collect(&from, LIMITS).expect("a harvest");
        assert_eq!(differences(&before, &after), ["deep/empty", "deep/state", "new"].map(PathBuf::from));
        assert!(differences(&after, &after).is_empty());
    }

    #[test]
    fn file_that_was_replaced_or_removed_ends_the_copy() {
        let (_home, from, into) = checkpoint();
        std::thread::sleep(TIME_STEP_MAX * 2);
        fs::create_dir(&into).expect("a folder");
        let harvest = collect(&from, LIMITS).expect("a harvest");
        fs::write(from.join("next"), "step 1").expect("a file");
        fs::rename(from.join("next"), from.join("deep/state")).expect("replacing it by the same");
        assert_eq!(copy_all(&harvest, &into).expect("a look"), [PathBuf::from("deep/state")]);
    }

    #[test]
    fn copy_never_lands_in_a_folder_that_is_there() {
        let (_home, from, into) = checkpoint();
        fs::create_dir(&into).expect("a folder");
        assert!(snapshot(&from, &into, LIMITS).is_err());
        assert!(into.is_dir(), "what was there stays");
    }
}
