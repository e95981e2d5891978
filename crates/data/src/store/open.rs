//! The store itself: its parts, and how it is opened.
use super::disk::Disk;
use super::lock::FolderLock;
use super::queue::Queue;
use super::readers::Readers;
use super::touch::Touches;
use super::writer::Writer;
use super::{Backend, Error, Options, Place, Usage, recover, rows, schema};
use bytes::Bytes;
use gleaner_wire::Hash;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A sealed chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The BLAKE3 hash of the bytes.
    pub id: Hash,
    /// The bytes.
    pub bytes: Bytes,
}

impl Chunk {
    /// A chunk of these bytes, with its name computed.
    pub fn of(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { id: Hash::of(&bytes), bytes }
    }
}

/// The bounded store of sealed chunks. Share it between threads by reference or `Arc`.
pub struct Store {
    pub(super) options: Options,
    pub(super) disk: Disk,
    pub(super) objects: Option<Box<dyn Backend>>,
    pub(super) readers: Readers,
    pub(super) touches: Touches,
    pub(super) queue: Queue,
    pub(super) writer: Mutex<Writer>,
    /// One segment is moved to object storage at a time.
    pub(super) offloading: Mutex<()>,
    /// One sync at a time.
    pub(super) syncing: Mutex<()>,
    /// One list is remembered or forgotten at a time.
    pub(super) remembering: Mutex<()>,
    pub(super) usage: Mutex<Usage>,
    /// Counts how often bytes went away or moved. A reader that sees it unchanged has read what the index named.
    pub(super) changes: AtomicU64,
    pub(super) damaged: AtomicU64,
    _lock: FolderLock,
}

impl Store {
    /// Opens or makes a store whose chunks take at most this many bytes of disk.
    pub fn open(folder: &Path, limit: u64) -> Result<Self, Error> {
        Self::open_with(folder, Options::with_limit(limit))
    }

    /// Opens or makes a store. What a crash left behind is removed before this returns.
    pub fn open_with(folder: &Path, options: Options) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(Error::file("make", folder))?;
        let lock = FolderLock::take(folder)?;
        let disk = Disk::open(folder, options.punch)?;
        let path = folder.join("index.db");
        let db = schema::open_writer(&path)?;
        let objects = connect(&options.place, &db)?;
        let writer = recover::recover(db, &disk, objects.as_deref(), options.segment_bytes)?;
        let store = Self {
            disk,
            objects,
            readers: Readers::new(path),
            touches: Touches::default(),
            queue: Queue::default(),
            usage: Mutex::default(),
            writer: Mutex::new(writer),
            offloading: Mutex::default(),
            syncing: Mutex::default(),
            remembering: Mutex::default(),
            changes: AtomicU64::new(0),
            damaged: AtomicU64::new(0),
            options,
            _lock: lock,
        };
        store.publish(&store.lock_writer());
        Ok(store)
    }

    /// What the store holds and takes.
    pub fn usage(&self) -> Usage {
        let usage = *self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        Usage { damaged: self.damaged.load(Ordering::Relaxed), ..usage }
    }

    pub(super) fn now(&self) -> u64 {
        (self.options.clock)()
    }

    /// The one who writes. What it writes to the segments lies beyond what is committed, so a thread that panicked
    /// while it wrote leaves nothing half done.
    pub(super) fn lock_writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the writer's counts to everybody.
    pub(super) fn publish(&self, writer: &Writer) {
        let tally = writer.tally;
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner) = Usage {
            chunks: tally.chunks,
            bytes: tally.bytes,
            pinned: tally.pinned,
            taken: tally.taken,
            limit: self.options.limit,
            damaged: 0,
        };
    }

    /// Where segments of a place are read.
    pub(super) fn backend(&self, place: u8) -> &dyn Backend {
        match (&self.objects, place) {
            (Some(objects), rows::IN_OBJECTS) => objects.as_ref(),
            (Some(_) | None, _) => &self.disk,
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Err(error) = self.flush() {
            tracing::warn!(%error, "what was put last could not be synced; the next start looks whether it is there");
        }
    }
}

#[cfg(feature = "s3")]
fn connect(place: &Place, db: &rusqlite::Connection) -> Result<Option<Box<dyn Backend>>, Error> {
    match place {
        Place::Disk => Ok(None),
        Place::S3(bucket) => {
            let id: [u8; 16] = db.query_row("SELECT id FROM store", [], |row| row.get(0))?;
            Ok(Some(Box::new(super::s3::Objects::connect(bucket, u128::from_be_bytes(id))?)))
        }
    }
}

#[cfg(not(feature = "s3"))]
fn connect(place: &Place, _: &rusqlite::Connection) -> Result<Option<Box<dyn Backend>>, Error> {
    match place {
        Place::Disk => Ok(None),
    }
}
