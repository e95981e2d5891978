//! The file: moments of the last day, what workers earned by hour, and up to where each job was counted.
use super::sample::{Row, Sample};
use gleaner_wire::figures::{StatusPoint, StatusView};
use gleaner_wire::{Amount, Millis};
use rusqlite::{Connection, params};
use std::collections::VecDeque;
use std::path::Path;

/// The steps of the history.
const STEP_MS: u64 = 5 * 60 * 1000;
const MINUTE_MS: u64 = 60 * 1000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
/// How far the history goes back.
const HISTORY_MS: u64 = 24 * HOUR_MS;
/// How long earnings are kept.
const EARNINGS_MS: u64 = 400 * 24 * HOUR_MS;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS moment (at INTEGER PRIMARY KEY, record BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS earning (
        worker INTEGER NOT NULL, hour INTEGER NOT NULL, gross INTEGER NOT NULL, net INTEGER NOT NULL,
        tasks INTEGER NOT NULL, ran INTEGER NOT NULL, PRIMARY KEY (worker, hour)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS counted (
        job INTEGER NOT NULL, worker INTEGER NOT NULL, gross INTEGER NOT NULL, net INTEGER NOT NULL,
        tasks INTEGER NOT NULL, ran INTEGER NOT NULL, ended INTEGER, PRIMARY KEY (job, worker)) WITHOUT ROWID;
";

pub(super) struct Store {
    pub(super) db: Connection,
    /// Tasks done, at moments of the last hour.
    done: VecDeque<(u64, u64)>,
    last: u64,
}

impl Store {
    pub(super) fn open(path: &Path, now: Millis) -> Result<Self, rusqlite::Error> {
        let db = Connection::open(path)?;
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.execute_batch(TABLES)?;
        db.execute("DELETE FROM earning WHERE hour < ?1", [now.0.saturating_sub(EARNINGS_MS)])?;
        let mut store = Self { db, done: VecDeque::new(), last: 0 };
        let rows = store.rows(now.0.saturating_sub(HISTORY_MS))?;
        store.last = rows.last().map_or(0, |row| row.at);
        let lately = rows.iter().filter(|row| row.at + HOUR_MS >= now.0);
        store.done = lately.map(|row| (row.at, row.tasks_done)).collect();
        Ok(store)
    }

    /// Takes figures in, and says what they say.
    pub(super) fn take(&mut self, sample: &Sample) -> StatusView {
        let row = sample.row();
        if row.at.saturating_sub(self.last) >= STEP_MS {
            self.last = row.at;
            if let Err(error) = self.keep(&row) {
                tracing::warn!(%error, "a step of the network's history is not kept");
            }
        }
        self.done.push_back((row.at, row.tasks_done));
        while self.done.get(1).is_some_and(|(at, _)| at + HOUR_MS <= row.at) {
            self.done.pop_front();
        }
        sample.view(self.since(&row, MINUTE_MS), self.since(&row, HOUR_MS))
    }

    /// Tasks done since so long ago, or since the oldest moment that is known.
    fn since(&self, row: &Row, span: u64) -> u64 {
        let before = self.done.iter().rev().find(|(at, _)| at + span <= row.at).or_else(|| self.done.front());
        before.map_or(0, |(_, done)| row.tasks_done.saturating_sub(*done))
    }

    fn keep(&self, row: &Row) -> Result<(), rusqlite::Error> {
        let record = postcard::to_allocvec(row).expect("a row is plain data");
        self.db.execute("INSERT OR REPLACE INTO moment VALUES (?1, ?2)", params![row.at, record])?;
        self.db.execute("DELETE FROM moment WHERE at < ?1", [row.at.saturating_sub(HISTORY_MS + STEP_MS)])?;
        Ok(())
    }

    fn rows(&self, from: u64) -> Result<Vec<Row>, rusqlite::Error> {
        let mut statement = self.db.prepare_cached("SELECT record FROM moment WHERE at >= ?1 ORDER BY at")?;
        let rows = statement.query_map([from], |row| row.get::<_, Vec<u8>>(0))?;
        // What an older program wrote may have another form; it is left out.
        Ok(rows.filter_map(|row| postcard::from_bytes(&row.ok()?).ok()).collect())
    }

    /// The last day in steps.
    pub(super) fn history(&mut self) -> Result<Vec<StatusPoint>, rusqlite::Error> {
        // One moment more than steps: each is told against the one before it.
        let rows = self.rows(self.last.saturating_sub(HISTORY_MS))?;
        Ok(rows.windows(2).map(|pair| point(&pair[0], &pair[1])).collect())
    }
}

fn point(before: &Row, row: &Row) -> StatusPoint {
    StatusPoint {
        at: Millis(row.at),
        workers: row.workers,
        slots: row.slots,
        busy: row.busy,
        queued: row.queued,
        jobs: row.jobs,
        tasks_done: row.tasks_done.saturating_sub(before.tasks_done),
        audited: row.audited.saturating_sub(before.audited),
        refuted: row.refuted.saturating_sub(before.refuted),
        paid: Amount(row.paid.saturating_sub(before.paid)),
    }
}
