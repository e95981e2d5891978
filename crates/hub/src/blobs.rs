//! The blob store: bytes by their BLAKE3 hash, in files. A blob is there whole and checked, or not at all.
//!
//! Nothing is ever deleted here yet, except uploads that were given up; a total limit keeps the disk from filling.
//! All functions block on the disk; call them where that is allowed.
use crate::token::Caller;
use gleaner_wire::{BlobRef, FILE_LIST_BYTES_MAX, Hash, Output};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The largest blob.
pub(crate) const BLOB_BYTES_MAX: u64 = 8 * 1024 * 1024 * 1024;
/// Workers leave one part in this many of the store's limit free, so that requesters can still submit.
const KEPT_FROM_WORKERS_PARTS: u64 = 10;
/// Unfinished uploads older than this are removed when the hub starts.
const UNFINISHED_AGE_MAX: Duration = Duration::from_secs(24 * 3600);

/// Why bytes are not stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// One blob too large.
    #[error("a blob may have at most {BLOB_BYTES_MAX} bytes; split the file")]
    TooLarge,
    /// All blobs together too large.
    #[error(
        "the hub's blobs may take at most {0} bytes together and have reached that; start the hub with a larger limit"
    )]
    StoreFull(u64),
    /// All that workers may fill is full.
    #[error("workers may fill the hub's blobs up to {0} bytes, which is reached; start the hub with a larger limit")]
    WorkersFull(u64),
    /// No room on the disk.
    #[error("the hub's disk is full; free some space on it and send the rest")]
    DiskFull,
    /// Not what its name says.
    #[error("the bytes do not have the hash in their name; read the file again and send it from the start")]
    Mismatch,
    /// A piece that does not follow the last one.
    #[error("the upload stands at byte {0}; go on from there")]
    Offset(u64),
    /// Another request uploads the same blob.
    #[error("another request of yours uploads this blob right now; ask again in a moment")]
    Busy,
    /// Something else.
    #[error("the hub could not store the blob: {0}")]
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Io(error),
        }
    }
}

/// The store.
pub(crate) struct Store {
    dir: PathBuf,
    incoming: PathBuf,
    bytes_max: u64,
    bytes: AtomicU64,
    uploads: Mutex<HashSet<PathBuf>>,
    numbers: AtomicU64,
}

impl Store {
    /// Opens or makes the store and counts what it holds.
    pub(crate) fn open(dir: &Path, bytes_max: u64) -> io::Result<Arc<Self>> {
        let incoming = dir.join("incoming");
        fs::create_dir_all(&incoming)?;
        remove_given_up(&incoming)?;
        let bytes = AtomicU64::new(size_of_folder(dir)?);
        let (uploads, numbers) = (Mutex::default(), AtomicU64::new(0));
        Ok(Arc::new(Self { dir: dir.to_owned(), incoming, bytes_max, bytes, uploads, numbers }))
    }

    /// Bytes held, unfinished uploads included.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The length of a blob that is held.
    pub(crate) fn length(&self, id: &Hash) -> Option<u64> {
        fs::metadata(self.path(id)).ok().map(|metadata| metadata.len())
    }

    /// Whether a blob is held, with this length.
    pub(crate) fn holds(&self, blob: &BlobRef) -> bool {
        self.length(&blob.id) == Some(blob.bytes)
    }

    /// Whether everything an output refers to is held.
    pub(crate) fn holds_output(&self, output: &Output) -> bool {
        match output {
            Output::Inline { .. } => true,
            Output::Blob(blob) => self.holds(blob),
            Output::Files(list) => self.holds(list) && self.holds_files(list).unwrap_or(false),
        }
    }

    fn holds_files(&self, list: &BlobRef) -> Option<bool> {
        if list.bytes > FILE_LIST_BYTES_MAX {
            return None;
        }
        let bytes = fs::read(self.path(&list.id)).ok()?;
        let files: Vec<(String, BlobRef)> = postcard::from_bytes(&bytes).ok()?;
        Some(files.iter().all(|(_, blob)| self.holds(blob)))
    }

