//! The tables, and how SQLite is told to keep what it is given.
use super::{Error, store_snapshot};
use gleaner_core::{Core, Params};
use gleaner_wire::Millis;
use rusqlite::{Connection, TransactionBehavior};
use std::time::Duration;

/// The format of tables, events and snapshots. Raised with every change of what is encoded in them.
const FORMAT: i64 = 8;
/// Pages of write-ahead log before they are moved into the database.
const CHECKPOINT_PAGES: u32 = 4000;
/// How long to wait for a reader that is in the way.
const BUSY_MS_MAX: u64 = 5000;

const TABLES: &str = "
    CREATE TABLE journal (
        seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, events BLOB NOT NULL, checksum BLOB NOT NULL);
    CREATE TABLE snapshot (
        seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, core BLOB NOT NULL, checksum BLOB NOT NULL);
    CREATE TABLE requester (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE archive (
        job INTEGER PRIMARY KEY, submission BLOB NOT NULL, summary TEXT NOT NULL, view TEXT NOT NULL);
    CREATE INDEX archive_submission ON archive (submission);
    CREATE TABLE archive_output (
        job INTEGER NOT NULL, task_group INTEGER NOT NULL, first INTEGER NOT NULL, outputs BLOB NOT NULL,
        PRIMARY KEY (job, task_group, first)) WITHOUT ROWID;
    CREATE TABLE order_end (
        job INTEGER PRIMARY KEY, record BLOB NOT NULL, closed INTEGER NOT NULL DEFAULT 0);
    CREATE INDEX order_open ON order_end (job) WHERE closed = 0;
    CREATE TABLE order_receipt (
        job INTEGER NOT NULL, first INTEGER NOT NULL, receipts BLOB NOT NULL,
        PRIMARY KEY (job, first)) WITHOUT ROWID;
    CREATE TABLE archive_proof (
        job INTEGER NOT NULL, first INTEGER NOT NULL, proofs BLOB NOT NULL,
        PRIMARY KEY (job, first)) WITHOUT ROWID;
    CREATE TABLE signed_claims (number INTEGER PRIMARY KEY, record BLOB NOT NULL);
";

/// Has every commit on disk before it returns.
pub(super) fn prepare(db: &mut Connection) -> Result<(), Error> {
    db.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update_and_check(None, "wal_autocheckpoint", CHECKPOINT_PAGES, |_| Ok(()))?;
    Ok(())
}

/// Makes the tables of a new journal, or checks the format of an old one. The first snapshot holds the parameters, so
/// that a replay goes by those that were true when the events happened.
pub(super) fn found(db: &mut Connection, params: &Params) -> Result<(), Error> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found == 0 {
        transaction.execute_batch(TABLES)?;
        store_snapshot(&transaction, 0, Millis(0), &Core::new(params.clone()).snapshot())?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    } else if found != FORMAT {
        return Err(Error::Format { found, known: FORMAT });
    }
    transaction.execute_batch(super::archive::INDEXES)?;
    transaction.commit()?;
    Ok(())
}
