//! What happened, in order, on disk: SQLite, one row for each group-committed batch of events.
//!
//! A batch is on disk before it is applied, and applied before anybody hears of it. This room writes and reads; what
//! the events mean is for the core.
mod archive;
mod claims;
mod error;
mod orders;
mod recovery;
mod schema;

pub(crate) use archive::{Archive, ArchivedJob, JobFilter, OUTPUTS_PER_ROW, OutputRow, PROOFS_PER_ROW, ProofRow};
pub use error::Error;
pub(crate) use orders::{Due, EndedOrder, OrderRows, RECEIPTS_PER_ROW};
pub(crate) use recovery::Recovered;

use crate::proof::SignedClaims;
use gleaner_core::{Core, Event, Params};
use gleaner_wire::api::JobSummary;
use gleaner_wire::{JobId, Millis};
use rusqlite::{Connection, TransactionBehavior, params};
use std::path::Path;

/// Ended jobs that are kept; older ones are forgotten.
pub(crate) const ARCHIVE_JOBS_MAX: u64 = 100_000;
/// A snapshot is due when the rows since the last one take this many bytes, and more than the last one itself.
const SNAPSHOT_AFTER_BYTES: u64 = 8 * 1024 * 1024;
/// A snapshot is due after this many batches.
const SNAPSHOT_AFTER_BATCHES: u64 = 50_000;
/// How many snapshots are kept: if the last cannot be read, the one before and the rows since then do.
const SNAPSHOTS_KEPT: u64 = 2;

/// The journal, open for writing. There is one for each folder.
pub(crate) struct Journal {
    db: Connection,
    last: u64,
    batches_since_snapshot: u64,
    bytes_since_snapshot: u64,
    snapshot_bytes: u64,
}

/// What is committed together.
pub(crate) struct Batch {
    /// The moment at which the events are applied.
    pub(crate) at: Millis,
    /// What happened, in order.
    pub(crate) events: Vec<Event>,
    /// Requesters that got their starting credit.
    pub(crate) requesters: Vec<String>,
    /// Ended jobs to keep.
    pub(crate) archived: Vec<ArchivedJob>,
    /// Jobs whose orders the chain has closed.
    pub(crate) closed: Vec<JobId>,
    /// What workers claim by their signatures, each under a number of its own.
    pub(crate) signed: Vec<(u64, SignedClaims)>,
}

impl Batch {
    /// Nothing yet.
    pub(crate) fn at(at: Millis) -> Self {
        Self {
            at,
            events: Vec::new(),
            requesters: Vec::new(),
            archived: Vec::new(),
            closed: Vec::new(),
            signed: Vec::new(),
        }
    }
}

impl Journal {
    /// Opens or makes the journal and replays it.
    pub(crate) fn open(path: &Path, params: &Params) -> Result<(Self, Recovered), Error> {
        let mut db = Connection::open(path)?;
        schema::prepare(&mut db)?;
        schema::found(&mut db, params)?;
        let recovered = recovery::recover(&db)?;
        let journal = Self {
            db,
            last: recovered.last,
            batches_since_snapshot: recovered.batches,
            bytes_since_snapshot: recovered.bytes,
            snapshot_bytes: recovered.snapshot_bytes,
        };
        Ok((journal, recovered))
    }

    /// Puts a batch on disk, whole or not at all. Returns its size.
    pub(crate) fn append(&mut self, batch: &Batch) -> Result<usize, Error> {
        let seq = self.last + 1;
        let events = postcard::to_allocvec(&batch.events).map_err(|_| Error::Encoding)?;
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction
            .prepare_cached("INSERT INTO journal (seq, at_ms, events, checksum) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![seq, batch.at.0, events, checksum(seq, batch.at, &events)])
            .map_err(Error::adding)?;
        for name in &batch.requesters {
            transaction.prepare_cached("INSERT OR IGNORE INTO requester (name) VALUES (?1)")?.execute([name])?;
        }
        for job in &batch.archived {
            archive::store(&transaction, job)?;
            job.order.iter().try_for_each(|order| orders::store(&transaction, order))?;
        }
        for job in &batch.closed {
            orders::close(&transaction, *job)?;
        }
        for (number, signed) in &batch.signed {
            claims::store(&transaction, *number, signed)?;
        }
        transaction.commit()?;
        self.last = seq;
        self.batches_since_snapshot += 1;
        self.bytes_since_snapshot += events.len() as u64;
        Ok(events.len())
    }

    /// A number for what a worker has signed, used once: the next row's, and how many came before in it.
    pub(crate) fn next_number(&self, before: usize) -> u64 {
        (self.last + 1) << 16 | (before as u64).min(0xffff)
    }

    /// The ended job of a submission that was sent before.
    pub(crate) fn submitted(&self, submission: u128) -> Result<Option<JobSummary>, Error> {
        archive::submitted(&self.db, submission)
    }

    /// Whether the job's order has ended and the chain has not closed it yet.
    pub(crate) fn is_order_open(&self, job: JobId) -> Result<bool, Error> {
        orders::is_open(&self.db, job)
    }

    /// Whether a snapshot would shorten the next start enough to be worth its cost.
    pub(crate) fn snapshot_due(&self) -> bool {
        self.batches_since_snapshot >= SNAPSHOT_AFTER_BATCHES
            || self.bytes_since_snapshot >= SNAPSHOT_AFTER_BYTES.max(self.snapshot_bytes)
    }

    /// Whether anything was written since the last snapshot.
    pub(crate) fn has_news(&self) -> bool {
        self.batches_since_snapshot > 0
    }

    /// Stores the state after the last batch and forgets rows that no start will need.
    pub(crate) fn snapshot(&mut self, at: Millis, core: &Core) -> Result<(), Error> {
        // Counted from here on even if this one fails, so that a full disk is not hammered with snapshots.
        self.batches_since_snapshot = 0;
        self.bytes_since_snapshot = 0;
        let bytes = core.snapshot();
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        store_snapshot(&transaction, self.last, at, &bytes)?;
        let oldest: u64 = transaction.query_row(
            "SELECT min(seq) FROM (SELECT seq FROM snapshot ORDER BY seq DESC LIMIT ?1)",
            [SNAPSHOTS_KEPT],
            |row| row.get(0),
        )?;
        transaction.execute("DELETE FROM snapshot WHERE seq < ?1", [oldest])?;
        transaction.execute("DELETE FROM journal WHERE seq <= ?1", [oldest])?;
        transaction.commit()?;
        self.snapshot_bytes = bytes.len() as u64;
        Ok(())
    }
}

fn store_snapshot(db: &Connection, seq: u64, at: Millis, bytes: &[u8]) -> Result<(), Error> {
    db.execute(
        "INSERT OR REPLACE INTO snapshot (seq, at_ms, core, checksum) VALUES (?1, ?2, ?3, ?4)",
        params![seq, at.0, bytes, checksum(seq, at, bytes)],
    )?;
    Ok(())
}

/// Binds the content of a row to its place and time, so that an altered or moved row is noticed.
fn checksum(seq: u64, at: Millis, content: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seq.to_le_bytes()).update(&at.0.to_le_bytes()).update(content);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests;
