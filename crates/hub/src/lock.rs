//! One hub for one folder: an exclusive lock that the system releases when the process ends, however it ends.
use crate::Error;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

/// The longest process number that is read from a lock file.
const PID_BYTES_MAX: u64 = 20;

/// The lock; dropping it releases the folder.
pub(crate) struct FolderLock {
    file: File,
}

impl FolderLock {
    /// Takes the folder, or says who has it.
    pub(crate) fn take(dir: &Path) -> Result<Self, Error> {
        let path = dir.join("hub.lock");
        let folder = |source| Error::Folder { path: path.clone(), source };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(folder)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut pid = String::new();
            let read = file.take(PID_BYTES_MAX).read_to_string(&mut pid);
            let pid = if read.is_ok() && !pid.is_empty() { pid.trim().to_owned() } else { "unknown".to_owned() };
            return Err(Error::Locked { dir: dir.to_owned(), pid });
        }
        file.set_len(0).map_err(folder)?;
        write!(file, "{}", std::process::id()).map_err(folder)?;
        Ok(Self { file })
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing is not enough: a process that another thread is just starting has the file open too for a moment.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
