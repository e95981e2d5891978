//! Keeps `out` and `checkpoint` within their limit by looking at them again and again.
//!
//! A file system of fixed size would need root or hold everything in memory, and a checkpoint has to be readable while the
//! program runs and after a crash of the worker. So usage is added up several times a second, together with files that have
//! no name any more but are held open, and the job is ended when it is too much. A single file is cut off by the kernel
//! at once (`RLIMIT_FSIZE`), and jobs end when only the reserve of the disk is left: that is the owner's.

use crate::process_tree::unnamed_bytes;
use crate::walk::volume;
use crate::{Error, Folder, Limits};
use rustix::fs::statvfs;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// So much of the disk stays free, whatever a job's limit is.
pub const DISK_RESERVE_BYTES: u64 = 256 << 20;
/// Looking takes at most this part of the time, however many files there are.
const SHARE_OF_TIME: u32 = 10;
const PAUSE_MIN: Duration = Duration::from_millis(200);

/// What a look at the disk saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) bytes: u64,
    pub(crate) verdict: Verdict,
    /// How long to wait before the next look.
    pub(crate) pause: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    /// The job has more than it may.
    Over,
    /// The machine has too little left, and this job is within its limit.
    MachineFull,
}

#[derive(Debug, Clone)]
pub(crate) struct Disk {
    folder: Folder,
    bytes_max: u64,
    files_max: u64,
}

impl Disk {
    /// # Errors
    /// If there is too little room to begin with.
    pub(crate) fn new(folder: &Folder, limits: &Limits) -> Result<Self, Error> {
        let disk = Self { folder: folder.clone(), bytes_max: limits.disk_bytes, files_max: limits.files };
        if disk.free() < DISK_RESERVE_BYTES {
            return Err(Error::unavailable(
                format!("less than {} MiB are free below {}", DISK_RESERVE_BYTES >> 20, folder.outputs().display()),
                "Free some space on that disk",
            ));
        }
        Ok(disk)
    }

    fn free(&self) -> u64 {
        statvfs(self.folder.outputs()).map_or(u64::MAX, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// Adds up what the job has; `processes` are those that could hold deleted files.
    pub(crate) fn look(&self, processes: &[i32]) -> Sight {
        let begun = Instant::now();
        let parts = [self.folder.outputs(), self.folder.checkpoint()];
        let (mut bytes, mut files, mut hidden) = (0_u64, 0_u64, false);
        for part in &parts {
            let sum = volume(part, self.bytes_max, self.files_max);
            bytes = bytes.saturating_add(sum.bytes);
            files = files.saturating_add(sum.files);
            hidden |= sum.hidden;
        }
        if let Ok(meta) = fs::metadata(&parts[0]) {
            bytes = bytes.saturating_add(unnamed_bytes(processes, meta.dev()));
        }
        let over = bytes > self.bytes_max || files > self.files_max || hidden;
        let verdict = match (over, self.free() < DISK_RESERVE_BYTES) {
            (true, _) => Verdict::Over,
            (false, true) => Verdict::MachineFull,
            (false, false) => Verdict::Fine,
        };
        Sight { bytes, verdict, pause: (begun.elapsed() * SHARE_OF_TIME).max(PAUSE_MIN) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(limits: &Limits) -> (tempfile::TempDir, Folder, Disk) {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::create(home.path().join("job")).expect("a job's folder");
        let disk = Disk::new(&folder, limits).expect("room");
        (home, folder, disk)
    }

    #[test]
    fn both_writable_parts_count_together() {
        let limits = Limits { disk_bytes: 150 << 10, ..Limits::default() };
        let (_home, folder, disk) = disk(&limits);
        fs::write(folder.outputs().join("a"), vec![1; 100 << 10]).expect("a file");
        assert_eq!(disk.look(&[]).verdict, Verdict::Fine);
        fs::write(folder.checkpoint().join("b"), vec![1; 100 << 10]).expect("a file");
        assert_eq!(disk.look(&[]).verdict, Verdict::Over);
    }

    #[test]
    fn many_empty_files_are_too_much_as_well() {
        let limits = Limits { files: 10, ..Limits::default() };
        let (_home, folder, disk) = disk(&limits);
        (0..11).for_each(|n| fs::write(folder.outputs().join(n.to_string()), "").expect("a file"));
        assert_eq!(disk.look(&[]).verdict, Verdict::Over);
    }

    #[test]
    fn inputs_do_not_count() {
        let limits = Limits { disk_bytes: 1 << 10, ..Limits::default() };
        let (_home, folder, disk) = disk(&limits);
        fs::write(folder.inputs().join("a"), vec![1; 100 << 10]).expect("a file");
        assert_eq!(disk.look(&[]).verdict, Verdict::Fine);
    }
}
