//! Reading files that somebody may be writing.
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags, SeekFrom, Stat, fstat, seek};
use rustix::io::Errno;

use crate::index::Stamp;
use crate::manifest::Time;

/// How often a file is read again that changed meanwhile.
pub const TRIES_MAX: usize = 3;
/// Shorter holes are read as zeros: they would cost more as extents.
const HOLE_BYTES_MIN: u64 = 64 * 1024;

/// What was read of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// How the file was afterwards.
    pub stamp: Stamp,
    /// When it was changed.
    pub changed: Time,
    /// Whether it stayed as it was while it was read.
    pub is_steady: bool,
}

/// Opens a file by the names down to it, with a zero byte between them, without following any link.
pub fn open(top: impl AsFd, path: &[u8]) -> rustix::io::Result<OwnedFd> {
    let path: Vec<u8> = path.iter().map(|byte| if *byte == 0 { b'/' } else { *byte }).collect();
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(&top, &path[..], flags, Mode::empty(), resolve) {
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    rustix::fs::openat(top, &path[..], flags, Mode::empty())
}

/// By what a file is known if it stays as it is.
pub fn status(stat: &Stat) -> Stamp {
    let nanoseconds = |seconds: i64, nanoseconds: u64| {
        seconds.saturating_mul(1_000_000_000).saturating_add(i64::try_from(nanoseconds).unwrap_or(0))
    };
    Stamp {
        device: stat.st_dev,
        inode: stat.st_ino,
        bytes: stat.st_size.unsigned_abs(),
        modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
    }
}

pub(super) fn time(stat: &Stat) -> Time {
    Time { seconds: stat.st_mtime, nanoseconds: u32::try_from(stat.st_mtime_nsec).unwrap_or(0) }
}

/// How an open file is now.
pub fn stamp(file: impl AsFd) -> rustix::io::Result<(Stamp, Time)> {
    let stat = fstat(file)?;
    Ok((status(&stat), time(&stat)))
}

/// Appends a small file to `to`, but no more than `max` bytes, and reads it again if it changed meanwhile.
pub fn read_small(
    top: impl AsFd,
    path: &[u8],
    before: Stamp,
    max: usize,
    to: &mut Vec<u8>,
) -> std::io::Result<Content> {
    let (start, mut before, mut tries) = (to.len(), before, 0);
    loop {
        let file = open(&top, path)?;
        let room = usize::try_from(before.bytes).unwrap_or(max).min(max) + 1;
        to.reserve(room);
        // A file as long as it was is read by one call: there is room for one byte more, and none comes.
        while to.len() - start <= max && rustix::io::read(&file, spare_capacity(to))? > 0 && to.len() - start >= room {
            to.reserve(max);
        }
        let (stamp, changed) = stamp(&file)?;
        let read = to.len() - start;
        let is_steady = stamp == before && read as u64 == stamp.bytes && read <= max;
        tries += 1;
        if is_steady || tries == TRIES_MAX {
            to.truncate(start + max);
            return Ok(Content { stamp, changed, is_steady });
        }
        to.truncate(start);
        before = stamp;
    }
}

/// A stretch of a file that is no hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRange {
    /// Where it begins.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
}

/// The stretches of a file of this size that are no holes, from `at` on: the next one.
pub fn data_ranges(file: impl AsFd, at: u64, bytes: u64) -> rustix::io::Result<Option<DataRange>> {
    if at >= bytes {
        return Ok(None);
    }
    let whole = DataRange { start: at, end: bytes };
    let start = match seek(&file, SeekFrom::Data(at)) {
        Ok(start) if start >= bytes => return Ok(None),
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some(whole)),
        Err(error) => return Err(error),
    };
    let start = if start - at < HOLE_BYTES_MIN { at } else { start };
    let mut end = start;
    loop {
        end = seek(&file, SeekFrom::Hole(end))?.min(bytes);
        match seek(&file, SeekFrom::Data(end)) {
            Ok(next) if next - end < HOLE_BYTES_MIN && next < bytes && next > end => end = next,
            Ok(_) => return Ok(Some(DataRange { start, end })),
            Err(Errno::NXIO) => {
                let end = if bytes - end < HOLE_BYTES_MIN { bytes } else { end };
                return Ok(Some(DataRange { start, end }));
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn holes_are_found_and_short_ones_ignored() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(100 << 20).expect("sized");
        for at in [1 << 20, (1 << 20) + 20_000, 50 << 20] {
            file.write_all_at(&[1; 4096], at).expect("written");
        }
        let (mut at, mut ranges) = (0, Vec::new());
        while let Some(range) = data_ranges(&file, at, 100 << 20).expect("found") {
            at = range.end;
            ranges.push(range);
        }
        assert_eq!(ranges.len(), 2, "{ranges:?}");
        assert!(ranges[0].start <= 1 << 20 && ranges[0].end >= (1 << 20) + 24_096, "{ranges:?}");
        assert!(ranges[1].start <= 50 << 20 && ranges[1].end >= (50 << 20) + 4096, "{ranges:?}");
        assert!(ranges.iter().map(|range| range.end - range.start).sum::<u64>() < 1 << 20, "{ranges:?}");
    }

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        std::fs::create_dir(path.join("real")).expect("made");
        std::fs::write(path.join("real/file"), "text").expect("written");
        std::os::unix::fs::symlink("real", path.join("link")).expect("linked");
        std::os::unix::fs::symlink("file", path.join("real/other")).expect("linked");
        let top = File::open(path).expect("opened");
        assert!(open(&top, b"real\0file").is_ok());
        assert!(open(&top, b"link\0file").is_err());
        assert!(open(&top, b"real\0other").is_err());
    }

    #[test]
    fn a_file_that_changed_since_it_was_seen_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a"), "new text").expect("written");
        let top = File::open(folder.path()).expect("opened");
        let mut text = b"before ".to_vec();
        let content = read_small(&top, b"a", Stamp { bytes: 3, ..Stamp::default() }, 1000, &mut text).expect("read");
        assert!(content.is_steady);
        assert_eq!(text, b"before new text");
        let content = read_small(&top, b"a", content.stamp, 3, &mut text).expect("read");
        assert!(!content.is_steady, "it is longer than what was read");
        assert_eq!(text, b"before new textnew");
    }
}
