//! Ended jobs: what the API shows of them after the core has forgotten them.
use super::{ARCHIVE_JOBS_MAX, Error};
use gleaner_core::Proof;
use gleaner_wire::api::{JobSummary, JobView};
use gleaner_wire::{JobId, Output};
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params, params_from_iter};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Elements whose outputs share a row.
pub(crate) const OUTPUTS_PER_ROW: u32 = 4096;

/// An ended job, ready to be stored.
pub(crate) struct ArchivedJob {
    /// Which.
    pub(crate) job: JobId,
    /// The requester's own number of it.
    pub(crate) submission: u128,
    /// The listing's entry, as JSON.
    pub(crate) summary: String,
    /// The whole view, as JSON.
    pub(crate) view: String,
    /// Its outputs.
    pub(crate) outputs: Vec<OutputRow>,
    /// How its results were judged.
    pub(crate) proofs: Vec<ProofRow>,
    /// What is to be settled for it, where money is on a chain.
    pub(crate) order: Option<super::OrderRows>,
}

/// Outputs of up to [`OUTPUTS_PER_ROW`] elements of a group.
pub(crate) struct OutputRow {
    /// The group.
    pub(crate) group: u16,
    /// The first element the row stands for.
    pub(crate) first: u32,
    /// The outputs with their index, encoded.
    pub(crate) outputs: Vec<u8>,
}

/// Judgements that share a row.
pub(crate) const PROOFS_PER_ROW: usize = 256;

/// How up to [`PROOFS_PER_ROW`] results were judged.
pub(crate) struct ProofRow {
    /// The first that the row stands for.
    pub(crate) first: u64,
    /// The judgements, encoded.
    pub(crate) proofs: Vec<u8>,
}

/// Which jobs are listed.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobFilter {
    /// Only those that stand so, by the word that JSON has for it.
    pub(crate) state: Option<String>,
    /// Only those of these requesters.
    pub(crate) requesters: Option<Vec<String>>,
    /// Only those before this one.
    pub(crate) before: Option<JobId>,
}

impl JobFilter {
    /// Whether a job is listed.
    pub(crate) fn takes(&self, job: &JobSummary) -> bool {
        self.state.as_ref().is_none_or(|state| state == job.state.word())
            && self.requesters.as_ref().is_none_or(|names| names.contains(&job.requester))
            && self.before.is_none_or(|before| job.id < before)
    }

    /// The same as a condition of SQL, with its values.
    fn condition(&self) -> (String, Vec<SqlValue>) {
        let (mut text, mut values) = (String::from("job < ?1"), Vec::new());
        let before = self.before.map_or(i64::MAX, |job| i64::try_from(job.0).unwrap_or(i64::MAX));
        values.push(before.into());
        if let Some(state) = &self.state {
            values.push(state.clone().into());
            text += &format!(" AND json_extract(summary, '$.state') = ?{}", values.len());
        }
        if let Some(names) = &self.requesters {
            let first = values.len() + 1;
            values.extend(names.iter().map(|name| name.clone().into()));
            let places: Vec<String> = (first..=values.len()).map(|at| format!("?{at}")).collect();
            text += &format!(" AND json_extract(summary, '$.requester') IN ({})", places.join(", "));
        }
        (text, values)
    }
}

/// Makes listings by state and requester quick. They are indexes only, so an older program does without them.
pub(super) const INDEXES: &str = "
    CREATE INDEX IF NOT EXISTS archive_state ON archive (json_extract(summary, '$.state'), job);
    CREATE INDEX IF NOT EXISTS archive_requester ON archive (json_extract(summary, '$.requester'), job);
";

