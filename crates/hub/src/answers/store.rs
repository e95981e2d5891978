//! Keys and answers on disk.
use super::{Answer, Key};
use gleaner_wire::Hash;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;

/// Keys that are kept; the oldest go first. As many as ended jobs that are kept.
const KEPT_MAX: i64 = 100_000;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS answer (
        number INTEGER PRIMARY KEY, scope TEXT NOT NULL, key TEXT NOT NULL, request BLOB NOT NULL,
        status INTEGER, location TEXT, body BLOB, UNIQUE (scope, key));
";

pub(super) struct Store {
    db: Connection,
}

impl Store {
    pub(super) fn open(path: &Path) -> Result<Self, rusqlite::Error> {
        let db = Connection::open(path)?;
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        // It survives the end of the process; jobs are known by their keys to the journal as well.
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.execute_batch(TABLES)?;
        Ok(Self { db })
    }

    /// The hash of the request that a key was used for, and its answer if there was one.
    pub(super) fn find(&self, key: &Key) -> Result<Option<(Hash, Option<Answer>)>, rusqlite::Error> {
        let mut statement = self
            .db
            .prepare_cached("SELECT request, status, location, body FROM answer WHERE scope = ?1 AND key = ?2")?;
        let found = statement.query_row(params![key.scope, key.key], |row| {
            let answer = match row.get::<_, Option<u16>>(1)? {
                Some(status) => Some(Answer { status, location: row.get(2)?, body: row.get(3)? }),
                None => None,
            };
            Ok((Hash(row.get(0)?), answer))
        });
        found.optional()
    }

    pub(super) fn begin(&self, key: &Key, request: Hash) -> Result<(), rusqlite::Error> {
        let mut insert = self.db.prepare_cached("INSERT INTO answer (scope, key, request) VALUES (?1, ?2, ?3)")?;
        insert.execute(params![key.scope, key.key, request.0])?;
        let oldest = self.db.last_insert_rowid() - KEPT_MAX;
        self.db.prepare_cached("DELETE FROM answer WHERE number <= ?1")?.execute([oldest])?;
        Ok(())
    }

    pub(super) fn answer(&self, key: &Key, answer: &Answer) -> Result<(), rusqlite::Error> {
        let mut update = self
            .db
            .prepare_cached("UPDATE answer SET status = ?3, location = ?4, body = ?5 WHERE scope = ?1 AND key = ?2")?;
        update.execute(params![key.scope, key.key, answer.status, answer.location, answer.body])?;
        Ok(())
    }

    pub(super) fn forget(&self, key: &Key) -> Result<(), rusqlite::Error> {
        let mut delete = self.db.prepare_cached("DELETE FROM answer WHERE scope = ?1 AND key = ?2")?;
        delete.execute(params![key.scope, key.key])?;
        Ok(())
    }
}
