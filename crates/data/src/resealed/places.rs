//! Where in a folder each chunk of a dataset comes from: a table in a temporary file, so that memory does not grow with it.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gleaner_wire::{BlobRef, Hash};
use rusqlite::{Connection, OptionalExtension, params};

use crate::chunk::Extent;
use crate::manifest::Time;
use crate::port::{PortError, Source};
use crate::unpack::File;

const SCHEMA: &str = "
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    CREATE TABLE kept (id BLOB PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE chunk (id BLOB PRIMARY KEY, plain INTEGER NOT NULL, sealed INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE part (
        id BLOB NOT NULL, at INTEGER NOT NULL, bytes INTEGER NOT NULL, file INTEGER NOT NULL, start INTEGER NOT NULL,
        PRIMARY KEY (id, at, bytes)
    ) WITHOUT ROWID;
    CREATE TABLE file (
        number INTEGER PRIMARY KEY, path BLOB NOT NULL, bytes INTEGER NOT NULL,
        seconds INTEGER NOT NULL, nanoseconds INTEGER NOT NULL
    );
    BEGIN;";

/// What a chunk is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    /// How many bytes are inside.
    pub(super) plain_bytes: u32,
    /// How many bytes it has when it is sealed.
    pub(super) sealed_bytes: u32,
    /// Stretches of files that make it up, in order.
    pub(super) parts: Vec<Part>,
}

/// A stretch of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Which file.
    pub(super) file: u64,
    /// Where it begins.
    pub(super) start: u64,
    /// How long it is.
    pub(super) bytes: u64,
}

/// A file as it was when it was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Was {
    /// The names down to it, with a zero byte between them.
    pub(super) path: Vec<u8>,
    /// How long it was.
    pub(super) bytes: u64,
    /// When it was changed.
    pub(super) changed: Time,
}

/// The table.
pub(super) struct Places {
    db: Mutex<Connection>,
    /// The file that was noted last.
    noted: AtomicU64,
}

impl Places {
    /// An empty one. It is gone when this is dropped.
    pub(super) fn new() -> rusqlite::Result<Self> {
        // No name: SQLite keeps it in memory while it is small, and in a file that nobody else can open when it is not.
        let db = Connection::open("")?;
        db.execute_batch(SCHEMA)?;
        Ok(Self { db: Mutex::new(db), noted: AtomicU64::new(0) })
    }

    fn db(&self) -> MutexGuard<'_, Connection> {
        self.db.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a sealed chunk that is in no file.
    pub(super) fn keep(&self, id: &Hash, sealed: &[u8]) -> rusqlite::Result<()> {
        let db = self.db();
        db.prepare_cached("INSERT OR IGNORE INTO kept VALUES (?1, ?2)")?.execute(params![id.0, sealed]).map(drop)
    }

    /// A chunk that is kept as it is.
    pub(super) fn kept(&self, id: &Hash) -> rusqlite::Result<Option<Vec<u8>>> {
        let db = self.db();
        db.prepare_cached("SELECT sealed FROM kept WHERE id = ?1")?.query_row([id.0], |row| row.get(0)).optional()
    }

    /// Notes what an extent of a file is made of.
    pub(super) fn note(&self, file: &File<'_>, start: u64, extent: &Extent) -> rusqlite::Result<()> {
        let Extent::Data { chunk, offset, bytes } = extent else { return Ok(()) };
        let db = self.db();
        if self.noted.swap(file.number + 1, Ordering::Relaxed) != file.number + 1 {
            let Time { seconds, nanoseconds } = file.changed;
            db.prepare_cached("INSERT OR IGNORE INTO file VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(params![
                file.number + 1,
                file.path,
                file.bytes,
                seconds,
                nanoseconds
            ])?;
        }
        let values = params![chunk.id.0, chunk.plain_bytes, chunk.sealed_bytes];
        db.prepare_cached("INSERT OR IGNORE INTO chunk VALUES (?1, ?2, ?3)")?.execute(values)?;
        let values = params![chunk.id.0, offset, bytes, file.number + 1, start];
        db.prepare_cached("INSERT OR IGNORE INTO part VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(values).map(drop)
    }

