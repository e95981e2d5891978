//! What workers earned, by the hour in which it was seen. Each job is counted up to where it was counted before, so that
//! counting it again changes nothing.
use super::store::Store;
use gleaner_core::Part;
use gleaner_wire::figures::EarningsPoint;
use gleaner_wire::{Amount, JobId, Millis, WorkerId};
use rusqlite::{Connection, OptionalExtension, Row, params};

const HOUR_MS: u64 = 60 * 60 * 1000;
/// How long it is remembered up to where an ended job was counted; a hub that starts again may hand it in once more.
const ENDED_MS: u64 = 24 * HOUR_MS;

#[derive(Clone, Copy, Default)]
struct Sums {
    gross: u64,
    net: u64,
    tasks: u64,
    ran: u64,
}

impl Sums {
    fn read(row: &Row<'_>) -> Result<Self, rusqlite::Error> {
        Ok(Self { gross: row.get(0)?, net: row.get(1)?, tasks: row.get(2)?, ran: row.get(3)? })
    }

    fn beyond(self, before: Self) -> Self {
        Self {
            gross: self.gross.saturating_sub(before.gross),
            net: self.net.saturating_sub(before.net),
            tasks: self.tasks.saturating_sub(before.tasks),
            ran: self.ran.saturating_sub(before.ran),
        }
    }

    fn is_nothing(self) -> bool {
        self.gross == 0 && self.tasks == 0
    }
}

impl Store {
    /// Counts what was done for jobs since they were counted last.
    pub(super) fn count(&mut self, parts: &[Part], at: Millis, ended: bool) -> Result<(), rusqlite::Error> {
        let transaction = self.db.transaction()?;
        for part in parts {
            count_one(&transaction, part, at, ended)?;
        }
        if ended {
            let old = at.0.saturating_sub(ENDED_MS);
            transaction.prepare_cached("DELETE FROM counted WHERE ended < ?1")?.execute([old])?;
        }
        transaction.commit()
    }

    /// Jobs that were counted and have not ended as far as is known here.
    pub(super) fn open_jobs(&mut self) -> Result<Vec<JobId>, rusqlite::Error> {
        let mut statement = self.db.prepare_cached("SELECT DISTINCT job FROM counted WHERE ended IS NULL")?;
        let jobs = statement.query_map([], |row| row.get(0).map(JobId))?;
        jobs.collect()
    }

    /// What a worker earned in the hours of a span, oldest first.
    pub(super) fn earned(
        &mut self,
        worker: WorkerId,
        (from, to): (Millis, Millis),
        count: u32,
    ) -> Result<Vec<EarningsPoint>, rusqlite::Error> {
        let mut statement = self.db.prepare_cached(
            "SELECT gross, net, tasks, ran, hour FROM earning WHERE worker = ?1 AND hour >= ?2 AND hour < ?3 \
             ORDER BY hour LIMIT ?4",
        )?;
        let bound = |moment: Millis| i64::try_from(moment.0).unwrap_or(i64::MAX);
        let points = statement.query_map(params![worker.0, bound(from), bound(to), count], |row| {
            let Sums { gross, net, tasks, ran } = Sums::read(row)?;
            let (gross, net, hour) = (Amount(gross), Amount(net), Millis(row.get(4)?));
            Ok(EarningsPoint { hour, gross, net, tasks, ran_micros: ran })
        })?;
        points.collect()
    }
}

fn count_one(db: &Connection, part: &Part, at: Millis, ended: bool) -> Result<(), rusqlite::Error> {
    let now = Sums { gross: part.gross.0, net: part.net.0, tasks: part.tasks, ran: part.ran.0 };
    let mut find = db.prepare_cached("SELECT gross, net, tasks, ran FROM counted WHERE job = ?1 AND worker = ?2")?;
    let before = find.query_row(params![part.job.0, part.worker.0], Sums::read).optional()?;
    let news = now.beyond(before.unwrap_or_default());
    if news.is_nothing() && !ended {
        return Ok(());
    }
    if !news.is_nothing() {
        db.prepare_cached(
            "INSERT INTO earning VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (worker, hour) DO UPDATE SET \
             gross = gross + excluded.gross, net = net + excluded.net, tasks = tasks + excluded.tasks, \
             ran = ran + excluded.ran",
        )?
        .execute(params![
            part.worker.0,
            at.0 / HOUR_MS * HOUR_MS,
            news.gross,
            news.net,
            news.tasks,
            news.ran
        ])?;
    }
    let ended = ended.then_some(at.0);
    db.prepare_cached("INSERT OR REPLACE INTO counted VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?.execute(params![
        part.job.0,
        part.worker.0,
        now.gross,
        now.net,
        now.tasks,
        now.ran,
        ended
    ])?;
    Ok(())
}