    /// The file of a blob that is held.
    pub(crate) fn read(&self, id: &Hash) -> io::Result<File> {
        File::open(self.path(id))
    }

    /// How far an unfinished upload is.
    pub(crate) fn offset(&self, id: &Hash, uploader: Caller) -> u64 {
        length_of(&self.unfinished(id, uploader))
    }

    /// Starts an upload of a whole blob, of this length if that is known.
    pub(crate) fn upload(self: &Arc<Self>, id: Hash, uploader: Caller, length: Option<u64>) -> Result<Upload, Refusal> {
        let known = length.unwrap_or(0);
        self.check_room(uploader, known, known)?;
        let total = length.unwrap_or(BLOB_BYTES_MAX);
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let path = self.incoming.join(format!("{id}.whole.{number}"));
        self.claim(id, uploader, path, total, true)?.open(0)
    }

    /// Goes on with an upload in pieces. Each uploader has its own, so that none spoils another's.
    pub(crate) fn resume(
        self: &Arc<Self>,
        id: Hash,
        uploader: Caller,
        offset: u64,
        total: u64,
    ) -> Result<Upload, Refusal> {
        let path = self.unfinished(&id, uploader);
        let upload = self.claim(id, uploader, path, total, false)?;
        let stands_at = upload.stands_at()?;
        if stands_at != offset {
            return Err(Refusal::Offset(stands_at));
        }
        // Before there is a file, so that what is refused leaves none.
        self.check_room(uploader, total, total.saturating_sub(offset))?;
        upload.open(offset)
    }

    /// Takes a path for one upload; dropping that releases it.
    fn claim(
        self: &Arc<Self>,
        id: Hash,
        uploader: Caller,
        path: PathBuf,
        total: u64,
        whole: bool,
    ) -> Result<Upload, Refusal> {
        if !self.uploads.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone()) {
            return Err(Refusal::Busy);
        }
        let store = Arc::clone(self);
        Ok(Upload { store, id, uploader, path, file: None, written: 0, total, whole, hasher: None })
    }

    fn check_room(&self, uploader: Caller, total: u64, more: u64) -> Result<(), Refusal> {
        if total > BLOB_BYTES_MAX {
            return Err(Refusal::TooLarge);
        }
        let after = self.bytes().saturating_add(more);
        if after > self.bytes_max {
            return Err(Refusal::StoreFull(self.bytes_max));
        }
        let workers_max = self.bytes_max - self.bytes_max / KEPT_FROM_WORKERS_PARTS;
        match uploader {
            Caller::Worker(_) if after > workers_max => Err(Refusal::WorkersFull(workers_max)),
            Caller::Worker(_) | Caller::Operator => Ok(()),
        }
    }

    fn path(&self, id: &Hash) -> PathBuf {
        let name = id.to_string();
        self.dir.join(&name[..2]).join(name)
    }

    fn unfinished(&self, id: &Hash, uploader: Caller) -> PathBuf {
        self.incoming.join(match uploader {
            Caller::Operator => format!("{id}.api"),
            Caller::Worker(worker) => format!("{id}.worker-{worker}"),
        })
    }
}

/// An upload under way. Dropped unfinished, a whole one is removed and one in pieces waits for the rest, if any came.
pub(crate) struct Upload {
    store: Arc<Store>,
    id: Hash,
    uploader: Caller,
    path: PathBuf,
    file: Option<File>,
    written: u64,
    total: u64,
    whole: bool,
    /// What was hashed on the way, if it started at the first byte.
    hasher: Option<blake3::Hasher>,
}

impl Upload {
    /// Where earlier pieces have brought it.
    fn stands_at(&self) -> Result<u64, Refusal> {
        let length = length_of(&self.path);
        if length <= self.total {
            return Ok(length);
        }
        // It was begun as something else.
        fs::remove_file(&self.path)?;
        self.store.bytes.fetch_sub(length.min(self.store.bytes()), Ordering::Relaxed);
        Ok(0)
    }

    fn open(mut self, offset: u64) -> Result<Self, Refusal> {
        self.file = Some(OpenOptions::new().create(true).append(true).open(&self.path)?);
        self.written = offset;
        self.hasher = (offset == 0).then(blake3::Hasher::new);
        Ok(self)
    }

