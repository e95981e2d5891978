//! One process for one chain: an exclusive lock that the system releases when the process ends, however it ends.
use super::Error;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

/// The longest process number that is read from a lock file.
const PID_BYTES_MAX: u64 = 20;

/// The lock; dropping it releases the folder.
#[derive(Debug)]
pub(crate) struct FolderLock {
    file: File,
}

impl FolderLock {
    /// Takes the folder, or says who has it.
    pub(crate) fn take(dir: &Path) -> Result<Self, Error> {
        let path = dir.join("chain.lock");
        let folder = |source| Error::Folder { path: path.clone(), source };
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(&path).map_err(folder)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut pid = String::new();
            let known = file.take(PID_BYTES_MAX).read_to_string(&mut pid).is_ok() && !pid.trim().is_empty();
            let pid = if known { pid.trim().to_owned() } else { "unknown".to_owned() };
            return Err(Error::Locked { dir: dir.to_owned(), pid });
        }
        file.set_len(0).map_err(folder)?;
        write!(file, "{}", std::process::id()).map_err(folder)?;
        Ok(Self { file })
    }
}

/// Whether somebody has the chain in this folder open, here or in another process.
pub fn is_open(dir: &Path) -> bool {
    let Ok(file) = File::open(dir.join("chain.lock")) else { return false };
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