/// Stores an ended job; storing it again changes nothing.
pub(super) fn store(db: &Connection, job: &ArchivedJob) -> Result<(), Error> {
    db.prepare_cached("INSERT OR REPLACE INTO archive (job, submission, summary, view) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![job.job.0, job.submission.to_be_bytes(), job.summary, job.view])?;
    for row in &job.outputs {
        db.prepare_cached(
            "INSERT OR REPLACE INTO archive_output (job, task_group, first, outputs) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![job.job.0, row.group, row.first, row.outputs])?;
    }
    for row in &job.proofs {
        db.prepare_cached("INSERT OR REPLACE INTO archive_proof (job, first, proofs) VALUES (?1, ?2, ?3)")?
            .execute(params![job.job.0, row.first, row.proofs])?;
    }
    let forgotten = job.job.0.saturating_sub(ARCHIVE_JOBS_MAX);
    db.prepare_cached("DELETE FROM archive WHERE job <= ?1")?.execute([forgotten])?;
    db.prepare_cached("DELETE FROM archive_output WHERE job <= ?1")?.execute([forgotten])?;
    db.prepare_cached("DELETE FROM archive_proof WHERE job <= ?1")?.execute([forgotten])?;
    Ok(())
}

/// The ended job of a submission.
pub(super) fn submitted(db: &Connection, submission: u128) -> Result<Option<JobSummary>, Error> {
    let mut statement = db.prepare_cached("SELECT summary FROM archive WHERE submission = ?1")?;
    let text = statement.query_row([submission.to_be_bytes()], |row| row.get::<_, String>(0)).optional()?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// The archive, open for reading beside the journal's writer.
#[derive(Clone)]
pub(crate) struct Archive {
    db: Arc<Mutex<Connection>>,
}

impl Archive {
    /// Opens the archive of an existing journal.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        db.busy_timeout(std::time::Duration::from_secs(5))?;
        Ok(Self { db: Arc::new(Mutex::new(db)) })
    }

    /// Ended jobs that a filter leaves, newest first.
    pub(crate) async fn page(&self, filter: JobFilter, count: u32) -> Result<Vec<JobSummary>, Error> {
        self.read(move |db| {
            let (condition, values) = filter.condition();
            let query = format!("SELECT summary FROM archive WHERE {condition} ORDER BY job DESC LIMIT {count}");
            let mut statement = db.prepare_cached(&query)?;
            let texts = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(0))?;
            Ok(texts.filter_map(|text| serde_json::from_str(&text.ok()?).ok()).collect())
        })
        .await
    }

    /// An ended job.
    pub(crate) async fn summary(&self, job: JobId) -> Result<Option<JobSummary>, Error> {
        self.read(move |db| {
            let mut statement = db.prepare_cached("SELECT summary FROM archive WHERE job = ?1")?;
            let text = statement.query_row([job.0], |row| row.get::<_, String>(0)).optional()?;
            Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
        })
        .await
    }

    /// All about an ended job.
    pub(crate) async fn view(&self, job: JobId) -> Result<Option<JobView>, Error> {
        self.read(move |db| {
            let mut statement = db.prepare_cached("SELECT view FROM archive WHERE job = ?1")?;
            let text = statement.query_row([job.0], |row| row.get::<_, String>(0)).optional()?;
            Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
        })
        .await
    }

    /// Outputs of the elements `first..first + count` of a group of an ended job.
    pub(crate) async fn outputs(
        &self,
        job: JobId,
        group: u16,
        first: u32,
        count: u32,
    ) -> Result<Vec<(u32, Output)>, Error> {
        let end = first.saturating_add(count);
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT outputs FROM archive_output WHERE job = ?1 AND task_group = ?2 AND first > ?3 AND first < ?4 \
                 ORDER BY first",
            )?;
            let before = i64::from(first) - i64::from(OUTPUTS_PER_ROW);
            let rows = statement.query_map(params![job.0, group, before, end], |row| row.get::<_, Vec<u8>>(0))?;
            let mut outputs = Vec::new();
            for row in rows {
                let row: Vec<(u32, Output)> = postcard::from_bytes(&row?).map_err(|_| Error::Encoding)?;
                outputs.extend(row.into_iter().filter(|(index, _)| (first..end).contains(index)));
            }
            Ok(outputs)
        })
        .await
    }

    /// How the results of an ended job were judged, in order, from the row that has `first` on.
    pub(crate) async fn proofs(&self, job: JobId, first: u64, rows: u32) -> Result<Vec<Proof>, Error> {
        self.read(move |db| {
            let from = first / PROOFS_PER_ROW as u64 * PROOFS_PER_ROW as u64;
            let mut statement = db.prepare_cached(
                "SELECT proofs FROM archive_proof WHERE job = ?1 AND first >= ?2 ORDER BY first LIMIT ?3",
            )?;
            let found = statement.query_map(params![job.0, from, rows], |row| row.get::<_, Vec<u8>>(0))?;
            let mut proofs: Vec<Proof> = Vec::new();
            for row in found {
                proofs.extend(postcard::from_bytes::<Vec<Proof>>(&row?).map_err(|_| Error::Encoding)?);
            }
            Ok(proofs.split_off(((first - from) as usize).min(proofs.len())))
        })
        .await
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let db = Arc::clone(&self.db);
        let read = move || work(&db.lock().unwrap_or_else(PoisonError::into_inner));
        tokio::task::spawn_blocking(read).await.map_err(|_| Error::Encoding)?
    }
}