    /// Where it stands.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Adds bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let written = self.written.saturating_add(bytes.len() as u64);
        if written > self.total {
            return Err(Refusal::TooLarge);
        }
        self.store.check_room(self.uploader, 0, bytes.len() as u64)?;
        let file = self.file.as_mut().expect("an upload has its file from its start to its end");
        file.write_all(bytes)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        self.written = written;
        self.store.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Checks the whole blob and makes it visible. What does not match is removed.
    pub(crate) fn finish(mut self) -> Result<(), Refusal> {
        let published = self.publish();
        let spoilt = matches!(published, Err(Refusal::Mismatch));
        if spoilt || self.whole && published.is_err() {
            self.remove();
        }
        self.file = None;
        published
    }

    fn publish(&mut self) -> Result<(), Refusal> {
        let hash = match self.hasher.take() {
            Some(hasher) => hasher.finalize(),
            None => blake3::Hasher::new().update_reader(File::open(&self.path)?)?.finalize(),
        };
        if hash.as_bytes() != &self.id.0 {
            return Err(Refusal::Mismatch);
        }
        let path = self.store.path(&self.id);
        if path.exists() {
            self.remove();
            return Ok(());
        }
        self.file.as_ref().expect("an upload has its file from its start to its end").sync_all()?;
        let folder = path.parent().expect("a blob lies in a folder");
        if !folder.exists() {
            fs::create_dir_all(folder)?;
            File::open(&self.store.dir)?.sync_all()?;
        }
        fs::rename(&self.path, &path)?;
        File::open(folder)?.sync_all()?;
        Ok(())
    }

