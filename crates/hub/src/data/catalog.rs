//! What the chunks in the store belong to, and for how long it is kept; and wrapped keys. One SQLite file.
use crate::Error;
use gleaner_wire::{BlobRef, DataRef, Hash, JobId, WorkerKey};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS dataset (
        root BLOB PRIMARY KEY, root_bytes INTEGER NOT NULL, bytes INTEGER NOT NULL, chunks INTEGER NOT NULL,
        owner TEXT NOT NULL, label BLOB NOT NULL, kind INTEGER NOT NULL, made INTEGER NOT NULL, until INTEGER
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS dataset_owner ON dataset (owner);
    CREATE TABLE IF NOT EXISTS weight (root BLOB PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS used (job INTEGER NOT NULL, root BLOB NOT NULL, PRIMARY KEY (job, root)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS submission (job INTEGER PRIMARY KEY, number BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS owner (submission BLOB PRIMARY KEY, machine BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS wrapped (
        submission BLOB NOT NULL, task INTEGER NOT NULL, receiver BLOB NOT NULL, giver BLOB NOT NULL,
        keys BLOB NOT NULL, PRIMARY KEY (submission, task, receiver, giver)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS opened (root BLOB PRIMARY KEY, key BLOB NOT NULL) WITHOUT ROWID;";

/// What is kept for one receiver of one task at most: somebody may leave what is of no use.
const GIVERS_MAX: u64 = 8;

/// Why a dataset is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Somebody pushed it, and removes it.
    Pushed,
    /// A job reads it.
    Input,
    /// A job made it.
    Output,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Pushed, Self::Input, Self::Output];

    fn number(self) -> u8 {
        match self {
            Self::Pushed => 0,
            Self::Input => 1,
            Self::Output => 2,
        }
    }

    /// As people write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pushed => "pushed",
            Self::Input => "input",
            Self::Output => "output",
        }
    }

    /// Reads a name back.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A dataset in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dataset {
    pub(crate) data: DataRef,
    /// Chunks in it, its root included.
    pub(crate) chunks: u64,
    pub(crate) owner: String,
    /// Its name, sealed by its owner.
    pub(crate) label: Vec<u8>,
    pub(crate) kind: Kind,
    /// When it was pushed, in milliseconds since 1970.
    pub(crate) made: u64,
    /// Until when it is kept, if not for good.
    pub(crate) until: Option<u64>,
}

/// What somebody keeps: what was pushed, and what jobs read. Results of jobs are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keeps {
    pub(crate) datasets: u64,
    /// Of chunks that are here.
    pub(crate) bytes: u64,
    /// In all lists, here or not.
    pub(crate) chunks: u64,
}

/// The catalog. Its functions block on the disk.
pub(crate) struct Catalog {
    path: PathBuf,
    db: Mutex<Connection>,
}

impl Catalog {
    /// Opens or makes it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let opened = Connection::open(path).and_then(|db| {
            db.execute_batch(SCHEMA).and_then(|()| db.execute_batch(super::seeding::SCHEMA)).map(|()| db)
        });
        let db = opened.map_err(|source| Error::Catalog { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), db: Mutex::new(db) })
    }

    fn db(&self) -> MutexGuard<'_, Connection> {
        self.db.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        work(&mut self.db()).map_err(|source| Error::Catalog { path: self.path.clone(), source })
    }

    /// Adds a dataset. One that is there keeps the stronger reason to be kept.
    pub(crate) fn add(&self, dataset: &Dataset) -> Result<(), Error> {
        self.with(|db| {
            db.prepare_cached(
                "INSERT INTO dataset (root, root_bytes, bytes, chunks, owner, label, kind, made, until)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                 ON CONFLICT (root) DO UPDATE SET
                    label = CASE WHEN excluded.kind <= kind THEN excluded.label ELSE label END,
                    until = CASE WHEN min(kind, excluded.kind) = 0 THEN NULL ELSE max(until, excluded.until) END,
                    made = CASE WHEN excluded.kind <= kind THEN excluded.made ELSE made END,
                    kind = min(kind, excluded.kind)",
            )?
            .execute(params![
                dataset.data.root.id.0,
                dataset.data.root.bytes,
                dataset.data.bytes,
                dataset.chunks,
                dataset.owner,
                dataset.label,
                dataset.kind.number(),
                dataset.made,
                dataset.until,
            ])?;
            Ok(())
        })
    }

    /// Notes that so many bytes more are kept for a dataset.
    pub(crate) fn weigh(&self, root: &Hash, more: u64) -> Result<(), Error> {
        let query = "INSERT INTO weight (root, bytes) VALUES (?1, ?2)
                     ON CONFLICT (root) DO UPDATE SET bytes = bytes + excluded.bytes";
        self.with(|db| db.prepare_cached(query)?.execute(params![root.0, more]).map(|_| ()))
    }

    /// What these owners keep.
    pub(crate) fn kept_by(&self, owners: &[String]) -> Result<Keeps, Error> {
        let places = vec!["?"; owners.len()].join(", ");
        // What is not weighed is believed to be as long as was said.
        let query = format!(
            "SELECT count(*), coalesce(sum(coalesce(weight.bytes, dataset.bytes)), 0), coalesce(sum(chunks), 0)
             FROM dataset LEFT JOIN weight USING (root) WHERE owner IN ({places}) AND kind != {}",
            Kind::Output.number()
        );
        self.with(|db| {
            let keeps =
                |row: &rusqlite::Row<'_>| Ok(Keeps { datasets: row.get(0)?, bytes: row.get(1)?, chunks: row.get(2)? });
            db.prepare_cached(&query)?.query_row(rusqlite::params_from_iter(owners), keeps)
        })
    }

    /// Adds a dataset that the hub has sealed itself, with what opens it.
    pub(crate) fn add_opened(&self, dataset: &Dataset, key: &[u8; 32]) -> Result<(), Error> {
        self.add(dataset)?;
        self.with(|db| {
            db.prepare_cached("INSERT OR REPLACE INTO opened (root, key) VALUES (?1, ?2)")?
                .execute(params![dataset.data.root.id.0, key])?;
            Ok(())
        })
    }

    /// What opens a dataset that the hub has sealed itself.
    pub(crate) fn opened(&self, root: &Hash) -> Result<Option<[u8; 32]>, Error> {
        let query = "SELECT key FROM opened WHERE root = ?1";
        self.with(|db| db.prepare_cached(query)?.query_row([root.0], |row| row.get(0)).optional())
    }

    /// Older versions of a dataset that the hub has sealed are kept until then, and for jobs that read them.
    pub(crate) fn supersede(&self, newer: &Dataset, until: u64) -> Result<(), Error> {
        self.with(|db| {
            db.prepare_cached(
                "UPDATE dataset SET kind = ?4, until = ?5 WHERE kind = 0 AND owner = ?1 AND label = ?2 AND root != ?3
                 AND root IN (SELECT root FROM opened)",
            )?
            .execute(params![
                newer.owner,
                newer.label,
                newer.data.root.id.0,
                Kind::Input.number(),
                until
            ])?;
            Ok(())
        })
    }

    /// The newest dataset that was pushed with this label.
    pub(crate) fn labelled(&self, owner: &str, label: &[u8]) -> Result<Option<Dataset>, Error> {
        let query = "SELECT root, root_bytes, bytes, chunks, owner, label, kind, made, until FROM dataset
                     WHERE kind = 0 AND owner = ?1 AND label = ?2 ORDER BY made DESC LIMIT 1";
        self.with(|db| db.prepare_cached(query)?.query_row(params![owner, label], dataset).optional())
    }

    /// A dataset, if it is known.
    pub(crate) fn find(&self, root: &Hash) -> Result<Option<Dataset>, Error> {
        let query =
            "SELECT root, root_bytes, bytes, chunks, owner, label, kind, made, until FROM dataset WHERE root = ?1";
        self.with(|db| db.prepare_cached(query)?.query_row([root.0], dataset).optional())
    }

    /// What was pushed by name or is kept for jobs, the newest of each kind first, from after a place in that order on. Only what
    /// a job that has not ended reads and made, if one is named; only of these owners, if they are said.
    pub(crate) fn page(
        &self,
        job: Option<JobId>,
        owners: Option<&[String]>,
        after: Option<&Dataset>,
        count: u32,
    ) -> Result<Vec<Dataset>, Error> {
        let (mut conditions, mut values): (Vec<String>, Vec<Value>) = (Vec::new(), Vec::new());
        if let Some(job) = job {
            conditions.push("root IN (SELECT root FROM used WHERE job = ?)".to_owned());
            values.push(counted(job.0));
        }
        if let Some(owners) = owners {
            conditions.push(format!("owner IN ({})", vec!["?"; owners.len()].join(", ")));
            values.extend(owners.iter().cloned().map(Value::Text));
        }
        if let Some(after) = after {
            conditions.push("(kind, -made, root) > (?, ?, ?)".to_owned());
            let (made, root) = (Value::Integer(-i64::try_from(after.made).unwrap_or(i64::MAX)), after.data.root.id.0);
            values.extend([counted(after.kind.number().into()), made, Value::Blob(root.to_vec())]);
        }
        let all = if conditions.is_empty() { "1".to_owned() } else { conditions.join(" AND ") };
        let query = format!(
            "SELECT root, root_bytes, bytes, chunks, owner, label, kind, made, until FROM dataset
             WHERE {all} ORDER BY kind, made DESC, root LIMIT {count}"
        );
        self.with(|db| db.prepare_cached(&query)?.query_map(rusqlite::params_from_iter(values), dataset)?.collect())
    }

    /// Forgets a dataset.
    pub(crate) fn remove(&self, root: &Hash) -> Result<bool, Error> {
        self.with(|db| {
            db.prepare_cached("DELETE FROM opened WHERE root = ?1")?.execute([root.0])?;
            db.prepare_cached("DELETE FROM weight WHERE root = ?1")?.execute([root.0])?;
            Ok(db.prepare_cached("DELETE FROM dataset WHERE root = ?1")?.execute([root.0])? > 0)
        })
    }

    /// Whether a job that has not ended uses it.
    pub(crate) fn is_used(&self, root: &Hash) -> Result<bool, Error> {
        let query = "SELECT EXISTS (SELECT 1 FROM used WHERE root = ?1)";
        self.with(|db| db.prepare_cached(query)?.query_row([root.0], |row| row.get(0)))
    }

    /// A job reads or made these.
    pub(crate) fn used_by(&self, job: JobId, roots: &[Hash]) -> Result<(), Error> {
        self.with(|db| {
            let work = db.transaction()?;
            for root in roots {
                work.prepare_cached("INSERT OR IGNORE INTO used (job, root) VALUES (?1, ?2)")?
                    .execute(params![job.0, root.0])?;
                super::seeding::note_reader(&work, job, root)?;
            }
            work.commit()
        })
    }

    /// The jobs that use something.
    pub(crate) fn users(&self) -> Result<Vec<JobId>, Error> {
        let query = "SELECT DISTINCT job FROM used";
        self.with(|db| db.prepare_cached(query)?.query_map([], |row| row.get(0).map(JobId))?.collect())
    }

    /// A job has ended: what it used is kept until then, unless it was pushed by name.
    pub(crate) fn ended(&self, job: JobId, until: u64) -> Result<(), Error> {
        self.with(|db| {
            let work = db.transaction()?;
            work.prepare_cached(
                "UPDATE dataset SET until = max(coalesce(until, 0), ?2)
                 WHERE kind != 0 AND root IN (SELECT root FROM used WHERE job = ?1)",
            )?
            .execute(params![job.0, until])?;
            work.prepare_cached("DELETE FROM used WHERE job = ?1")?.execute([job.0])?;
            work.commit()
        })
    }

    /// What need not be kept any more; it is forgotten by this.
    pub(crate) fn take_expired(&self, now: u64) -> Result<Vec<Hash>, Error> {
        let query = "DELETE FROM dataset WHERE until < ?1 AND root NOT IN (SELECT root FROM used) RETURNING root";
        self.with(|db| {
            let roots: Vec<Hash> =
                db.prepare_cached(query)?.query_map([now], |row| row.get(0).map(Hash))?.collect::<Result<_, _>>()?;
            for root in &roots {
                db.prepare_cached("DELETE FROM opened WHERE root = ?1")?.execute([root.0])?;
                db.prepare_cached("DELETE FROM weight WHERE root = ?1")?.execute([root.0])?;
            }
            Ok(roots)
        })
    }

    /// Remembers which submission became which job.
    pub(crate) fn submitted(&self, job: JobId, submission: u128) -> Result<(), Error> {
        self.with(|db| {
            db.prepare_cached("INSERT OR REPLACE INTO submission (job, number) VALUES (?1, ?2)")?
                .execute(params![job.0, submission.to_be_bytes()])?;
            Ok(())
        })
    }

    /// The submission of a job.
    pub(crate) fn submission(&self, job: JobId) -> Result<Option<u128>, Error> {
        let query = "SELECT number FROM submission WHERE job = ?1";
        let number = |row: &rusqlite::Row<'_>| row.get(0).map(u128::from_be_bytes);
        self.with(|db| db.prepare_cached(query)?.query_row([job.0], number).optional())
    }

    /// The job of a submission, once there is one.
    pub(crate) fn job_of(&self, submission: u128) -> Result<Option<JobId>, Error> {
        let query = "SELECT job FROM submission WHERE number = ?1";
        let job = |row: &rusqlite::Row<'_>| row.get(0).map(JobId);
        self.with(|db| db.prepare_cached(query)?.query_row([submission.to_be_bytes()], job).optional())
    }

    /// Leaves keys that were wrapped for a machine. The first who leaves some for a submission is its owner.
    pub(crate) fn leave_keys(&self, submission: u128, giver: &WorkerKey, keys: &[super::Wrapped]) -> Result<(), Error> {
        let number = submission.to_be_bytes();
        self.with(|db| {
            let work = db.transaction()?;
            work.prepare_cached("INSERT OR IGNORE INTO owner (submission, machine) VALUES (?1, ?2)")?
                .execute(params![number, giver.0])?;
            for one in keys {
                let query = "SELECT count(*) FROM wrapped WHERE submission = ?1 AND task = ?2 AND receiver = ?3";
                let of = params![number, one.group, one.receiver.0];
                let left: u64 = work.prepare_cached(query)?.query_row(of, |row| row.get(0))?;
                if left < GIVERS_MAX {
                    let insert = "INSERT OR REPLACE INTO wrapped (submission, task, receiver, giver, keys)
                                  VALUES (?1, ?2, ?3, ?4, ?5)";
                    work.prepare_cached(insert)?.execute(params![
                        number,
                        one.group,
                        one.receiver.0,
                        giver.0,
                        one.keys
                    ])?;
                }
            }
            work.commit()
        })
    }

    /// Whose submission it is.
    pub(crate) fn owner(&self, submission: u128) -> Result<Option<WorkerKey>, Error> {
        let query = "SELECT machine FROM owner WHERE submission = ?1";
        let owner = |row: &rusqlite::Row<'_>| row.get(0).map(WorkerKey);
        self.with(|db| db.prepare_cached(query)?.query_row([submission.to_be_bytes()], owner).optional())
    }

    /// What was left for a machine.
    pub(crate) fn keys(&self, submission: u128, group: u16, receiver: &WorkerKey) -> Result<Vec<Vec<u8>>, Error> {
        let query = "SELECT keys FROM wrapped WHERE submission = ?1 AND task = ?2 AND receiver = ?3";
        let of = params![submission.to_be_bytes(), group, receiver.0];
        self.with(|db| db.prepare_cached(query)?.query_map(of, |row| row.get(0))?.collect())
    }

    /// Whether anything of a submission was left for a machine.
    pub(crate) fn has_keys(&self, submission: u128, receiver: &WorkerKey) -> Result<bool, Error> {
        let query = "SELECT EXISTS (SELECT 1 FROM wrapped WHERE submission = ?1 AND receiver = ?2)";
        let of = params![submission.to_be_bytes(), receiver.0];
        self.with(|db| db.prepare_cached(query)?.query_row(of, |row| row.get(0)))
    }

    /// How many keys of a submission wait here.
    pub(crate) fn keys_left(&self, submission: u128) -> Result<u64, Error> {
        let query = "SELECT count(*) FROM wrapped WHERE submission = ?1";
        self.with(|db| db.prepare_cached(query)?.query_row([submission.to_be_bytes()], |row| row.get(0)))
    }
}

