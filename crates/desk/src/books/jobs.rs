//! The jobs that came by this desk: whose they are, how far they are, what they were paid.
use gleaner_wire::{Amount, JobId};
use rusqlite::{OptionalExtension, Row};

use super::{Books, now_ms};
use crate::Error;

/// How far a job is, as far as the desk has to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Workers may ask for its keys.
    Running,
    /// It has ended, and its money has not.
    Ended,
    /// Nothing is left to do.
    Closed,
}

impl Stage {
    fn number(self) -> i64 {
        match self {
            Self::Running => 0,
            Self::Ended => 1,
            Self::Closed => 2,
        }
    }

    fn of(number: i64) -> Self {
        match number {
            0 => Self::Running,
            1 => Self::Ended,
            _ => Self::Closed,
        }
    }
}

/// A job that was just submitted.
#[derive(Clone, Debug)]
pub(crate) struct NewJob {
    pub(crate) job: JobId,
    pub(crate) account: String,
    pub(crate) name: String,
    pub(crate) prefer: Option<String>,
    pub(crate) template: Option<String>,
    pub(crate) cap: Amount,
    /// Its order on the chain.
    pub(crate) order: Option<String>,
}

/// What a job was paid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paid {
    pub(crate) paid: Amount,
    pub(crate) fee: Amount,
    pub(crate) refunded: Amount,
    pub(crate) order: Option<String>,
    pub(crate) transaction: Option<String>,
}

/// A job of this desk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) job: JobId,
    pub(crate) account: String,
    pub(crate) name: String,
    pub(crate) prefer: Option<String>,
    pub(crate) template: Option<String>,
    pub(crate) cap: Amount,
    pub(crate) order: Option<String>,
    pub(crate) submitted_ms: u64,
    pub(crate) stage: Stage,
    /// How it ended.
    pub(crate) outcome: Option<String>,
    pub(crate) ended_ms: Option<u64>,
    pub(crate) paid: Option<Amount>,
    pub(crate) fee: Option<Amount>,
    pub(crate) refunded: Option<Amount>,
    pub(crate) transaction: Option<String>,
    pub(crate) settled_ms: Option<u64>,
    /// What its owner should know of its money.
    pub(crate) note: Option<String>,
}

const COLUMNS: &str = "job, account, name, prefer, template, cap, order_id, submitted_ms, stage, outcome, ended_ms, \
                       paid, fee, refunded, tx, settled_ms, note";

fn read(row: &Row<'_>) -> rusqlite::Result<Job> {
    let amount = |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<u64>>(at)?.map(Amount));
    Ok(Job {
        job: JobId(row.get(0)?),
        account: row.get(1)?,
        name: row.get(2)?,
        prefer: row.get(3)?,
        template: row.get(4)?,
        cap: Amount(row.get(5)?),
        order: row.get(6)?,
        submitted_ms: row.get(7)?,
        stage: Stage::of(row.get(8)?),
        outcome: row.get(9)?,
        ended_ms: row.get(10)?,
        paid: amount(11)?,
        fee: amount(12)?,
        refunded: amount(13)?,
        transaction: row.get(14)?,
        settled_ms: row.get(15)?,
        note: row.get(16)?,
    })
}

impl Books {
    /// Notes a job, unless it is known.
    pub(crate) async fn add_job(&self, new: &NewJob) -> Result<(), Error> {
        let new = new.clone();
        self.with(move |connection| {
            let insert = "INSERT OR IGNORE INTO job (job, account, name, prefer, template, cap, order_id, \
                          submitted_ms, stage) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)";
            let NewJob { job, account, name, prefer, template, cap, order } = new;
            let now = now_ms();
            connection.execute(insert, (job.0, account, name, prefer, template, cap.0, order, now)).map(|_| ())
        })
        .await
    }

    /// A job, if it is this account's.
    pub(crate) async fn job_of(&self, account: &str, job: JobId) -> Result<Option<Job>, Error> {
        let account = account.to_owned();
        let find = format!("SELECT {COLUMNS} FROM job WHERE job = ?1 AND account = ?2");
        // What no database can number is no job either.
        let Ok(number) = i64::try_from(job.0) else { return Ok(None) };
        self.with(move |connection| connection.query_row(&find, (number, account), read).optional()).await
    }

    /// The jobs of an account that came before `before`, newest first.
    pub(crate) async fn jobs_of(&self, account: &str, before: Option<u64>, limit: u32) -> Result<Vec<Job>, Error> {
        let account = account.to_owned();
        let before = before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
        self.with(move |connection| {
            let find = format!("SELECT {COLUMNS} FROM job WHERE account = ?1 AND job < ?2 ORDER BY job DESC LIMIT ?3");
            connection.prepare(&find)?.query_map((account, before, limit), read)?.collect()
        })
        .await
    }

