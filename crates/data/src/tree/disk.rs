//! What a disk keeps of a file. Sticks, cards and disks of other systems keep less than this one's own; it is found out by
//! trying.
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, fchmod, fstat, futimens, openat, statat, unlinkat};

use super::read::time;
use crate::manifest::Time;

/// What is set to see what comes back. The second is odd, because some disks keep every other one.
const TRIED: Time = Time { seconds: 1_000_000_001, nanoseconds: 123_456_789 };
const TRIED_MODE: u32 = 0o640;

/// What a disk keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keeps {
    /// Small and capital letters are told apart.
    pub(super) case: bool,
    pub(super) modes: bool,
    /// Times are kept to within so many nanoseconds.
    pub(super) time_nanos: u64,
}

impl Keeps {
    pub(super) const ALL: Self = Self { case: true, modes: true, time_nanos: 1 };

    /// Finds out, with a file of a reserved name that is gone afterwards.
    pub(super) fn try_out(folder: &OwnedFd) -> rustix::io::Result<Self> {
        let (small, capital) = (".gleaner-part-case", ".GLEANER-PART-CASE");
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(folder, small, flags, Mode::RUSR | Mode::WUSR)?;
        let case = statat(folder, capital, AtFlags::SYMLINK_NOFOLLOW).is_err();
        let kept = Self::of_file(&file);
        drop(file);
        unlinkat(folder, small, AtFlags::empty())?;
        Ok(Self { case, ..kept? })
    }

    fn of_file(file: &OwnedFd) -> rustix::io::Result<Self> {
        let is_set = fchmod(file, Mode::from_raw_mode(TRIED_MODE)).is_ok();
        let tried = Timespec { tv_sec: TRIED.seconds, tv_nsec: TRIED.nanoseconds.into() };
        futimens(file, &Timestamps { last_access: tried, last_modification: tried })?;
        let stat = fstat(file)?;
        let modes = is_set && stat.st_mode & 0o777 == TRIED_MODE;
        let lost = distance(time(&stat), TRIED);
        // A disk loses less than a step of its clock: the next round number is one.
        let time_nanos = [1, 100, 1000, 1_000_000, 1_000_000_000, 2_000_000_000].into_iter().find(|step| lost < *step);
        Ok(Self { case: true, modes, time_nanos: time_nanos.unwrap_or(2_000_000_000) })
    }

    /// Whether a time on this disk may be what has become of another one.
    pub(super) fn is_same_time(&self, found: Time, wanted: Time) -> bool {
        distance(found, wanted) < self.time_nanos
    }

    /// Sets permissions, where they can be kept.
    pub(super) fn set_mode(&self, file: impl AsFd, mode: u32) -> rustix::io::Result<()> {
        if self.modes { fchmod(file, Mode::from_raw_mode(mode)) } else { Ok(()) }
    }
}

fn distance(one: Time, other: Time) -> u64 {
    let nanos = |time: Time| i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanoseconds);
    u64::try_from((nanos(one) - nanos(other)).abs()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_same_if_the_disk_could_keep_no_more_of_it() {
        let (wanted, at) =
            (Time { seconds: 7, nanoseconds: 123_456_789 }, |seconds, nanoseconds| Time { seconds, nanoseconds });
        let coarse = |time_nanos| Keeps { time_nanos, ..Keeps::ALL };
        assert!(Keeps::ALL.is_same_time(wanted, wanted));
        assert!(!Keeps::ALL.is_same_time(at(7, 123_456_700), wanted));
        assert!(coarse(100).is_same_time(at(7, 123_456_700), wanted));
        assert!(!coarse(100).is_same_time(at(7, 123_456_600), wanted));
        assert!(coarse(2_000_000_000).is_same_time(at(6, 0), wanted));
        assert!(!coarse(2_000_000_000).is_same_time(at(4, 0), wanted));
    }
}
