//! One process for one folder: an exclusive lock that the system releases when the process ends, however it ends.
use super::Error;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

/// The longest process number that is read from a lock file.
const PID_BYTES_MAX: u64 = 20;

/// The lock; dropping it releases the folder.
pub(super) struct FolderLock {
    file: File,
}

impl FolderLock {
    /// Takes the folder, or says who has it.
    pub(super) fn take(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("store.lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(Error::file("open", &path))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut pid = String::new();
            let read = file.take(PID_BYTES_MAX).read_to_string(&mut pid);
            let pid = if read.is_ok() && !pid.is_empty() { pid.trim().to_owned() } else { "unknown".to_owned() };
            return Err(Error::Locked { folder: folder.to_owned(), pid });
        }
        // The number only makes the message of a refusal better, so a full disk is no reason not to open.
        let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Self { file })
    }
}

/// Whether a store has this folder open, here or in another process.
pub fn is_open(folder: &Path) -> bool {
    let Ok(file) = File::open(folder.join("store.lock")) else { return false };
    let is_taken = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
    // As below.
    let _ = flock(&file, FlockOperation::Unlock);
    is_taken
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing is not enough: a process that another thread is just starting has the file open too for a moment.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_open_for_as_long_as_somebody_has_it() {
        let dir = tempfile::tempdir().expect("a folder");
        assert!(!is_open(dir.path()));
        let lock = FolderLock::take(dir.path()).expect("nobody has it");
        assert!(is_open(dir.path()));
        drop(lock);
        assert!(!is_open(dir.path()));
    }
}
