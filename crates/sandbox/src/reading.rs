//! Reads a file that somebody else may be writing, and notices if it was.

use rustix::fs::{Stat, fstat};
use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The kernel's file times are this coarse on older kernels. A file that changed so shortly before it was looked at may change
/// again and bear the same time.
pub(crate) const TIME_STEP_MAX: Duration = Duration::from_millis(20);

/// What of a file tells whether it is the same and has the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    pub(crate) inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        // The width of these numbers differs between processors.
        let nanoseconds = |value| i64::try_from(value).unwrap_or(0);
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, nanoseconds(stat.st_ctime_nsec)),
        }
    }

    pub(crate) fn same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Whether it changed so shortly before `now` that another change would not show.
    pub(crate) fn is_fresh(&self, now: SystemTime) -> bool {
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(self.changed.0), u32::try_from(self.changed.1)) else {
            return false;
        };
        let changed = UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        // A clock that was set back would make a file fresh for hours.
        let apart = now.duration_since(changed).unwrap_or_else(|error| error.duration());
        apart < TIME_STEP_MAX
    }
}

/// A file as it was when it was found. Reading ends with an error of the kind [`io::ErrorKind::ResourceBusy`] if it has
/// changed since; writes through a memory mapping may go unnoticed, so a program that does that has to be frozen meanwhile.
#[derive(Debug)]
pub struct Reading {
    file: File,
    stamp: Stamp,
    left: u64,
    opened: SystemTime,
}

impl Reading {
    pub(crate) fn new(file: File, stamp: Stamp) -> io::Result<Self> {
        let reading = Self { file, stamp, left: stamp.bytes, opened: SystemTime::now() };
        reading.check()?;
        Ok(reading)
    }

    fn check(&self) -> io::Result<()> {
        let now = Stamp::of(&fstat(&self.file)?);
        if now != self.stamp || now.is_fresh(self.opened) {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "the file is being written"));
        }
        Ok(())
    }
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.file.read(&mut buffer[..most])?;
        self.left = self.left.saturating_sub(count as u64);
        if count == 0 {
            self.check()?;
        }
        Ok(count)
    }
}
