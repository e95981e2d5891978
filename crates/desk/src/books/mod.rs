//! What the desk remembers, in one SQLite file: accounts, jobs, what was asked for, what was quoted,
//! templates.
mod asked;
mod jobs;
mod quotes;
mod templates;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

pub(crate) use asked::Begun;
pub(crate) use jobs::{Job, NewJob, Paid, Stage};
pub(crate) use quotes::{Kept, has_ended};
pub(crate) use templates::{Published, Typical};

use crate::Error;

/// One row for each account; its payer is how the hub knows it.
const SCHEMA: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS account (
    id TEXT PRIMARY KEY,
    payer TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS account_by_payer ON account (payer);
CREATE TABLE IF NOT EXISTS job (
    job INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    prefer TEXT,
    template TEXT,
    cap INTEGER NOT NULL,
    order_id TEXT,
    submitted_ms INTEGER NOT NULL,
    stage INTEGER NOT NULL,
    outcome TEXT,
    ended_ms INTEGER,
    ran_ms INTEGER,
    paid INTEGER,
    fee INTEGER,
    refunded INTEGER,
    tx TEXT,
    settled_ms INTEGER,
    note TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS job_by_account ON job (account, job);
CREATE INDEX IF NOT EXISTS job_by_stage ON job (stage) WHERE stage < 2;
CREATE INDEX IF NOT EXISTS job_by_template ON job (template, job) WHERE template IS NOT NULL;
CREATE TABLE IF NOT EXISTS asked (
    account TEXT NOT NULL,
    key TEXT NOT NULL,
    what BLOB NOT NULL,
    answer TEXT,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (account, key)
) STRICT;
CREATE INDEX IF NOT EXISTS asked_by_time ON asked (at_ms);
CREATE TABLE IF NOT EXISTS quote (
    account TEXT NOT NULL,
    id TEXT NOT NULL,
    work BLOB NOT NULL,
    offers TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (account, id)
) STRICT;
CREATE INDEX IF NOT EXISTS quote_by_time ON quote (at_ms);
CREATE TABLE IF NOT EXISTS quoted_images (
    account TEXT NOT NULL,
    id TEXT NOT NULL,
    images TEXT NOT NULL,
    PRIMARY KEY (account, id)
) STRICT;
CREATE TABLE IF NOT EXISTS template (
    name TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    by TEXT NOT NULL,
    version TEXT NOT NULL,
    at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS template_by_account ON template (account);
CREATE TABLE IF NOT EXISTS rendered (
    hash BLOB PRIMARY KEY,
    template TEXT NOT NULL,
    at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS rendered_by_time ON rendered (at_ms);
";

/// The books. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Books(Arc<Mutex<Connection>>);

impl Books {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let connection = Connection::open(path)?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Does something with the books, on a thread that may wait for the disk.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let books = Arc::clone(&self.0);
        let working = tokio::task::spawn_blocking(move || {
            work(&mut books.lock().unwrap_or_else(PoisonError::into_inner)).map_err(Error::from)
        });
        working.await.unwrap_or(Err(Error::Defect))
    }

    /// Remembers by which name the hub knows an account.
    pub(crate) async fn note_account(&self, id: &str, payer: &str) -> Result<(), Error> {
        if self.payer_of(id).await?.as_deref() == Some(payer) {
            return Ok(());
        }
        let (id, payer) = (id.to_owned(), payer.to_owned());
        self.with(move |connection| {
            let upsert = "INSERT INTO account (id, payer) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET payer = ?2";
            connection.execute(upsert, (&id, &payer)).map(|_| ())
        })
        .await
    }

    /// The account that the hub knows by this name.
    pub(crate) async fn account_of(&self, payer: &str) -> Result<Option<String>, Error> {
        use rusqlite::OptionalExtension;
        let payer = payer.to_owned();
        let find = "SELECT id FROM account WHERE payer = ?1";
        self.with(move |connection| connection.query_row(find, [&payer], |row| row.get(0)).optional()).await
    }

    /// By which name the hub knows an account.
    pub(crate) async fn payer_of(&self, id: &str) -> Result<Option<String>, Error> {
        use rusqlite::OptionalExtension;
        let id = id.to_owned();
        let find = "SELECT payer FROM account WHERE id = ?1";
        self.with(move |connection| connection.query_row(find, [&id], |row| row.get(0)).optional()).await
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_account_is_found_by_the_name_that_the_hub_knows() {
        let dir = tempfile::tempdir().expect("a folder");
        let books = Books::open(&dir.path().join("desk.db")).expect("opens");
        books.note_account("one", "@ada").await.expect("noted");
        books.note_account("one", "0x1").await.expect("noted");
        assert_eq!(books.account_of("0x1").await.expect("asked").as_deref(), Some("one"));
        assert_eq!(books.account_of("@ada").await.expect("asked"), None);
        assert_eq!(books.payer_of("one").await.expect("asked").as_deref(), Some("0x1"));
    }
}
