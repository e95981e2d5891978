//! What the hub keeps of proofs: whose workers are, beacons of rounds, convictions with their evidence, and votes. One SQLite
//! file.
//!
//! The chain has the last word on every dispute; what is kept here is what the chain does not keep, and which
//! convictions are still to be pursued.
use gleaner_chain::beacon::Beacon;
use gleaner_chain::market::{Ending, Ruling, Vote};
use gleaner_chain::primitives::{Address, B256, Bytes};
use gleaner_wire::{self as wire, Amount, Hash, JobId, WorkerKey};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS owner (
        worker BLOB NOT NULL, provider BLOB NOT NULL, signature BLOB NOT NULL, PRIMARY KEY (worker, provider)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS beacon (round INTEGER PRIMARY KEY, root BLOB NOT NULL, beacon BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS evidence (hash BLOB PRIMARY KEY, document BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS conviction (
        placed BLOB NOT NULL, provider BLOB NOT NULL, job INTEGER NOT NULL, evidence BLOB NOT NULL,
        dispute INTEGER, outcome TEXT, taken INTEGER NOT NULL DEFAULT 0, ended BLOB,
        PRIMARY KEY (placed, provider)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS conviction_open ON conviction (job) WHERE outcome IS NULL;
    CREATE INDEX IF NOT EXISTS conviction_job ON conviction (job);
    CREATE INDEX IF NOT EXISTS conviction_provider ON conviction (provider, job);
    CREATE TABLE IF NOT EXISTS vote (
        dispute INTEGER NOT NULL, account BLOB NOT NULL, for_claimant INTEGER NOT NULL, signature BLOB NOT NULL,
        PRIMARY KEY (dispute, account)
    ) WITHOUT ROWID;";

/// How long to wait for somebody else who writes.
const BUSY_TIME_MAX: Duration = Duration::from_secs(5);
/// Cases that are shown at once, newest first.
const SHOWN_MAX: u32 = 100;
/// Convictions that are pursued at a time; the others wait.
const OPEN_MAX: u32 = 200;

/// Why the docket failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file failed.
    #[error("the docket of proofs failed")]
    Store(#[from] rusqlite::Error),
    /// The file holds something that cannot be.
    #[error("the docket of proofs is damaged: {0}")]
    Damaged(&'static str),
}

/// A provider that is to be accused, or is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// The order's id on the chain.
    pub(crate) order: B256,
    /// The job that it is for.
    pub(crate) job: JobId,
    /// Who.
    pub(crate) provider: Address,
    /// The hash of the document that shows it.
    pub(crate) evidence: Hash,
    /// The dispute on the chain, once it was seen there.
    pub(crate) dispute: Option<u64>,
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The committee found the provider guilty; part of its stake is gone.
    Slashed,
    /// The committee found it innocent; part of the hub's security is gone.
    Acquitted,
    /// There was no committee, or no majority in time. Nobody pays.
    Undecided,
    /// It could not be brought before the court.
    Dropped(String),
}

/// A case with how it ended, if it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) case: Case,
    pub(super) outcome: Option<Outcome>,
    /// What was taken of the stake.
    pub(super) taken: Amount,
    /// The transaction by which it ended.
    pub(super) transaction: Option<Hash>,
}

impl Outcome {
    fn text(&self) -> String {
        match self {
            Self::Slashed => "slashed".to_owned(),
            Self::Acquitted => "acquitted".to_owned(),
            Self::Undecided => "undecided".to_owned(),
            Self::Dropped(reason) => format!("dropped: {reason}"),
        }
    }

    fn read(text: &str) -> Result<Self, Error> {
        match text {
            "slashed" => Ok(Self::Slashed),
            "acquitted" => Ok(Self::Acquitted),
            "undecided" => Ok(Self::Undecided),
            other => match other.strip_prefix("dropped: ") {
                Some(reason) => Ok(Self::Dropped(reason.to_owned())),
                None => Err(Error::Damaged("an outcome that there is not")),
            },
        }
    }
}

/// The docket. Its functions block on the disk.
pub(crate) struct Docket {
    db: Mutex<Connection>,
}

impl Docket {
    /// Opens or makes it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let db = Connection::open(path)?;
        db.busy_timeout(BUSY_TIME_MAX)?;
        db.execute_batch(SCHEMA)?;
        Ok(Self { db: Mutex::new(db) })
    }

    fn db(&self) -> MutexGuard<'_, Connection> {
        self.db.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what an owner has signed for a worker. The first that was kept counts: receipts name it, and are made anew from
    /// what is kept here.
    pub(super) fn keep_owner(&self, worker: WorkerKey, provider: wire::Address, signature: &[u8]) -> Result<(), Error> {
        if self.owner(worker, provider)?.is_some() {
            return Ok(());
        }
        let row = params![worker.0, provider.0, signature];
        self.db().prepare_cached("INSERT OR IGNORE INTO owner VALUES (?1, ?2, ?3)")?.execute(row)?;
        Ok(())
    }

    /// What an owner has signed for a worker.
    pub(super) fn owner(&self, worker: WorkerKey, provider: wire::Address) -> Result<Option<Vec<u8>>, Error> {
        let db = self.db();
        let mut statement = db.prepare_cached("SELECT signature FROM owner WHERE worker = ?1 AND provider = ?2")?;
        Ok(statement.query_row(params![worker.0, provider.0], |row| row.get(0)).optional()?)
    }

    /// Keeps the beacon of a round and returns the one that counts: the first for its root.
    pub(crate) fn keep_beacon(&self, round: u64, root: Hash, beacon: &Beacon) -> Result<Beacon, Error> {
        let bytes = postcard::to_allocvec(beacon).map_err(|_| Error::Damaged("a beacon that cannot be written"))?;
        self.db().execute(
            "INSERT INTO beacon VALUES (?1, ?2, ?3)
             ON CONFLICT (round) DO UPDATE SET root = ?2, beacon = ?3 WHERE root != ?2",
            params![round, root.0, bytes],
        )?;
        self.beacon_of(round, root)?.ok_or(Error::Damaged("a beacon that is not where it was put"))
    }

    /// The beacon of a round.
    pub(crate) fn beacon(&self, round: u64) -> Result<Option<Beacon>, Error> {
        let query = "SELECT beacon FROM beacon WHERE round = ?1";
        read_beacon(self.db().query_row(query, [round], |row| row.get(0)).optional()?)
    }

    /// The beacon of a round, if it is of this root.
    pub(super) fn beacon_of(&self, round: u64, root: Hash) -> Result<Option<Beacon>, Error> {
        let query = "SELECT beacon FROM beacon WHERE round = ?1 AND root = ?2";
        read_beacon(self.db().query_row(query, params![round, root.0], |row| row.get(0)).optional()?)
    }

    /// Keeps a document that shows a fault.
    pub(crate) fn keep_evidence(&self, document: &[u8]) -> Result<Hash, Error> {
        let hash = Hash::of(document);
        self.db().execute("INSERT OR IGNORE INTO evidence VALUES (?1, ?2)", params![hash.0, document])?;
        Ok(hash)
    }

    /// A document by its hash.
    pub(crate) fn evidence(&self, hash: Hash) -> Result<Option<Vec<u8>>, Error> {
        let query = "SELECT document FROM evidence WHERE hash = ?1";
        Ok(self.db().query_row(query, [hash.0], |row| row.get(0)).optional()?)
    }

    /// Enters a case. What is there already stays as it is: a provider is accused once for an order.
    pub(crate) fn enter(&self, case: &Case) -> Result<(), Error> {
        self.db().execute(
            "INSERT OR IGNORE INTO conviction (placed, provider, job, evidence) VALUES (?1, ?2, ?3, ?4)",
            params![case.order.0, case.provider.0.0, case.job.0, case.evidence.0],
        )?;
        Ok(())
    }

    /// The cases that have not ended, oldest job first.
    pub(super) fn open_cases(&self) -> Result<Vec<Case>, Error> {
        let db = self.db();
        let mut statement = db.prepare_cached(
            "SELECT placed, provider, job, evidence, dispute FROM conviction WHERE outcome IS NULL
             ORDER BY job, placed, provider LIMIT ?1",
        )?;
        let cases = statement.query_map([OPEN_MAX], read_case)?;
        Ok(cases.collect::<Result<_, _>>()?)
    }

    /// How the case of a provider in an order ended, if it has.
    #[cfg(test)]
    pub(crate) fn outcome(&self, order: B256, provider: Address) -> Result<Option<Outcome>, Error> {
        let query = "SELECT outcome FROM conviction WHERE placed = ?1 AND provider = ?2";
        let found: Option<Option<String>> =
            self.db().query_row(query, params![order.0, provider.0.0], |row| row.get(0)).optional()?;
        found.flatten().map(|text| Outcome::read(&text)).transpose()
    }

    /// Whether somebody is still to be accused for this job.
    pub(super) fn awaits_accusation(&self, job: JobId) -> Result<bool, Error> {
        let query = "SELECT count(*) FROM conviction WHERE job = ?1 AND outcome IS NULL AND dispute IS NULL";
        Ok(self.db().query_row(query, [job.0], |row| row.get::<_, u64>(0))? > 0)
    }

    /// Writes down which dispute a case has become; none if the chain has lost it again.
    pub(super) fn see_dispute(&self, case: &Case, dispute: Option<u64>) -> Result<(), Error> {
        self.db().execute(
            "UPDATE conviction SET dispute = ?3 WHERE placed = ?1 AND provider = ?2",
            params![case.order.0, case.provider.0.0, dispute],
        )?;
        Ok(())
    }

    /// Ends a case, with what the chain took of whoever lost it and by which transaction, if it did anything.
    pub(super) fn close(&self, case: &Case, outcome: &Outcome, ending: Option<Ending>) -> Result<(), Error> {
        let (taken, transaction) = ending.map_or((0, None), |ending| (ending.taken.0, Some(ending.transaction.0)));
        self.db().execute(
            "UPDATE conviction SET outcome = ?3, taken = ?4, ended = ?5 WHERE placed = ?1 AND provider = ?2",
            params![case.order.0, case.provider.0.0, outcome.text(), taken, transaction],
        )?;
        Ok(())
    }

    /// The newest cases of a job, or of a provider, or of all, whether they have ended or not.
    pub(super) fn cases(&self, job: Option<JobId>, provider: Option<Address>) -> Result<Vec<Closed>, Error> {
        let db = self.db();
        let mut statement = db.prepare_cached(
            "SELECT placed, provider, job, evidence, dispute, outcome, taken, ended FROM conviction
             WHERE (?1 IS NULL OR job = ?1) AND (?2 IS NULL OR provider = ?2) ORDER BY job DESC, placed, provider LIMIT ?3",
        )?;
        let provider = provider.map(|provider| provider.0.0);
        let cases = statement.query_map(params![job.map(|job| job.0), provider, SHOWN_MAX], |row| {
            let ended: Option<[u8; 32]> = row.get(7)?;
            let outcome: Option<String> = row.get(5)?;
            Ok((read_case(row)?, outcome, Amount(row.get(6)?), ended.map(Hash)))
        })?;
        let read = |found: rusqlite::Result<(Case, Option<String>, Amount, Option<Hash>)>| {
            let (case, outcome, taken, transaction) = found?;
            let outcome = outcome.map(|text| Outcome::read(&text)).transpose()?;
            Ok(Closed { case, outcome, taken, transaction })
        };
        cases.map(read).collect()
    }

    /// Keeps a vote. The first of a member counts.
    pub(super) fn keep_vote(&self, dispute: u64, vote: &Vote) -> Result<(), Error> {
        let for_claimant = vote.ruling == Ruling::Claimant;
        self.db().execute(
            "INSERT OR IGNORE INTO vote VALUES (?1, ?2, ?3, ?4)",
            params![dispute, vote.account.0.0, for_claimant, &vote.signature[..]],
        )?;
        Ok(())
    }

    /// The votes about a dispute.
    pub(super) fn votes(&self, dispute: u64) -> Result<Vec<Vote>, Error> {
        let db = self.db();
        let mut statement =
            db.prepare_cached("SELECT account, for_claimant, signature FROM vote WHERE dispute = ?1")?;
        let votes = statement.query_map([dispute], |row| {
            let ruling = if row.get(1)? { Ruling::Claimant } else { Ruling::Defendant };
            let signature = Bytes::from(row.get::<_, Vec<u8>>(2)?);
            Ok(Vote { account: Address::from(row.get::<_, [u8; 20]>(0)?), ruling, signature })
        })?;
        Ok(votes.collect::<Result<_, _>>()?)
    }
}

fn read_beacon(bytes: Option<Vec<u8>>) -> Result<Option<Beacon>, Error> {
    let read = |bytes: Vec<u8>| postcard::from_bytes(&bytes).map_err(|_| Error::Damaged("a beacon that is none"));
    bytes.map(read).transpose()
}

fn read_case(row: &Row<'_>) -> rusqlite::Result<Case> {
    Ok(Case {
        order: B256::from(row.get::<_, [u8; 32]>(0)?),
        provider: Address::from(row.get::<_, [u8; 20]>(1)?),
        job: JobId(row.get(2)?),
        evidence: Hash(row.get(3)?),
        dispute: row.get(4)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_chain::Account;
    use gleaner_chain::primitives::U256;

    fn case(job: u64) -> Case {
        Case {
            order: B256::with_last_byte(u8::try_from(job).expect("small")),
            job: JobId(job),
            provider: Address::repeat_byte(7),
            evidence: Hash([3; 32]),
            dispute: None,
        }
    }

    fn docket() -> (tempfile::TempDir, Docket) {
        let folder = tempfile::tempdir().expect("a folder");
        let docket = Docket::open(&folder.path().join("proof.db")).expect("opened");
        (folder, docket)
    }

    #[test]
    fn the_first_beacon_of_a_root_is_the_one_that_counts() {
        let (folder, docket) = docket();
        let beacon = |seed: u8| Beacon {
            seed: Hash([seed; 32]),
            header: Bytes::from(vec![1, 2]),
            next: Bytes::from(vec![3]),
            transaction: Bytes::from(vec![4; 200]),
            place: 9,
            proof: vec![Bytes::from(vec![5; 33])],
        };
        let (root, other) = (Hash([1; 32]), Hash([2; 32]));
        assert_eq!(docket.keep_beacon(4, root, &beacon(1)).expect("kept"), beacon(1));
        assert_eq!(docket.keep_beacon(4, root, &beacon(2)).expect("kept"), beacon(1));
        drop(docket);
        let docket = Docket::open(&folder.path().join("proof.db")).expect("opened");
        assert_eq!(docket.beacon(4).expect("read"), Some(beacon(1)));
        assert_eq!(docket.beacon(5).expect("read"), None);
        assert_eq!(docket.beacon_of(4, other).expect("read"), None);
        assert_eq!(docket.keep_beacon(4, other, &beacon(3)).expect("kept"), beacon(3), "a beacon of another root");
    }

    #[test]
    fn the_first_word_of_an_owner_is_kept_over_restarts() {
        let (folder, docket) = docket();
        let (worker, owner, other) = (WorkerKey([1; 32]), wire::Address([2; 20]), wire::Address([3; 20]));
        docket.keep_owner(worker, owner, &[4; 65]).expect("kept");
        docket.keep_owner(worker, owner, &[5; 65]).expect("passed over");
        docket.keep_owner(worker, other, &[6; 65]).expect("kept");
        drop(docket);
        let docket = Docket::open(&folder.path().join("proof.db")).expect("opened");
        let found = |owner| docket.owner(worker, owner).expect("read");
        assert_eq!([found(owner), found(other)], [Some(vec![4; 65]), Some(vec![6; 65])]);
        assert_eq!(docket.owner(WorkerKey([9; 32]), owner).expect("read"), None);
    }

    #[test]
    fn a_job_waits_until_everybody_is_accused() {
        let (_folder, docket) = docket();
        assert!(!docket.awaits_accusation(JobId(1)).expect("read"));
        let (first, second) = (case(1), Case { provider: Address::repeat_byte(8), ..case(1) });
        for entered in [&first, &second, &first] {
            docket.enter(entered).expect("entered");
        }
        assert_eq!(docket.open_cases().expect("read"), [first.clone(), second.clone()]);
        docket.see_dispute(&first, Some(5)).expect("written");
        assert!(docket.awaits_accusation(JobId(1)).expect("read"));
        docket.close(&second, &Outcome::Dropped("no stake".to_owned()), None).expect("closed");
        assert!(!docket.awaits_accusation(JobId(1)).expect("read"));
        docket.enter(&second).expect("entered again changes nothing");
        assert_eq!(docket.open_cases().expect("read"), [Case { dispute: Some(5), ..first }]);
        assert_eq!(docket.outcome(first.order, first.provider).expect("read"), None);
        for outcome in [Outcome::Slashed, Outcome::Acquitted, Outcome::Undecided, Outcome::Dropped("why".to_owned())] {
            docket.close(&first, &outcome, None).expect("closed");
            assert_eq!(docket.outcome(first.order, first.provider).expect("read"), Some(outcome));
        }
    }

    #[test]
    fn what_became_of_a_case_is_found_by_its_job_and_by_its_provider() {
        let (_folder, docket) = docket();
        let (first, second) = (case(1), Case { provider: Address::repeat_byte(8), ..case(2) });
        docket.enter(&first).expect("entered");
        docket.enter(&second).expect("entered");
        let ending = Ending { taken: Amount(7), transaction: B256::repeat_byte(9) };
        docket.close(&second, &Outcome::Slashed, Some(ending)).expect("closed");
        let found = docket.cases(Some(JobId(2)), None).expect("read");
        assert_eq!((found.len(), &found[0].outcome, found[0].taken), (1, &Some(Outcome::Slashed), Amount(7)));
        assert_eq!(found[0].transaction, Some(Hash([9; 32])));
        assert_eq!(docket.cases(None, Some(second.provider)).expect("read"), found);
        let open = docket.cases(Some(JobId(1)), None).expect("read");
        assert_eq!((open.len(), &open[0].outcome, open[0].taken), (1, &None, Amount::ZERO));
        assert_eq!(docket.cases(None, None).expect("read").len(), 2);
        assert!(docket.cases(Some(JobId(3)), None).expect("read").is_empty());
    }

    #[test]
    fn a_member_votes_once_and_evidence_is_found_by_its_hash() {
        let (_folder, docket) = docket();
        let (member, market) = (Account::from_words("ann"), Address::repeat_byte(1));
        let question =
            gleaner_chain::market::Question { chain_id: 1, court: market, dispute: U256::from(2), subject: B256::ZERO };
        let first = question.vote(&member, Ruling::Claimant);
        docket.keep_vote(2, &first).expect("kept");
        docket.keep_vote(2, &question.vote(&member, Ruling::Defendant)).expect("passed over");
        assert_eq!(docket.votes(2).expect("read"), [first]);
        assert!(docket.votes(3).expect("read").is_empty());
        let hash = docket.keep_evidence(b"what was seen").expect("kept");
        assert_eq!(hash, Hash::of(b"what was seen"));
        assert_eq!(docket.keep_evidence(b"what was seen").expect("kept"), hash);
        assert_eq!(docket.evidence(hash).expect("read").as_deref(), Some(&b"what was seen"[..]));
        assert_eq!(docket.evidence(Hash([0; 32])).expect("read"), None);
    }
}
