//! From disk back to the state: the last snapshot that can be read, and every batch since.
use super::{Error, checksum};
use gleaner_core::{Core, Event};
use gleaner_wire::Millis;
use rusqlite::Connection;
use std::collections::HashSet;

/// What a journal holds.
pub(crate) struct Recovered {
    /// The state after the last batch.
    pub(crate) core: Core,
    /// The moment of the last batch.
    pub(crate) at: Millis,
    /// Requesters that got their starting credit.
    pub(crate) requesters: HashSet<String>,
    /// The number of the last batch.
    pub(super) last: u64,
    /// Batches replayed.
    pub(super) batches: u64,
    /// Their bytes.
    pub(super) bytes: u64,
    /// The size of the snapshot.
    pub(super) snapshot_bytes: u64,
}

/// Reads a journal. Effects of what is replayed were performed, or are asked for again by `HubStarted`.
pub(super) fn recover(db: &Connection) -> Result<Recovered, Error> {
    let mut recovered = last_snapshot(db)?;
    let mut statement = db.prepare("SELECT seq, at_ms, events, checksum FROM journal WHERE seq > ?1 ORDER BY seq")?;
    let mut rows = statement.query([recovered.last])?;
    let mut effects = Vec::new();
    while let Some(row) = rows.next()? {
        let (seq, at) = (row.get(0)?, Millis(row.get(1)?));
        let bytes = row.get_ref(2)?.as_blob().map_err(|_| Error::Altered { seq })?;
        if seq != recovered.last + 1 {
            return Err(Error::Missing { seq: recovered.last + 1 });
        }
        if row.get_ref(3)?.as_blob().ok() != Some(&checksum(seq, at, bytes)) {
            return Err(Error::Altered { seq });
        }
        let events: Vec<Event> = postcard::from_bytes(bytes).map_err(|_| Error::Altered { seq })?;
        for event in events {
            recovered.core.apply(at, event, &mut effects);
            effects.clear();
        }
        recovered.last = seq;
        recovered.at = at;
        recovered.batches += 1;
        recovered.bytes += bytes.len() as u64;
    }
    Ok(recovered)
}

fn last_snapshot(db: &Connection) -> Result<Recovered, Error> {
    let mut statement = db.prepare("SELECT seq, at_ms, core, checksum FROM snapshot ORDER BY seq DESC")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (seq, at) = (row.get(0)?, Millis(row.get(1)?));
        let bytes = row.get_ref(2)?.as_blob().map_err(|_| Error::NoSnapshot)?;
        if row.get_ref(3)?.as_blob().ok() != Some(&checksum(seq, at, bytes)) {
            tracing::warn!(seq, "a snapshot was altered or torn; the one before it and the journal since then serve");
            continue;
        }
        let core = Core::restore(bytes).map_err(|_| Error::NoSnapshot)?;
        let snapshot_bytes = bytes.len() as u64;
        let requesters = requesters(db)?;
        return Ok(Recovered { core, at, requesters, last: seq, batches: 0, bytes: 0, snapshot_bytes });
    }
    Err(Error::NoSnapshot)
}

fn requesters(db: &Connection) -> Result<HashSet<String>, Error> {
    let mut statement = db.prepare("SELECT name FROM requester")?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}