/// A number as the database counts.
fn counted(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn dataset(row: &rusqlite::Row<'_>) -> rusqlite::Result<Dataset> {
    let root = BlobRef { id: Hash(row.get(0)?), bytes: row.get(1)? };
    let kind: u8 = row.get(6)?;
    Ok(Dataset {
        data: DataRef { root, bytes: row.get(2)? },
        chunks: row.get(3)?,
        owner: row.get(4)?,
        label: row.get(5)?,
        kind: Kind::ALL.into_iter().find(|known| known.number() == kind).unwrap_or(Kind::Input),
        made: row.get(7)?,
        until: row.get(8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> (tempfile::TempDir, Catalog) {
        let dir = tempfile::tempdir().expect("a folder");
        let catalog = Catalog::open(&dir.path().join("data.db")).expect("opens");
        (dir, catalog)
    }

    fn data(number: u8, kind: Kind, until: Option<u64>) -> Dataset {
        let root = BlobRef { id: Hash([number; 32]), bytes: 10 };
        let data = DataRef { root, bytes: 1000 };
        Dataset { data, chunks: 3, owner: "me".to_owned(), label: vec![number], kind, made: 5, until }
    }

    #[test]
    fn what_was_pushed_stays_and_what_a_job_needed_goes_after_it() {
        let (_dir, catalog) = catalog();
        catalog.add(&data(1, Kind::Pushed, None)).expect("added");
        catalog.add(&data(2, Kind::Input, Some(10))).expect("added");
        catalog.used_by(JobId(7), &[Hash([1; 32]), Hash([2; 32])]).expect("noted");
        assert!(catalog.take_expired(1000).expect("asked").is_empty(), "a job uses it");
        catalog.ended(JobId(7), 2000).expect("noted");
        assert!(catalog.take_expired(1999).expect("asked").is_empty());
        assert_eq!(catalog.take_expired(2001).expect("asked"), [Hash([2; 32])]);
        assert_eq!(catalog.page(None, None, None, 10).expect("listed"), [data(1, Kind::Pushed, None)]);
        assert!(catalog.users().expect("listed").is_empty());
    }

    #[test]
    fn pages_follow_each_other_and_show_what_is_asked_for() {
        let (_dir, catalog) = catalog();
        let of =
            |number, kind, made, owner: &str| Dataset { made, owner: owner.to_owned(), ..data(number, kind, None) };
        let all = [
            of(4, Kind::Pushed, 9, "me"),
            of(1, Kind::Pushed, 7, "me"),
            of(2, Kind::Pushed, 7, "you"),
            of(3, Kind::Input, 8, "me"),
        ];
        all.iter().rev().for_each(|dataset| catalog.add(dataset).expect("added"));
        let (mut found, mut after): (Vec<Dataset>, Option<Dataset>) = (Vec::new(), None);
        loop {
            let page = catalog.page(None, None, after.as_ref(), 1).expect("listed");
            let Some(last) = page.last() else { break };
            after = Some(last.clone());
            found.extend(page);
        }
        assert_eq!(found, all);
        let mine = catalog.page(None, Some(&["me".to_owned()]), Some(&all[0]), 10).expect("listed");
        assert_eq!(mine, [all[1].clone(), all[3].clone()]);
        catalog.used_by(JobId(7), &[Hash([2; 32])]).expect("noted");
        assert_eq!(catalog.page(Some(JobId(7)), None, None, 10).expect("listed"), [all[2].clone()]);
        assert!(catalog.page(None, Some(&[]), None, 10).expect("listed").is_empty());
    }

    #[test]
    fn what_somebody_keeps_is_weighed_and_results_are_not() {
        let (_dir, catalog) = catalog();
        catalog.add(&data(1, Kind::Pushed, None)).expect("added");
        catalog.add(&data(2, Kind::Input, Some(10))).expect("added");
        catalog.add(&data(3, Kind::Output, Some(10))).expect("added");
        catalog.weigh(&Hash([1; 32]), 40).expect("weighed");
        catalog.weigh(&Hash([1; 32]), 2).expect("weighed");
        let me = ["me".to_owned()];
        let kept = catalog.kept_by(&me).expect("asked");
        assert_eq!(kept, Keeps { datasets: 2, bytes: 1042, chunks: 6 }, "what was said of the one that is not weighed");
        catalog.remove(&Hash([1; 32])).expect("removed");
        catalog.take_expired(11).expect("asked");
        assert_eq!(catalog.kept_by(&me).expect("asked"), Keeps::default());
        catalog.add(&data(1, Kind::Pushed, None)).expect("added");
        catalog.weigh(&Hash([1; 32]), 5).expect("weighed");
        assert_eq!(catalog.kept_by(&me).expect("asked").bytes, 5, "nothing is left of before");
    }

    #[test]
    fn an_input_that_is_pushed_by_name_stays_for_good() {
        let (_dir, catalog) = catalog();
        catalog.add(&data(1, Kind::Input, Some(10))).expect("added");
        catalog.add(&data(1, Kind::Pushed, None)).expect("added");
        catalog.add(&data(1, Kind::Output, Some(20))).expect("added");
        let found = catalog.find(&Hash([1; 32])).expect("asked").expect("there");
        assert_eq!((found.kind, found.until), (Kind::Pushed, None));
        assert!(catalog.take_expired(u64::MAX / 2).expect("asked").is_empty());
    }

    #[test]
    fn an_older_version_goes_when_a_newer_one_has_its_name() {
        let (_dir, catalog) = catalog();
        let labelled = |number| Dataset { label: b"plain:scene".to_vec(), ..data(number, Kind::Pushed, None) };
        catalog.add_opened(&labelled(1), &[7; 32]).expect("added");
        catalog.add(&data(3, Kind::Pushed, None)).expect("added");
        catalog.add_opened(&labelled(2), &[8; 32]).expect("added");
        catalog.supersede(&labelled(2), 100).expect("noted");
        let newest = catalog.labelled("me", b"plain:scene").expect("asked").expect("there");
        assert_eq!(newest.data.root.id, Hash([2; 32]));
        assert_eq!(catalog.opened(&Hash([1; 32])).expect("asked"), Some([7; 32]), "a job may still read it");
        assert_eq!(catalog.take_expired(101).expect("asked"), [Hash([1; 32])]);
        assert_eq!(catalog.opened(&Hash([1; 32])).expect("asked"), None);
    }

    #[test]
    fn keys_are_found_by_submission_task_and_receiver() {
        let (_dir, catalog) = catalog();
        let receiver = WorkerKey([4; 32]);
        let one = super::super::Wrapped { group: 2, receiver, keys: b"wrapped".to_vec() };
        let owner = WorkerKey([1; 32]);
        catalog.leave_keys(u128::MAX, &owner, &[one]).expect("left");
        assert_eq!(catalog.owner(u128::MAX).expect("asked"), Some(owner));
        for number in 10..30 {
            let more = super::super::Wrapped { group: 2, receiver, keys: vec![number] };
            catalog.leave_keys(u128::MAX, &WorkerKey([number; 32]), &[more]).expect("left");
        }
        assert_eq!(catalog.owner(u128::MAX).expect("asked"), Some(owner), "the first stays");
        assert!(catalog.keys(u128::MAX, 2, &receiver).expect("asked").len() as u64 <= GIVERS_MAX);
        assert!(catalog.has_keys(u128::MAX, &receiver).expect("asked"));
        catalog.submitted(JobId(3), u128::MAX).expect("noted");
        let submission = catalog.submission(JobId(3)).expect("asked").expect("known");
        assert!(catalog.keys(submission, 2, &receiver).expect("asked").contains(&b"wrapped".to_vec()));
        assert!(catalog.keys(submission, 1, &receiver).expect("asked").is_empty());
        assert!(catalog.keys(1, 2, &receiver).expect("asked").is_empty());
    }
}
