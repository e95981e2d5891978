//! The tables, and how SQLite is told to keep what it is given.
use super::Error;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::path::Path;
use std::time::Duration;

/// The format of tables and segments. Raised with every change of what is encoded in them.
const FORMAT: i64 = 2;
/// Pages of write-ahead log before they are moved into the database.
const CHECKPOINT_PAGES: u32 = 4000;
/// How long to wait for another connection that is in the way.
const BUSY_MS_MAX: u64 = 10_000;
/// Kibibytes of index that the writer keeps in memory: names are random, so every put touches pages all over it.
const WRITER_CACHE_KIB: i64 = 32 * 1024;
/// Statements that a connection keeps prepared.
const STATEMENTS_MAX: usize = 64;

/// A chunk's row lies at its place in the segments, so that rows of one batch are neighbours and eviction finds what is
/// around a hole. `used` is in ticks, `pins` counts owners. `segment` sums up its chunks, so that opening a store does
/// not read all rows. `synced` is up to where, by segment and offset, bytes survive a power cut.
const TABLES: &str = "
    CREATE TABLE store (id BLOB NOT NULL);
    CREATE TABLE synced (segment INTEGER NOT NULL, offset INTEGER NOT NULL);
    INSERT INTO synced VALUES (0, 0);
    CREATE TABLE segment (
        number INTEGER PRIMARY KEY, place INTEGER NOT NULL, length INTEGER NOT NULL, freed INTEGER NOT NULL,
        chunks INTEGER NOT NULL, live INTEGER NOT NULL, pinned INTEGER NOT NULL);
    CREATE TABLE chunk (
        segment INTEGER NOT NULL, offset INTEGER NOT NULL, bytes INTEGER NOT NULL, id BLOB NOT NULL,
        used INTEGER NOT NULL, pins INTEGER NOT NULL,
        PRIMARY KEY (segment, offset)) WITHOUT ROWID;
    CREATE UNIQUE INDEX chunk_by_id ON chunk (id);
    CREATE INDEX chunk_by_use ON chunk (used) WHERE pins = 0;
    CREATE TABLE owner (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
    CREATE TABLE pin (id BLOB NOT NULL, owner INTEGER NOT NULL, PRIMARY KEY (id, owner)) WITHOUT ROWID;
    CREATE INDEX pin_by_owner ON pin (owner);
    CREATE TABLE dataset (
        number INTEGER PRIMARY KEY AUTOINCREMENT, root BLOB NOT NULL UNIQUE, complete INTEGER NOT NULL,
        chunks INTEGER NOT NULL, held INTEGER NOT NULL, held_bytes INTEGER NOT NULL);
    CREATE TABLE listing (
        dataset INTEGER NOT NULL, page INTEGER NOT NULL, ids BLOB NOT NULL, PRIMARY KEY (dataset, page));
    CREATE TABLE held (
        dataset INTEGER NOT NULL, page INTEGER NOT NULL, bits BLOB NOT NULL,
        PRIMARY KEY (dataset, page)) WITHOUT ROWID;
    CREATE TABLE member (
        id BLOB NOT NULL, dataset INTEGER NOT NULL, position INTEGER NOT NULL,
        PRIMARY KEY (id, dataset, position)) WITHOUT ROWID;
";

/// Opens the index for the one writer; every commit is on disk before it returns, unless it is told to be quick.
pub(super) fn open_writer(path: &Path) -> Result<Connection, Error> {
    let mut db = Connection::open(path)?;
    db.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update_and_check(None, "wal_autocheckpoint", CHECKPOINT_PAGES, |_| Ok(()))?;
    db.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    found(&mut db)?;
    Ok(db)
}

/// From now on commits survive a power cut, or only the end of this process.
pub(super) fn set_durable(db: &Connection, durable: bool) -> Result<(), Error> {
    Ok(db.pragma_update(None, "synchronous", if durable { "FULL" } else { "NORMAL" })?)
}

/// Opens the index for a reader.
pub(super) fn open_reader(path: &Path) -> Result<Connection, Error> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
    Ok(db)
}

fn found(db: &mut Connection) -> Result<(), Error> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.execute("INSERT INTO store (id) VALUES (randomblob(16))", [])?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    } else if found != FORMAT {
        return Err(Error::Format { found, known: FORMAT });
    }
    transaction.commit()?;
    Ok(())
}