    /// What a chunk is made of, if files have all of it.
    pub(super) fn recipe(&self, id: &Hash) -> rusqlite::Result<Option<Recipe>> {
        let db = self.db();
        let query = "SELECT plain, sealed FROM chunk WHERE id = ?1";
        let sizes = db.prepare_cached(query)?.query_row([id.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((plain_bytes, sealed_bytes)) = sizes else { return Ok(None) };
        let mut statement =
            db.prepare_cached("SELECT at, bytes, file, start FROM part WHERE id = ?1 ORDER BY at, bytes DESC")?;
        let mut rows = statement.query([id.0])?;
        let (mut parts, mut reach) = (Vec::new(), 0_u64);
        while reach < u64::from(plain_bytes)
            && let Some(row) = rows.next()?
        {
            let (at, bytes, file, start): (u64, u64, u64, u64) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            if at > reach {
                return Ok(None);
            }
            let (known, end) = (reach - at, at + bytes);
            if end > reach {
                parts.push(Part { file, start: start + known, bytes: end - reach });
                reach = end;
            }
        }
        Ok((reach == u64::from(plain_bytes)).then_some(Recipe { plain_bytes, sealed_bytes, parts }))
    }

    /// A file as it was.
    pub(super) fn file(&self, number: u64) -> rusqlite::Result<Was> {
        let db = self.db();
        let query = "SELECT path, bytes, seconds, nanoseconds FROM file WHERE number = ?1";
        db.prepare_cached(query)?.query_row([number], |row| {
            let changed = Time { seconds: row.get(2)?, nanoseconds: row.get(3)? };
            Ok(Was { path: row.get(0)?, bytes: row.get(1)?, changed })
        })
    }
}

/// A chunk that is not kept.
#[derive(Debug, thiserror::Error)]
#[error("chunk {0} of the manifest is not here")]
struct NotKept(Hash);

/// The manifest, once its chunks are kept.
impl Source for Places {
    fn chunk(&self, blob: BlobRef) -> Result<Vec<u8>, PortError> {
        Ok(self.kept(&blob.id)?.ok_or(NotKept(blob.id))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkRef;
    use crate::seal::ChunkKey;

    fn extent(offset: u32, bytes: u32) -> Extent {
        let key = ChunkKey::from_bytes([1; 32]);
        let chunk = ChunkRef { id: Hash([1; 32]), key, plain_bytes: 100, sealed_bytes: 117 };
        Extent::Data { chunk, offset, bytes }
    }

    fn file(number: u64) -> File<'static> {
        File { number, path: b"a\0b", bytes: 1000, changed: Time { seconds: 5, nanoseconds: 6 } }
    }

    #[test]
    fn a_chunk_is_put_together_from_stretches_that_overlap_and_not_from_ones_with_a_gap() {
        let places = Places::new().expect("made");
        places.note(&file(0), 0, &extent(0, 40)).expect("noted");
        places.note(&file(1), 7, &extent(60, 40)).expect("noted");
        assert_eq!(places.recipe(&Hash([1; 32])).expect("asked"), None, "40 to 60 is in no file");
        places.note(&file(2), 500, &extent(30, 35)).expect("noted");
        let parts = places.recipe(&Hash([1; 32])).expect("asked").expect("all of it is there").parts;
        let part = |file, start, bytes| Part { file, start, bytes };
        assert_eq!(parts, [part(1, 0, 40), part(3, 510, 25), part(2, 12, 35)]);
        let was = places.file(3).expect("there");
        assert_eq!((was.path, was.bytes), (b"a\0b".to_vec(), 1000));
        assert_eq!(places.recipe(&Hash([2; 32])).expect("asked"), None);
    }
}
