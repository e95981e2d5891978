//! What workers have signed, for as long as somebody may ask for it.
use super::{Archive, Error};
use crate::proof::SignedClaims;
use rusqlite::{Connection, OptionalExtension, params};

/// Signed batches that are kept; beyond them the oldest is forgotten.
const BATCHES_MAX: u64 = 4_000_000;

/// Stores what was signed; in the commit of the event that it came with.
pub(super) fn store(db: &Connection, number: u64, signed: &SignedClaims) -> Result<(), Error> {
    let record = postcard::to_allocvec(signed).map_err(|_| Error::Encoding)?;
    db.prepare_cached("INSERT OR REPLACE INTO signed_claims (number, record) VALUES (?1, ?2)")?
        .execute(params![number, record])?;
    // A few at a time, so that nothing waits for it.
    let forgotten = (number >> 16).saturating_sub(BATCHES_MAX) << 16;
    db.prepare_cached(
        "DELETE FROM signed_claims WHERE number IN (SELECT number FROM signed_claims WHERE number < ?1 LIMIT 8)",
    )?
    .execute([forgotten])?;
    Ok(())
}

impl Archive {
    /// What was signed under a number.
    pub(crate) async fn signed_claims(&self, number: u64) -> Result<Option<SignedClaims>, Error> {
        self.read(move |db| {
            let mut statement = db.prepare_cached("SELECT record FROM signed_claims WHERE number = ?1")?;
            let record = statement.query_row([number], |row| row.get::<_, Vec<u8>>(0)).optional()?;
            record.map(|record| postcard::from_bytes(&record).map_err(|_| Error::Encoding)).transpose()
        })
        .await
    }
}
