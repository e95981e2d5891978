//! What workers have sent each other, counted once: the figure that seeding can be paid by.
//!
//! A receipt counts all bytes of one session between two machines, so the highest of a session is what counts, however often
//! it or a lower one comes. What one receiver signs for of one dataset is counted up to the size of the dataset, whoever
//! sent it: two who work together cannot make more of it than the dataset is. All of it is one transaction of the
//! catalog, so what was acknowledged survives a crash, and what was not is handed in again.
use super::Catalog;
use crate::Error;
use gleaner_data::net::{CLAIM_TIME, Claim, Receipt};
use gleaner_wire::api::{SeededView, SeedingTaken, SeedingView};
use gleaner_wire::{Hash, JobId, WorkerKey};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

/// Sessions of one sender with one receiver about one dataset; a lost line makes a new one.
const SESSIONS_MAX: u64 = 4096;
/// How long sessions of a dataset that is gone are remembered: longer than their receipts can be handed in.
const REMEMBERED_MS: u64 = 2 * CLAIM_TIME.0;
/// What a listing shows at most.
const SHOWN_MAX: u32 = 1000;

pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS reader (root BLOB PRIMARY KEY, job INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS session (
        root BLOB NOT NULL, receiver BLOB NOT NULL, sender BLOB NOT NULL, number BLOB NOT NULL, bytes INTEGER NOT NULL,
        at INTEGER NOT NULL, PRIMARY KEY (root, receiver, sender, number)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS received (
        root BLOB NOT NULL, receiver BLOB NOT NULL, bytes INTEGER NOT NULL, at INTEGER NOT NULL,
        PRIMARY KEY (root, receiver)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS seeded (
        sender BLOB NOT NULL, job INTEGER NOT NULL, root BLOB NOT NULL, bytes INTEGER NOT NULL,
        PRIMARY KEY (sender, job, root)
    ) WITHOUT ROWID;";

/// Of whom, of what or for what seeding is asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About {
    pub(crate) worker: Option<WorkerKey>,
    pub(crate) job: Option<JobId>,
    pub(crate) root: Option<Hash>,
}

/// The newest job that reads a dataset: what is seeded of it is counted there.
pub(super) fn note_reader(db: &Connection, job: JobId, root: &Hash) -> rusqlite::Result<()> {
    let query = "INSERT INTO reader VALUES (?1, ?2) ON CONFLICT (root) DO UPDATE SET job = max(job, excluded.job)";
    db.prepare_cached(query)?.execute(params![root.0, job.0]).map(drop)
}

impl Catalog {
    /// Counts what claims show that have been checked.
    pub(crate) fn count(&self, claims: &[Claim], now: u64) -> Result<SeedingTaken, Error> {
        self.with(|db| {
            let work = db.transaction()?;
            let mut taken = SeedingTaken::default();
            for claim in claims {
                match count(&work, &claim.receipt.receipt, now)? {
                    Some(bytes) => taken.bytes += bytes,
                    None => taken.refused += 1,
                }
            }
            work.commit()?;
            Ok(taken)
        })
    }

    /// What was counted.
    pub(crate) fn seeding(&self, about: About) -> Result<SeedingView, Error> {
        const OF: &str = "(?1 IS NULL OR sender = ?1) AND (?2 IS NULL OR job = ?2) AND (?3 IS NULL OR root = ?3)";
        let of = params![about.worker.map(|key| key.0), about.job.map(|job| job.0), about.root.map(|root| root.0)];
        self.with(|db| {
            let query = format!("SELECT coalesce(sum(bytes), 0) FROM seeded WHERE {OF}");
            let bytes = db.prepare_cached(&query)?.query_row(of, |row| row.get(0))?;
            let query = format!(
                "SELECT sender, job, root, bytes FROM seeded WHERE {OF} ORDER BY bytes DESC, sender, job LIMIT {SHOWN_MAX}"
            );
            let seeded = |row: &rusqlite::Row<'_>| {
                let job = Some(JobId(row.get(1)?)).filter(|job| job.0 > 0);
                Ok(SeededView { worker: WorkerKey(row.get(0)?), job, root: Hash(row.get(2)?), bytes: row.get(3)? })
            };
            let seeded = db.prepare_cached(&query)?.query_map(of, seeded)?.collect::<Result<_, _>>()?;
            Ok(SeedingView { bytes, seeded })
        })
    }

    /// Forgets sessions of datasets that are gone; what was counted stays.
    pub(crate) fn forget_sessions(&self, now: u64) -> Result<(), Error> {
        let before = now.saturating_sub(REMEMBERED_MS);
        self.with(|db| {
            for table in ["session", "received"] {
                let query = format!("DELETE FROM {table} WHERE at < ?1 AND root NOT IN (SELECT root FROM dataset)");
                db.prepare_cached(&query)?.execute([before])?;
            }
            let query = "DELETE FROM reader WHERE root NOT IN (SELECT root FROM dataset)
                         AND root NOT IN (SELECT root FROM used)";
            db.prepare_cached(query)?.execute([]).map(drop)
        })
    }
}

/// Counts one receipt: how many bytes it adds, or nothing if it is refused.
fn count(work: &Transaction<'_>, receipt: &Receipt, now: u64) -> rusqlite::Result<Option<u64>> {
    let Receipt { root, sender, receiver, session, bytes } = *receipt;
    let query = "SELECT bytes FROM dataset WHERE root = ?1";
    let whole: Option<u64> = work.prepare_cached(query)?.query_row([root.0], |row| row.get(0)).optional()?;
    // A session about more than the dataset is no mistake.
    let Some(whole) = whole.filter(|whole| bytes <= *whole) else { return Ok(None) };
    let (of, number) = (params![root.0, receiver.0, sender.0], session.to_be_bytes());
    let query = "SELECT bytes FROM session WHERE root = ?1 AND receiver = ?2 AND sender = ?3 AND number = ?4";
    let known: Option<u64> = work
        .prepare_cached(query)?
        .query_row(params![root.0, receiver.0, sender.0, number], |row| row.get(0))
        .optional()?;
    if known.is_none() {
        let query = "SELECT count(*) FROM session WHERE root = ?1 AND receiver = ?2 AND sender = ?3";
        let sessions: u64 = work.prepare_cached(query)?.query_row(of, |row| row.get(0))?;
        if sessions >= SESSIONS_MAX {
            return Ok(None);
        }
    }
    let more = bytes.saturating_sub(known.unwrap_or(0));
    if more == 0 {
        return Ok(Some(0));
    }
    let query = "SELECT bytes FROM received WHERE root = ?1 AND receiver = ?2";
    let received: Option<u64> =
        work.prepare_cached(query)?.query_row(params![root.0, receiver.0], |row| row.get(0)).optional()?;
    let received = received.unwrap_or(0);
    let counted = more.min(whole.saturating_sub(received));
    work.prepare_cached("INSERT OR REPLACE INTO session VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![root.0, receiver.0, sender.0, number, bytes, now])?;
    if counted == 0 {
        return Ok(None);
    }
    work.prepare_cached("INSERT OR REPLACE INTO received VALUES (?1, ?2, ?3, ?4)")?.execute(params![
        root.0,
        receiver.0,
        received + counted,
        now
    ])?;
    let query = "INSERT INTO seeded
                 SELECT ?1, coalesce((SELECT job FROM reader WHERE root = ?2), 0), ?2, ?3 WHERE true
                 ON CONFLICT (sender, job, root) DO UPDATE SET bytes = bytes + excluded.bytes";
    work.prepare_cached(query)?.execute(params![sender.0, root.0, counted])?;
    Ok(Some(counted))
}

#[cfg(test)]
mod tests {
    use super::super::{Dataset, Kind};
    use super::*;
    use ed25519_dalek::SigningKey;
    use gleaner_data::net::{Grant, Right, public};
    use gleaner_wire::{BlobRef, DataRef, Millis};

    const ROOT: Hash = Hash([7; 32]);

    fn catalog() -> (tempfile::TempDir, Catalog) {
        let dir = tempfile::tempdir().expect("a folder");
        let catalog = Catalog::open(&dir.path().join("data.db")).expect("opens");
        let data = DataRef { root: BlobRef { id: ROOT, bytes: 10 }, bytes: 1000 };
        let (owner, label) = ("me".to_owned(), Vec::new());
        let dataset = Dataset { data, chunks: 3, owner, label, kind: Kind::Pushed, made: 5, until: None };
        catalog.add(&dataset).expect("added");
        (dir, catalog)
    }

    fn worker(number: u8) -> WorkerKey {
        public(&SigningKey::from_bytes(&[number; 32]))
    }

    fn claim(sender: u8, receiver: u8, session: u64, bytes: u64) -> Claim {
        let key = SigningKey::from_bytes(&[receiver; 32]);
        let (sender, receiver) = (worker(sender), worker(receiver));
        let grant = Grant { root: ROOT, peer: receiver, right: Right::Fetch, until: Millis(9) };
        let receipt = Receipt { root: ROOT, sender, receiver, session, bytes };
        Claim { grant: grant.sign(&SigningKey::from_bytes(&[99; 32])), receipt: receipt.sign(&key) }
    }

    fn taken(bytes: u64, refused: u64) -> SeedingTaken {
        SeedingTaken { bytes, refused }
    }

    #[test]
    fn a_receipt_that_comes_again_or_is_lower_than_one_before_counts_nothing() {
        let (_dir, catalog) = catalog();
        let count = |claims: &[Claim]| catalog.count(claims, 1).expect("counted");
        assert_eq!(count(&[claim(1, 2, 5, 300), claim(1, 2, 5, 400)]), taken(400, 0));
        assert_eq!(count(&[claim(1, 2, 5, 400), claim(1, 2, 5, 100)]), taken(0, 0));
        assert_eq!(count(&[claim(1, 2, 6, 100)]), taken(100, 0), "another session");
        assert_eq!(catalog.seeding(About::default()).expect("asked").bytes, 500);
    }

    #[test]
    fn a_receiver_signs_for_no_more_than_the_dataset_whoever_sends() {
        let (_dir, catalog) = catalog();
        let count = |claims: &[Claim]| catalog.count(claims, 1).expect("counted");
        assert_eq!(count(&[claim(1, 2, 5, 1001)]), taken(0, 1), "more than there is");
        assert_eq!(count(&[claim(1, 2, 5, 700), claim(3, 2, 6, 700)]), taken(1000, 0));
        assert_eq!(count(&[claim(4, 2, 7, 1)]), taken(0, 1));
        assert_eq!(count(&[claim(3, 2, 6, 700)]), taken(0, 0), "what did not fit does not fit later");
        assert_eq!(count(&[claim(1, 4, 5, 1000)]), taken(1000, 0), "another receiver");
        let by = |number| catalog.seeding(About { worker: Some(worker(number)), ..About::default() }).expect("asked");
        assert_eq!((by(1).bytes, by(3).bytes, by(4).bytes), (1700, 300, 0));
    }

    #[test]
    fn it_is_counted_for_the_newest_job_that_reads_the_dataset_and_stays_when_that_has_ended() {
        let (dir, catalog) = catalog();
        catalog.count(&[claim(1, 2, 5, 10)], 1).expect("counted");
        catalog.used_by(JobId(4), &[ROOT]).expect("noted");
        catalog.used_by(JobId(3), &[ROOT]).expect("noted");
        catalog.count(&[claim(1, 2, 5, 30)], 1).expect("counted");
        catalog.ended(JobId(4), 9).expect("noted");
        catalog.remove(&ROOT).expect("removed");
        assert_eq!(catalog.count(&[claim(1, 2, 5, 40)], 1).expect("counted"), taken(0, 1), "an unknown dataset");
        catalog.forget_sessions(u64::MAX / 2).expect("swept");
        drop(catalog);
        let catalog = Catalog::open(&dir.path().join("data.db")).expect("opens");
        let all = catalog.seeding(About::default()).expect("asked").seeded;
        assert_eq!(all.iter().map(|one| (one.job, one.bytes)).collect::<Vec<_>>(), [(Some(JobId(4)), 20), (None, 10)]);
        let of = catalog.seeding(About { job: Some(JobId(4)), root: Some(ROOT), ..About::default() });
        assert_eq!(of.expect("asked").bytes, 20);
    }
}
