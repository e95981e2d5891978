//! Files of a user's folder as HTTP writes them: a part beside, which takes its place when it is whole.
//!
//! Every step opens one plain name in a folder that is already open, and follows no link. So there is no path that could
//! lead out, whatever is renamed or linked meanwhile.
use crate::name::{OWN_PREFIX, Spot, Top, User};
use gleaner_wire::Hash;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Parts that nobody has gone on with for this long are removed by a scan.
const PART_AGE_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A file of which something has arrived.
#[derive(Debug)]
pub struct Part {
    /// What has arrived; what is written goes to its end.
    pub file: File,
    /// How much that is.
    pub bytes: u64,
}

/// What is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// All of it.
    Whole {
        /// How long it is.
        bytes: u64,
        /// When it was changed, in milliseconds since 1970.
        modified_ms: u64,
    },
    /// The first bytes.
    Some(u64),
}

/// The name of the part of a file; another version of the file has another part.
pub fn part_name(spot: &Spot, modified_ms: Option<u64>) -> String {
    let mut path = format!("{}\0{}\0", spot.top.user, modified_ms.unwrap_or_default()).into_bytes();
    for name in std::iter::once(&spot.top.name).chain(&spot.below) {
        path.extend_from_slice(name.as_bytes());
        path.push(0);
    }
    format!("{OWN_PREFIX}upload-{}", &Hash::of(&path).to_string()[..32])
}

fn make_folder(parent: impl AsFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    match mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => openat(parent, name, FOLDER, Mode::empty()),
        Err(error) => Err(error),
    }
}

/// The folder of a user, made if there is none.
pub fn user_folder(all: &Path, user: &User) -> rustix::io::Result<OwnedFd> {
    let folder = openat(CWD, all, FOLDER, Mode::empty())?;
    make_folder(folder, user.as_str().as_bytes())
}

/// Opens or makes the part of a file.
pub fn open_part(all: &Path, spot: &Spot, modified_ms: Option<u64>) -> io::Result<Part> {
    let folder = user_folder(all, &spot.top.user)?;
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, part_name(spot, modified_ms), flags, Mode::from_raw_mode(0o644))?;
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL.into());
    }
    Ok(Part { file: File::from(file), bytes: stat.st_size.unsigned_abs() })
}

/// Removes the part of a file, if there is one.
pub fn remove_part(all: &Path, spot: &Spot, modified_ms: Option<u64>) -> io::Result<()> {
    let folder = user_folder(all, &spot.top.user)?;
    match unlinkat(folder, part_name(spot, modified_ms), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// How much of a file has arrived.
pub fn arrived(all: &Path, spot: &Spot, modified_ms: Option<u64>) -> io::Result<Arrived> {
    let folder = user_folder(all, &spot.top.user)?;
    match statat(&folder, part_name(spot, modified_ms), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => return Ok(Arrived::Some(stat.st_size.unsigned_abs())),
        Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let mut names: Vec<_> = std::iter::once(&spot.top.name).chain(&spot.below).collect();
    let (mut parent, last) = (folder, names.pop().expect("a spot has a name"));
    for name in names {
        parent = match openat(&parent, name.as_bytes(), FOLDER, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Arrived::Some(0)),
            Err(error) => return Err(error.into()),
        };
    }
    match statat(&parent, last.as_bytes(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
            let nanos = u64::from(u32::try_from(stat.st_mtime_nsec).unwrap_or_default());
            let modified_ms = u64::try_from(stat.st_mtime).unwrap_or_default() * 1000 + nanos / 1_000_000;
            Ok(Arrived::Whole { bytes: stat.st_size.unsigned_abs(), modified_ms })
        }
        Ok(_) | Err(Errno::NOENT) => Ok(Arrived::Some(0)),
        Err(error) => Err(error.into()),
    }
}

/// Puts a whole part in its place. Folders on the way are made.
pub fn finish(all: &Path, spot: &Spot, modified_ms: Option<u64>, file: &File) -> io::Result<()> {
    if let Some(modified) = modified_ms.and_then(|ms| SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms))) {
        file.set_modified(modified)?;
    }
    file.sync_all()?;
    let folder = user_folder(all, &spot.top.user)?;
    let mut names: Vec<_> = std::iter::once(&spot.top.name).chain(&spot.below).collect();
    let last = names.pop().expect("a spot has a name");
    let mut parent = folder.try_clone()?;
    for name in names {
        parent = make_folder(&parent, name.as_bytes())?;
    }
    Ok(renameat(&folder, part_name(spot, modified_ms), &parent, last.as_bytes())?)
}

/// Removes a file or folder.
pub fn discard(all: &Path, top: &Top) -> io::Result<()> {
    let folder = user_folder(all, &top.user)?;
    match statat(&folder, top.name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
            // It follows no link either.
            std::fs::remove_dir_all(all.join(top.user.as_str()).join(top.name.as_os()))
        }
        Ok(_) => Ok(unlinkat(&folder, top.name.as_bytes(), AtFlags::empty())?),
    }
}

/// Every top of every user. Old parts are removed on the way.
pub fn scan(all: &Path) -> io::Result<Vec<Top>> {
    let mut tops = Vec::new();
    for entry in std::fs::read_dir(all)? {
        let entry = entry?;
        let Some(user) = entry.file_name().to_str().and_then(User::parse) else { continue };
        if !entry.file_type()?.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(entry.path())? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.starts_with(OWN_PREFIX)) {
                let age = entry.metadata().and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
                if age.is_some_and(|age| age > PART_AGE_MAX) {
                    std::fs::remove_file(entry.path())?;
                }
            } else {
                tops.extend(Top::new(user.clone(), name.as_encoded_bytes()));
            }
        }
    }
    Ok(tops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let dir = tempfile::tempdir().expect("a folder");
        let (inbox, outside) = (dir.path().join("inbox"), dir.path().join("outside"));
        std::fs::create_dir_all(inbox.join("ada")).expect("made");
        std::fs::create_dir(&outside).expect("made");
        std::os::unix::fs::symlink(&outside, inbox.join("ada/link")).expect("linked");
        let spot = Spot::parse("ada", "link/file").expect("a plain path");
        let mut part = open_part(&inbox, &spot, None).expect("made");
        part.file.write_all(b"text").expect("written");
        assert!(finish(&inbox, &spot, None, &part.file).is_err());
        assert_eq!(std::fs::read_dir(&outside).expect("there").count(), 0);
        assert_eq!(arrived(&inbox, &spot, None).expect("asked"), Arrived::Some(4), "it stays beside");
    }

    #[test]
    fn a_file_is_in_its_place_once_it_is_whole_and_has_its_time() {
        let dir = tempfile::tempdir().expect("a folder");
        let spot = Spot::parse("ada", "scene/deep/file").expect("a plain path");
        let mut part = open_part(dir.path(), &spot, Some(1_234_567)).expect("made");
        part.file.write_all(b"text").expect("written");
        assert_eq!(open_part(dir.path(), &spot, Some(1_234_567)).expect("there").bytes, 4);
        assert_eq!(open_part(dir.path(), &spot, Some(7)).expect("made").bytes, 0, "another version");
        assert!(scan(dir.path()).expect("read").is_empty(), "parts are no datasets");
        finish(dir.path(), &spot, Some(1_234_567), &part.file).expect("placed");
        let whole = Arrived::Whole { bytes: 4, modified_ms: 1_234_567 };
        assert_eq!(arrived(dir.path(), &spot, Some(1_234_567)).expect("asked"), whole);
        assert_eq!(scan(dir.path()).expect("read"), [spot.top]);
    }
}
