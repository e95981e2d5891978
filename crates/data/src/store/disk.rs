//! Segments as files of a folder.
use super::{Backend, Error};
use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::fs::statvfs;
use rustix::io::{Errno, pread};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Files that are kept open for reading; well below the limit that systems put on a process.
const HANDLES_MAX: usize = 128;
/// What is written to find out whether the file system punches holes.
const PROBE_BYTES: usize = 256 * 1024;
/// Bounds for what a file system says of its blocks.
const BLOCK_BYTES: (u64, u64) = (512, 1024 * 1024);

/// The folder of segment files.
pub(super) struct Disk {
    folder: PathBuf,
    handles: Mutex<BTreeMap<u64, Arc<File>>>,
    punches: bool,
    block: u64,
}

impl Disk {
    /// Opens or makes the folder, and finds out what its file system can do.
    pub(super) fn open(parent: &Path, punch: bool) -> Result<Self, Error> {
        let folder = parent.join("segments");
        fs::create_dir_all(&folder).map_err(Error::file("make", &folder))?;
        sync_folder(parent)?;
        let block = statvfs(&folder).map_err(|errno| Error::file("inspect", &folder)(errno.into()))?.f_frsize;
        let block = block.clamp(BLOCK_BYTES.0, BLOCK_BYTES.1);
        let punches = punch && probe(&folder.join("probe"));
        Ok(Self { folder, handles: Mutex::default(), punches, block })
    }

    /// Whether the file system punches holes.
    pub(super) fn punches(&self) -> bool {
        self.punches
    }

    /// The unit in which the file system gives room.
    pub(super) fn block(&self) -> u64 {
        self.block
    }

    /// The file of a segment.
    pub(super) fn path(&self, segment: u64) -> PathBuf {
        self.folder.join(format!("{segment:016x}"))
    }

    /// Makes or opens the file that grows, with its name on disk.
    pub(super) fn grow(&self, segment: u64) -> Result<File, Error> {
        let path = self.path(segment);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(Error::file("open", &path))?;
        sync_folder(&self.folder)?;
        Ok(file)
    }

    /// Bytes of disk that a segment really takes; nothing if it is not there.
    pub(super) fn taken(&self, segment: u64) -> Option<u64> {
        fs::metadata(self.path(segment)).ok().map(|metadata| metadata.blocks() * 512)
    }

    /// Cuts a segment off at this length.
    pub(super) fn truncate(&self, segment: u64, length: u64) -> Result<(), Error> {
        let path = self.path(segment);
        let file = OpenOptions::new().write(true).open(&path).map_err(Error::file("open", &path))?;
        file.set_len(length).and_then(|()| file.sync_all()).map_err(Error::file("shorten", &path))
    }

    /// Files in the folder whose names are not those of segments.
    pub(super) fn strangers(&self) -> Result<Vec<PathBuf>, Error> {
        Ok(self.entries()?.into_iter().filter(|path| number(path).is_none()).collect())
    }

    fn entries(&self) -> Result<Vec<PathBuf>, Error> {
        let path = |entry: io::Result<fs::DirEntry>| entry.map(|entry| entry.path());
        let read = || fs::read_dir(&self.folder)?.map(path).collect::<io::Result<_>>();
        read().map_err(Error::file("list", &self.folder))
    }

    fn handle(&self, segment: u64) -> Result<Arc<File>, Error> {
        let lock = || self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = lock().get(&segment) {
            return Ok(Arc::clone(file));
        }
        let path = self.path(segment);
        let file = Arc::new(File::open(&path).map_err(Error::file("open", &path))?);
        let mut handles = lock();
        if handles.len() >= HANDLES_MAX {
            handles.pop_first();
        }
        handles.insert(segment, Arc::clone(&file));
        Ok(file)
    }

    fn forget(&self, segment: u64) {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).remove(&segment);
    }
}

impl Backend for Disk {
    fn keep(&self, segment: u64, bytes: Bytes) -> Result<(), Error> {
        let file = self.grow(segment)?;
        file.write_all_at(&bytes, 0).and_then(|()| file.sync_data()).map_err(Error::file("write", self.path(segment)))
    }

    fn read(&self, segment: u64, range: Range<u64>) -> Result<Option<Bytes>, Error> {
        let file = match self.handle(segment) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let length = usize::try_from(range.end - range.start).expect("a range of a segment fits in memory");
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let at = range.start + bytes.len() as u64;
            match pread(&*file, spare_capacity(&mut bytes), at) {
                Ok(0) => return Ok(None),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::file("read", self.path(segment))(errno.into())),
            }
        }
        // Where more was set aside than asked for, more may have been read.
        bytes.truncate(length);
        Ok(Some(bytes.into()))
    }

    fn punch(&self, segment: u64, range: Range<u64>) -> Result<(), Error> {
        if !self.punches || range.is_empty() {
            return Ok(());
        }
        let path = self.path(segment);
        let file = OpenOptions::new().write(true).open(&path).map_err(Error::file("open", &path))?;
        punch(&file, range).map_err(|errno| Error::file("free a part of", &path)(errno.into()))
    }

    fn remove(&self, segment: u64) -> Result<(), Error> {
        self.forget(segment);
        let path = self.path(segment);
        match fs::remove_file(&path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Error::file("remove", &path)(error)),
        }
    }

    fn list(&self) -> Result<Vec<(u64, u64)>, Error> {
        let mut found = Vec::new();
        for path in self.entries()? {
            if let Some(segment) = number(&path) {
                found.push((segment, fs::metadata(&path).map_err(Error::file("inspect", &path))?.len()));
            }
        }
        Ok(found)
    }
}

fn number(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    (name.len() == 16).then(|| u64::from_str_radix(name, 16).ok())?
}

/// Has the name of what was made in a folder on disk.
fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::file("sync", folder))
}

#[cfg(target_os = "linux")]
fn punch(file: &File, range: Range<u64>) -> Result<(), Errno> {
    use rustix::fs::{FallocateFlags, fallocate};
    fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, range.start, range.end - range.start)
}

/// Elsewhere segments are compacted.
#[cfg(not(target_os = "linux"))]
fn punch(_file: &File, _range: Range<u64>) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Punches a hole into a file and looks whether it takes less room then. On a full disk, where that cannot be tried,
/// it is taken to work: most file systems can, and compacting would need room.
fn probe(path: &Path) -> bool {
    let probed = File::create(path).and_then(|file| {
        file.write_all_at(&vec![1; PROBE_BYTES], 0)?;
        file.sync_data()?;
        let before = file.metadata()?.blocks();
        punch(&file, 0..PROBE_BYTES as u64 / 2)?;
        Ok(file.metadata()?.blocks() < before)
    });
    let _ = fs::remove_file(path);
    probed.unwrap_or_else(|error: io::Error| error.kind() == io::ErrorKind::StorageFull)
}
