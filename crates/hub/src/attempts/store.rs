//! Ended attempts on disk: SQLite, one row for each.
use super::{ALL_MAX, End, Listed, PER_JOB_MAX, Record};
use crate::journal::ARCHIVE_JOBS_MAX;
use gleaner_wire::{AttemptId, JobId, Millis};
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS attempt (
        job INTEGER NOT NULL, number INTEGER NOT NULL, attempt INTEGER NOT NULL, record BLOB NOT NULL,
        PRIMARY KEY (job, number)) WITHOUT ROWID;
";

/// The file.
pub(super) struct Store {
    db: Connection,
    /// Rows in it.
    rows: u64,
}

impl Store {
    pub(super) fn open(path: &Path) -> Result<Self, rusqlite::Error> {
        let db = Connection::open(path)?;
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        // It survives the end of the process. A power cut may take the last moments, which nobody is paid by.
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.execute_batch(TABLES)?;
        let rows = db.query_row("SELECT count(*) FROM attempt", [], |row| row.get(0))?;
        Ok(Self { db, rows })
    }

    /// The number of the newest attempt of a job, from 1; zero if it has none.
    pub(super) fn last(&self, job: JobId) -> Result<u64, rusqlite::Error> {
        let mut statement = self.db.prepare_cached("SELECT max(number) FROM attempt WHERE job = ?1")?;
        Ok(statement.query_row([job.0], |row| row.get::<_, Option<u64>>(0))?.unwrap_or(0))
    }

    /// Stores ended attempts, each with its number in its job. What is over the limits goes.
    pub(super) fn add(&mut self, ended: &[(JobId, u64, Record)]) -> Result<(), rusqlite::Error> {
        let transaction = self.db.transaction()?;
        let mut rows = self.rows;
        let mut jobs: Vec<(JobId, u64)> = Vec::new();
        for (job, number, record) in ended {
            let encoded = postcard::to_allocvec(record).expect("a record is plain data");
            let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO attempt VALUES (?1, ?2, ?3, ?4)")?;
            rows += insert.execute(params![job.0, number, record.attempt.0.cast_signed(), encoded])? as u64;
            match jobs.iter_mut().find(|(known, _)| known == job) {
                Some((_, last)) => *last = (*last).max(*number),
                None => jobs.push((*job, *number)),
            }
        }
        for (job, last) in &jobs {
            let mut cut = transaction.prepare_cached("DELETE FROM attempt WHERE job = ?1 AND number <= ?2")?;
            rows -= cut.execute(params![job.0, last.saturating_sub(PER_JOB_MAX)])? as u64;
        }
        let newest = jobs.iter().map(|(job, _)| job.0).max().unwrap_or(0);
        let mut forget = transaction.prepare_cached("DELETE FROM attempt WHERE job <= ?1")?;
        rows -= forget.execute([newest.saturating_sub(ARCHIVE_JOBS_MAX)])? as u64;
        while rows > ALL_MAX {
            let oldest: u64 = transaction.query_row("SELECT min(job) FROM attempt", [], |row| row.get(0))?;
            rows -= forget.execute([oldest])? as u64;
        }
        drop(forget);
        transaction.commit()?;
        self.rows = rows;
        Ok(())
    }

    /// Notes that the result of an attempt was found wrong after it had ended.
    pub(super) fn correct(&self, job: JobId, id: AttemptId, end: End) -> Result<(), rusqlite::Error> {
        let mut find =
            self.db.prepare_cached("SELECT number, record FROM attempt WHERE job = ?1 AND attempt = ?2 LIMIT 1")?;
        let found = find.query_row(params![job.0, id.0.cast_signed()], |row| {
            Ok((row.get::<_, u64>(0)?, row.get::<_, Vec<u8>>(1)?))
        });
        let Some((number, encoded)) = found.optional()? else { return Ok(()) };
        let Ok(mut record) = postcard::from_bytes::<Record>(&encoded) else { return Ok(()) };
        let at = record.ended.map_or(Millis(0), |(at, _)| at);
        record.ended = Some((at, end));
        let encoded = postcard::to_allocvec(&record).expect("a record is plain data");
        let mut update = self.db.prepare_cached("UPDATE attempt SET record = ?3 WHERE job = ?1 AND number = ?2")?;
        update.execute(params![job.0, number, encoded])?;
        Ok(())
    }

    /// The ended attempts of a job that are kept, oldest first.
    pub(super) fn of(&self, job: JobId) -> Result<Listed, rusqlite::Error> {
        let mut statement =
            self.db.prepare_cached("SELECT number, record FROM attempt WHERE job = ?1 ORDER BY number")?;
        let rows = statement.query_map([job.0], |row| Ok((row.get::<_, u64>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
        let mut listed = Listed::default();
        for row in rows {
            let (number, encoded) = row?;
            if listed.records.is_empty() {
                listed.not_listed = number - 1;
            }
            // What an older program wrote may have another form; it is left out.
            match postcard::from_bytes(&encoded) {
                Ok(record) => listed.records.push(record),
                Err(_) => listed.not_listed += 1,
            }
        }
        Ok(listed)
    }
}