    /// All jobs of which something is left to do.
    pub(crate) async fn open_jobs(&self) -> Result<Vec<Job>, Error> {
        let find = format!("SELECT {COLUMNS} FROM job WHERE stage < 2 ORDER BY job");
        self.with(move |connection| connection.prepare(&find)?.query_map([], read)?.collect()).await
    }

    /// How many jobs of an account have not ended.
    pub(crate) async fn running(&self, account: &str) -> Result<u32, Error> {
        let account = account.to_owned();
        let count = "SELECT count(*) FROM job WHERE account = ?1 AND stage = 0";
        self.with(move |connection| connection.query_row(count, [account], |row| row.get(0))).await
    }

    /// Whether a job came by this desk.
    pub(crate) async fn knows(&self, job: JobId) -> Result<bool, Error> {
        let find = "SELECT 1 FROM job WHERE job = ?1";
        let found = self.with(move |connection| connection.query_row(find, [job.0], |_| Ok(())).optional()).await?;
        Ok(found.is_some())
    }

    /// A job has ended.
    pub(crate) async fn ended(&self, job: JobId, outcome: &str, ended_ms: u64, ran_ms: u64) -> Result<(), Error> {
        let outcome = outcome.to_owned();
        let update = "UPDATE job SET stage = ?2, outcome = ?3, ended_ms = ?4, ran_ms = ?5 WHERE job = ?1 AND stage = 0";
        let stage = Stage::Ended.number();
        self.with(move |connection| connection.execute(update, (job.0, stage, outcome, ended_ms, ran_ms)).map(|_| ()))
            .await
    }

    /// Notes what its owner should know of a job's money, while that has not moved.
    pub(crate) async fn note(&self, job: JobId, note: &str) -> Result<(), Error> {
        let note = note.to_owned();
        let update = "UPDATE job SET note = ?2 WHERE job = ?1";
        self.with(move |connection| connection.execute(update, (job.0, note)).map(|_| ())).await
    }

    /// Nothing is left to do about a job.
    pub(crate) async fn close(&self, job: &Job, paid: &Paid) -> Result<(), Error> {
        let (number, paid) = (job.job, paid.clone());
        let update = "UPDATE job SET stage = ?2, paid = ?3, fee = ?4, refunded = ?5, tx = ?6, settled_ms = ?7, \
                      order_id = coalesce(order_id, ?8) WHERE job = ?1 AND stage < 2";
        let closed = self.with(move |connection| {
            let Paid { paid, fee, refunded, order, transaction } = paid;
            let stage = Stage::Closed.number();
            connection.execute(update, (number.0, stage, paid.0, fee.0, refunded.0, transaction, now_ms(), order))
        });
        closed.await.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(job: u64, account: &str) -> NewJob {
        let (prefer, template, order) = (None, None, None);
        let (account, name) = (account.to_owned(), "a job".to_owned());
        NewJob { job: JobId(job), account, name, prefer, template, cap: Amount(10), order }
    }

    #[tokio::test]
    async fn a_job_is_its_owners_until_nothing_is_left_to_do() {
        let dir = tempfile::tempdir().expect("a folder");
        let books = Books::open(&dir.path().join("desk.db")).expect("opens");
        for (job, account) in [(1, "ada"), (2, "bob"), (3, "ada")] {
            books.add_job(&new(job, account)).await.expect("noted");
        }
        assert_eq!(books.job_of("bob", JobId(1)).await.expect("asked"), None);
        assert_eq!(books.job_of("ada", JobId(u64::MAX)).await.expect("asked"), None);
        let numbers = |jobs: Vec<Job>| jobs.iter().map(|job| job.job.0).collect::<Vec<_>>();
        assert_eq!(numbers(books.jobs_of("ada", None, 10).await.expect("listed")), [3, 1]);
        assert_eq!(numbers(books.jobs_of("ada", Some(3), 10).await.expect("listed")), [1]);
        assert_eq!(books.running("ada").await.expect("counted"), 2);
        books.ended(JobId(1), "done", 7, 5).await.expect("noted");
        assert_eq!(books.running("ada").await.expect("counted"), 1);
        assert_eq!(numbers(books.open_jobs().await.expect("listed")), [1, 2, 3]);
        let job = books.job_of("ada", JobId(1)).await.expect("asked").expect("hers");
        assert_eq!((job.stage, job.outcome.as_deref(), job.ended_ms), (Stage::Ended, Some("done"), Some(7)));
        books.close(&job, &Paid { paid: Amount(4), ..Paid::default() }).await.expect("closed");
        assert_eq!(numbers(books.open_jobs().await.expect("listed")), [2, 3]);
        assert!(books.knows(JobId(1)).await.expect("asked") && !books.knows(JobId(4)).await.expect("asked"));
    }
}