    fn remove(&self) {
        if fs::remove_file(&self.path).is_ok() {
            self.store.bytes.fetch_sub(self.written.min(self.store.bytes()), Ordering::Relaxed);
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.file.take().is_some() && (self.whole || self.written == 0) {
            self.remove();
        }
        self.store.uploads.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
    }
}

fn length_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn remove_given_up(incoming: &Path) -> io::Result<()> {
    for entry in fs::read_dir(incoming)? {
        let entry = entry?;
        let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
        if age > UNFINISHED_AGE_MAX || entry.file_name().to_string_lossy().contains(".whole.") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn size_of_folder(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { size_of_folder(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::WorkerId;

    const OPERATOR: Caller = Caller::Operator;
    const WORKER: Caller = Caller::Worker(WorkerId(7));

    fn store(bytes_max: u64) -> (tempfile::TempDir, Arc<Store>) {
        let dir = tempfile::tempdir().expect("a folder");
        let store = Store::open(dir.path(), bytes_max).expect("opens");
        (dir, store)
    }

    #[test]
    fn a_blob_in_pieces_goes_on_where_it_stopped() {
        let (dir, store) = store(1000);
        let blob = BlobRef::of(b"wheat and chaff");
        let mut upload = store.resume(blob.id, OPERATOR, 0, blob.bytes).expect("starts");
        upload.write(b"wheat ").expect("written");
        drop(upload);
        drop(store);
        let store = Store::open(dir.path(), 1000).expect("opens again");
        assert_eq!(store.offset(&blob.id, OPERATOR), 6);
        assert!(matches!(store.resume(blob.id, OPERATOR, 3, blob.bytes), Err(Refusal::Offset(6))));
        let mut upload = store.resume(blob.id, OPERATOR, 6, blob.bytes).expect("goes on");
        upload.write(b"and chaff").expect("written");
        upload.finish().expect("matches");
        assert!(store.holds(&blob));
        assert_eq!(store.bytes(), blob.bytes);
    }

    #[test]
    fn bytes_that_do_not_match_their_name_are_never_visible() {
        let (_dir, store) = store(1000);
        let blob = BlobRef::of(b"wheat");
        let mut upload = store.upload(blob.id, OPERATOR, Some(5)).expect("starts");
        upload.write(b"chaff").expect("written");
        assert!(matches!(upload.finish(), Err(Refusal::Mismatch)));
        assert!(!store.holds(&blob));
        assert_eq!(store.bytes(), 0);
    }

    #[test]
    fn the_store_stops_at_its_limit() {
        let (_dir, store) = store(8);
        assert!(matches!(store.upload(Hash::of(b"x"), OPERATOR, Some(9)), Err(Refusal::StoreFull(8))));
        assert!(matches!(store.upload(Hash::of(b"x"), OPERATOR, Some(BLOB_BYTES_MAX + 1)), Err(Refusal::TooLarge)));
    }

    #[test]
    fn a_refused_upload_in_pieces_leaves_no_file() {
        let (_dir, store) = store(100);
        let id = Hash::of(b"x");
        assert!(matches!(store.resume(id, OPERATOR, 0, 101), Err(Refusal::StoreFull(100))));
        assert!(matches!(store.resume(id, OPERATOR, 5, 50), Err(Refusal::Offset(0))));
        let mut early = store.resume(id, OPERATOR, 0, 60).expect("there is room still");
        let mut other = store.resume(Hash::of(b"y"), OPERATOR, 0, 60).expect("there is room still");
        early.write(&[0; 60]).expect("written");
        assert!(matches!(other.write(&[0; 60]), Err(Refusal::StoreFull(100))));
        drop((early, other));
        assert_eq!(fs::read_dir(&store.incoming).expect("there").count(), 1, "only the one that was begun");
    }

    #[test]
    fn workers_leave_room_for_requesters() {
        let (_dir, store) = store(100);
        assert!(matches!(store.upload(Hash::of(b"x"), WORKER, Some(91)), Err(Refusal::WorkersFull(90))));
        assert!(matches!(store.resume(Hash::of(b"x"), WORKER, 0, 91), Err(Refusal::WorkersFull(90))));
        let mut unmeasured = store.upload(Hash::of(b"x"), WORKER, None).expect("starts");
        unmeasured.write(&[0; 90]).expect("written");
        assert!(matches!(unmeasured.write(&[0]), Err(Refusal::WorkersFull(90))));
        store.upload(Hash::of(b"y"), OPERATOR, Some(10)).expect("there is room for a requester");
    }

    #[test]
    fn a_list_of_files_may_be_as_long_as_workers_make_them() {
        let (_dir, store) = store(FILE_LIST_BYTES_MAX);
        let put = |bytes: &[u8]| {
            let mut upload = store.upload(Hash::of(bytes), OPERATOR, Some(bytes.len() as u64)).expect("starts");
            upload.write(bytes).expect("written");
            upload.finish().expect("matches");
            BlobRef::of(bytes)
        };
        let files = vec![("n".repeat(1000), put(b"here")); 15_000];
        let list = put(&postcard::to_allocvec(&files).expect("encodes"));
        assert!(store.holds_output(&Output::Files(list)));
    }

    #[test]
    fn an_upload_that_was_given_up_leaves_nothing() {
        let (_dir, store) = store(1000);
        let mut upload = store.upload(Hash::of(b"x"), OPERATOR, None).expect("starts");
        upload.write(b"abc").expect("written");
        drop(upload);
        assert_eq!(store.bytes(), 0);
        assert_eq!(fs::read_dir(&store.incoming).expect("there").count(), 0);
    }

    #[test]
    fn an_output_of_files_is_held_only_with_all_its_files() {
        let (_dir, store) = store(1000);
        let put = |bytes: &[u8]| {
            let mut upload = store.upload(Hash::of(bytes), OPERATOR, Some(bytes.len() as u64)).expect("starts");
            upload.write(bytes).expect("written");
            upload.finish().expect("matches");
            BlobRef::of(bytes)
        };
        let missing = vec![("a".to_owned(), BlobRef::of(b"nowhere"))];
        let missing = put(&postcard::to_allocvec(&missing).expect("encodes"));
        assert!(!store.holds_output(&Output::Files(missing)));
        let held = vec![("a".to_owned(), put(b"here"))];
        let held = put(&postcard::to_allocvec(&held).expect("encodes"));
        assert!(store.holds_output(&Output::Files(held)));
    }
}
