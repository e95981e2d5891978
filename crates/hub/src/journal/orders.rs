//! Ended orders: what is to be settled for them, and the receipts of what was paid.
//!
//! They are stored in the commit in which the core forgets their job, and marked as closed in the commit in which the
//! core books that the chain has closed them, so that each is closed once whatever crashes.
use super::Error;
use super::archive::Archive;
use gleaner_core::Receipt;
use gleaner_wire::{Address, Amount, JobId, SignedOrder, WorkerId};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

/// Receipts that share a row.
pub(crate) const RECEIPTS_PER_ROW: usize = 4096;

/// What a worker is owed for a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Due {
    /// Who.
    pub(crate) worker: WorkerId,
    /// Whose account is paid.
    pub(crate) provider: Address,
    /// What the requester pays.
    pub(crate) gross: Amount,
    /// What of that is the provider's.
    pub(crate) net: Amount,
}

/// An order whose job has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndedOrder {
    /// The job.
    pub(crate) job: JobId,
    /// What the requester signed.
    pub(crate) signed: SignedOrder,
    /// Whether its money was ever locked.
    pub(crate) locked: bool,
    /// Who is owed what.
    pub(crate) dues: Vec<Due>,
    /// How many receipts there are.
    pub(crate) receipts: u64,
}

impl EndedOrder {
    /// What the requester pays in all.
    pub(crate) fn gross(&self) -> Amount {
        Amount(self.dues.iter().map(|due| due.gross.0).sum())
    }

    /// What the platform takes of it.
    pub(crate) fn fee(&self) -> Amount {
        Amount(self.dues.iter().map(|due| due.gross.0 - due.net.0).sum())
    }

    /// What goes back.
    pub(crate) fn rest(&self) -> Amount {
        Amount(self.signed.order.cap.0 - self.gross().0)
    }
}

/// An ended order with its receipts, ready to be stored.
pub(crate) struct OrderRows {
    /// The order.
    pub(crate) ended: EndedOrder,
    /// Its receipts.
    pub(crate) receipts: Vec<Receipt>,
}

pub(super) fn store(db: &Connection, rows: &OrderRows) -> Result<(), Error> {
    let job = rows.ended.job;
    let record = postcard::to_allocvec(&rows.ended).map_err(|_| Error::Encoding)?;
    db.prepare_cached("INSERT OR IGNORE INTO order_end (job, record) VALUES (?1, ?2)")?
        .execute(params![job.0, record])?;
    for (number, receipts) in rows.receipts.chunks(RECEIPTS_PER_ROW).enumerate() {
        let first = (number * RECEIPTS_PER_ROW) as u64;
        let encoded = postcard::to_allocvec(receipts).map_err(|_| Error::Encoding)?;
        db.prepare_cached("INSERT OR REPLACE INTO order_receipt (job, first, receipts) VALUES (?1, ?2, ?3)")?
            .execute(params![job.0, first, encoded])?;
    }
    Ok(())
}

pub(super) fn close(db: &Connection, job: JobId) -> Result<(), Error> {
    db.prepare_cached("UPDATE order_end SET closed = 1 WHERE job = ?1")?.execute([job.0])?;
    Ok(())
}

pub(super) fn is_open(db: &Connection, job: JobId) -> Result<bool, Error> {
    let mut statement = db.prepare_cached("SELECT closed FROM order_end WHERE job = ?1")?;
    let closed = statement.query_row([job.0], |row| row.get::<_, i64>(0)).optional()?;
    Ok(closed == Some(0))
}

impl Archive {
    /// Ended orders that the chain has not closed yet, oldest first, from a job on.
    pub(crate) async fn open_orders(&self, from: JobId, count: u32) -> Result<Vec<EndedOrder>, Error> {
        let query = "SELECT record FROM order_end WHERE closed = 0 AND job >= ?1 ORDER BY job LIMIT ?2";
        self.read(move |db| orders(db, query, params![from.0, count])).await
    }

    /// Ended orders that the chain has closed, oldest first, from a job on.
    pub(crate) async fn closed_orders(&self, from: JobId, count: u32) -> Result<Vec<EndedOrder>, Error> {
        let query = "SELECT record FROM order_end WHERE closed = 1 AND job >= ?1 ORDER BY job LIMIT ?2";
        self.read(move |db| orders(db, query, params![from.0, count])).await
    }

    /// An ended order, and whether the chain has closed it.
    pub(crate) async fn ended_order(&self, job: JobId) -> Result<Option<(EndedOrder, bool)>, Error> {
        self.read(move |db| {
            let mut statement = db.prepare_cached("SELECT record, closed FROM order_end WHERE job = ?1")?;
            let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, bool>(1)?));
            let Some((record, closed)) = statement.query_row([job.0], row).optional()? else { return Ok(None) };
            Ok(Some((postcard::from_bytes(&record).map_err(|_| Error::Encoding)?, closed)))
        })
        .await
    }

    /// Receipts of an ended order from the row of `first` on, one row at a time.
    pub(crate) async fn receipts(&self, job: JobId, first: u64) -> Result<Vec<Receipt>, Error> {
        self.read(move |db| {
            let mut statement =
                db.prepare_cached("SELECT receipts FROM order_receipt WHERE job = ?1 AND first = ?2")?;
            let row = statement.query_row([job.0, first], |row| row.get::<_, Vec<u8>>(0)).optional()?;
            row.map_or(Ok(Vec::new()), |row| postcard::from_bytes(&row).map_err(|_| Error::Encoding))
        })
        .await
    }
}

fn orders(db: &Connection, query: &str, parameters: impl rusqlite::Params) -> Result<Vec<EndedOrder>, Error> {
    let mut statement = db.prepare_cached(query)?;
    let records = statement.query_map(parameters, |row| row.get::<_, Vec<u8>>(0))?;
    records.map(|record| postcard::from_bytes(&record?).map_err(|_| Error::Encoding)).collect()
}
