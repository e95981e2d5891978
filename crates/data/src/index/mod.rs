//! The index on a requester's machine: what was pushed already, so that it is neither read nor sent again.
//!
//! It is a memory, not a truth: to lose it costs time, never data. Chunks are numbered as they come, and it keeps the
//! number up to which the sink has said that they are safe. What is beyond is forgotten when it is opened, so a crash at
//! any moment leaves it true.
mod chunks;
mod files;
mod span;
mod tidy;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension};

pub use chunks::Found;
pub use files::{Dataset, Known, Stamp};
pub(crate) use span::Reel;
pub use span::{Number, SPANS_PER_PART, Span};

use crate::seal::Keys;

/// What is written otherwise is forgotten.
const FORMAT: i64 = 2;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS owner (proof BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS safe (number INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS chunk (
    number INTEGER PRIMARY KEY AUTOINCREMENT, tag BLOB NOT NULL UNIQUE, id BLOB NOT NULL, key BLOB NOT NULL,
    plain INTEGER NOT NULL, sealed INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS sums (number INTEGER PRIMARY KEY, coarse INTEGER NOT NULL, sums BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS made (tag BLOB PRIMARY KEY, spans BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dataset (number INTEGER PRIMARY KEY, folder BLOB NOT NULL UNIQUE) STRICT;
CREATE TABLE IF NOT EXISTS file (
    dataset INTEGER NOT NULL, path BLOB NOT NULL, device INTEGER NOT NULL, inode INTEGER NOT NULL,
    bytes INTEGER NOT NULL, modified INTEGER NOT NULL, changed INTEGER NOT NULL,
    PRIMARY KEY (dataset, path)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS part (
    dataset INTEGER NOT NULL, path BLOB NOT NULL, part INTEGER NOT NULL, spans BLOB NOT NULL,
    PRIMARY KEY (dataset, path, part)) STRICT, WITHOUT ROWID;";

/// How long another process is waited for.
const BUSY_WAIT: std::time::Duration = std::time::Duration::from_millis(500);

/// Why the index cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite failed.
    #[error("the index of pushed data failed")]
    Database(#[from] rusqlite::Error),
    /// It cannot be opened.
    #[error("the index {path} cannot be opened. It can be deleted: the next push reads everything once more")]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// It is of another account.
    #[error("the index {path} belongs to another account: choose another folder with --dir")]
    Foreign {
        /// Which file.
        path: PathBuf,
    },
    /// Another process has it.
    #[error("the index {path} is in use: another push is running. Wait for it, or stop it first")]
    Busy {
        /// Which file.
        path: PathBuf,
    },
    /// It holds what was never written.
    #[error("the index is damaged ({0}). Delete it: the next push reads everything once more")]
    Damaged(&'static str),
}

/// The index of one account.
#[derive(Debug)]
pub struct Index {
    db: Connection,
    /// The number of the newest chunk.
    last: Number,
    keeping: Keeping,
}

/// What becomes of what an index is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    Kept,
    /// All of it is one transaction that never ends well.
    Forgotten,
}

impl Index {
    /// Opens or makes the index of this account.
    pub fn open(path: &Path, keys: &Keys) -> Result<Self, Error> {
        Self::open_as(path, keys, Keeping::Kept)
    }

    /// Opens it to find out what a push would be: it knows what the index knows, and forgets what it is told.
    pub fn open_forgetful(path: &Path, keys: &Keys) -> Result<Self, Error> {
        Self::open_as(path, keys, Keeping::Forgotten)
    }

    fn open_as(path: &Path, keys: &Keys, keeping: Keeping) -> Result<Self, Error> {
        let db = connect(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
        let proof = keys.tag(b"the owner of this index");
        let found: Option<Vec<u8>> = db.query_row("SELECT proof FROM owner", [], |row| row.get(0)).optional()?;
        match found {
            None => {
                db.execute("INSERT INTO owner VALUES (?1)", [&proof.0[..]])?;
            }
            Some(found) if found != proof.0 => return Err(Error::Foreign { path: path.to_owned() }),
            Some(_) => {}
        }
        // One push at a time: two would count on chunks that only the other one has stored.
        match db.execute_batch("BEGIN IMMEDIATE") {
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => {
                return Err(Error::Busy { path: path.to_owned() });
            }
            begun => begun?,
        }
        db.execute("INSERT INTO safe SELECT 0 WHERE NOT EXISTS (SELECT * FROM safe)", [])?;
        let last = db.query_row("SELECT coalesce(max(seq), 0) FROM sqlite_sequence", [], |row| row.get(0))?;
        let mut index = Self { db, last: Number(last), keeping };
        index.forget_unsafe()?;
        Ok(index)
    }

    /// The newest chunk, and with it all that were remembered before it.
    pub fn last(&self) -> Number {
        self.last
    }

    /// Makes what was remembered so far survive a crash. Every chunk up to this one is safe.
    pub fn commit(&mut self, safe: Number) -> Result<(), Error> {
        self.db.prepare_cached("UPDATE safe SET number = ?1")?.execute([safe.0])?;
        match self.keeping {
            Keeping::Kept => Ok(self.db.execute_batch("COMMIT; BEGIN IMMEDIATE")?),
            Keeping::Forgotten => Ok(()),
        }
    }

    /// Chunks that were on their way when the last push broke off may not have arrived.
    fn forget_unsafe(&mut self) -> Result<(), Error> {
        let mut statement = self.db.prepare("SELECT number FROM chunk WHERE number > (SELECT number FROM safe)")?;
        let numbers: HashSet<Number> =
            statement.query_map([], |row| row.get(0).map(Number))?.collect::<Result<_, _>>()?;
        drop(statement);
        if numbers.is_empty() { Ok(()) } else { self.forget_numbers(&numbers) }
    }
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let db = Connection::open(path)?;
    db.busy_timeout(BUSY_WAIT)?;
    db.pragma_update(None, "journal_mode", "wal")?;
    // What a crash of the machine takes back is only forgotten, and read once more.
    db.pragma_update(None, "synchronous", "normal")?;
    db.pragma_update(None, "cache_size", -16_000)?;
    db.set_prepared_statement_cache_capacity(32);
    if db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? != FORMAT {
        forget_all(&db)?;
        db.pragma_update(None, "user_version", FORMAT)?;
    }
    db.execute_batch(SCHEMA)?;
    Ok(db)
}

fn forget_all(db: &Connection) -> Result<(), rusqlite::Error> {
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'";
    let names: Vec<String> = db.prepare(names)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    names.iter().try_for_each(|name| db.execute_batch(&format!("DROP TABLE {name}")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::seal::AccountSecret;

    pub(crate) fn keys() -> Keys {
        AccountSecret::from_bytes([1; 32]).keys()
    }

    #[test]
    fn the_index_of_another_account_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("index");
        drop(Index::open(&path, &keys()).expect("made"));
        drop(Index::open(&path, &keys()).expect("opened"));
        let other = AccountSecret::from_bytes([2; 32]).keys();
        assert!(matches!(Index::open(&path, &other), Err(Error::Foreign { .. })));
    }

    #[test]
    fn a_second_push_at_the_same_time_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("index");
        let first = Index::open(&path, &keys()).expect("made");
        let error = Index::open(&path, &keys()).expect_err("refused");
        assert!(matches!(error, Error::Busy { .. }), "{error}");
        drop(first);
        Index::open(&path, &keys()).expect("free again");
    }

    #[test]
    fn what_is_no_index_is_refused_with_a_way_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("index");
        std::fs::write(&path, vec![7; 10_000]).expect("written");
        let error = Index::open(&path, &keys()).expect_err("refused");
        assert!(error.to_string().contains("can be deleted"), "{error}");
    }
}
