//! Rows of chunks: where each lies, and what is around it.
//!
//! Adding, removing and moving a row keeps the sums of its segment right in the same transaction.
use super::Error;
use super::tally::Tally;
use gleaner_wire::Hash;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::ops::Range;

/// On disk, as a file of the folder.
pub(super) const ON_DISK: u8 = 0;
/// In object storage.
pub(super) const IN_OBJECTS: u8 = 1;

/// A chunk as the index knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its name.
    pub(super) id: Hash,
    /// The segment it lies in.
    pub(super) segment: u64,
    /// Where in the segment.
    pub(super) offset: u64,
    /// Its length.
    pub(super) bytes: u64,
    /// The tick of its last use.
    pub(super) used: u64,
    /// How many owners have pinned it.
    pub(super) pins: u64,
}

impl Entry {
    /// Its bytes in the segment.
    pub(super) fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.bytes
    }

    /// Whether another row names the same bytes.
    pub(super) fn lies_with(&self, other: &Self) -> bool {
        (self.segment, self.offset, self.bytes) == (other.segment, other.offset, other.bytes)
    }

    /// What of its bytes is pinned.
    pub(super) fn pinned(&self) -> u64 {
        if self.pins > 0 { self.bytes } else { 0 }
    }
}

/// A segment as the index knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Its number.
    pub(super) number: u64,
    /// [`ON_DISK`] or [`IN_OBJECTS`].
    pub(super) place: u8,
    /// Bytes that were committed to it.
    pub(super) length: u64,
    /// Bytes of whole blocks that were punched out of it.
    pub(super) freed: u64,
    /// Chunks in it.
    pub(super) chunks: u64,
    /// Their bytes.
    pub(super) live: u64,
    /// The bytes of those that are pinned.
    pub(super) pinned: u64,
}

impl Segment {
    /// What it takes of the disk or the bucket.
    pub(super) fn taken(&self, block: u64) -> u64 {
        self.length.next_multiple_of(block) - self.freed
    }
}

/// For queries that read segments: their columns, in the order of [`segment`].
pub(super) const SEGMENT: &str = "number, place, length, freed, chunks, live, pinned";

/// Reads an entry.
pub(super) fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        id: Hash(row.get(0)?),
        segment: row.get(1)?,
        offset: row.get(2)?,
        bytes: row.get(3)?,
        used: row.get(4)?,
        pins: row.get(5)?,
    })
}

/// Reads a segment.
pub(super) fn segment(row: &Row<'_>) -> rusqlite::Result<Segment> {
    Ok(Segment {
        number: row.get(0)?,
        place: row.get(1)?,
        length: row.get(2)?,
        freed: row.get(3)?,
        chunks: row.get(4)?,
        live: row.get(5)?,
        pinned: row.get(6)?,
    })
}

/// The row of a chunk.
pub(super) fn find(db: &Connection, id: &Hash) -> Result<Option<Entry>, Error> {
    let mut statement = db.prepare_cached("SELECT id, segment, offset, bytes, used, pins FROM chunk WHERE id = ?1")?;
    Ok(statement.query_row([id.0], entry).optional()?)
}

/// Whether a chunk is held.
pub(super) fn holds(db: &Connection, id: &Hash) -> Result<bool, Error> {
    Ok(db.prepare_cached("SELECT 1 FROM chunk WHERE id = ?1")?.exists([id.0])?)
}

/// Where the segment of a chunk lies; nothing if there is no such segment any more.
pub(super) fn place(db: &Connection, number: u64) -> Result<Option<u8>, Error> {
    let mut statement = db.prepare_cached("SELECT place FROM segment WHERE number = ?1")?;
    Ok(statement.query_row([number], |row| row.get(0)).optional()?)
}

/// A segment.
pub(super) fn segment_of(db: &Connection, number: u64) -> Result<Option<Segment>, Error> {
    let mut statement = db.prepare_cached(&format!("SELECT {SEGMENT} FROM segment WHERE number = ?1"))?;
    Ok(statement.query_row([number], segment).optional()?)
}

/// Segments that meet a condition, in order.
pub(super) fn segments(db: &Connection, condition: &str) -> Result<Vec<Segment>, Error> {
    let mut statement = db.prepare(&format!("SELECT {SEGMENT} FROM segment WHERE {condition} ORDER BY number"))?;
    Ok(statement.query_map([], segment)?.collect::<Result<_, _>>()?)
}

/// Chunks of a segment from an offset on, in order.
pub(super) fn chunks(db: &Connection, number: u64, from: u64, count: u64) -> Result<Vec<Entry>, Error> {
    let query = "SELECT id, segment, offset, bytes, used, pins FROM chunk
                 WHERE segment = ?1 AND offset >= ?2 ORDER BY offset LIMIT ?3";
    let mut statement = db.prepare_cached(query)?;
    Ok(statement.query_map(params![number, from, count], entry)?.collect::<Result<_, _>>()?)
}

/// Adds rows; their segments have theirs.
pub(super) fn add(db: &Connection, tally: &mut Tally, entries: &[Entry]) -> Result<(), Error> {
    let query = "INSERT INTO chunk (id, segment, offset, bytes, used, pins) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut statement = db.prepare_cached(query)?;
    for entry in entries {
        let Entry { id, segment, offset, bytes, used, pins } = entry;
        statement.execute(params![id.0, segment, offset, bytes, used, pins])?;
        tally.add(entry);
    }
    let query = "UPDATE segment SET chunks = chunks + ?2, live = live + ?3, pinned = pinned + ?4 WHERE number = ?1";
    for run in entries.chunk_by(|one, next| one.segment == next.segment) {
        let live: u64 = run.iter().map(|entry| entry.bytes).sum();
        let pinned: u64 = run.iter().map(Entry::pinned).sum();
        db.prepare_cached(query)?.execute(params![run[0].segment, run.len() as u64, live, pinned])?;
    }
    Ok(())
}

/// Removes a row and tells what is free around it then: from the chunk before to the chunk after.
pub(super) fn remove(db: &Connection, tally: &mut Tally, entry: &Entry, frees: bool) -> Result<Range<u64>, Error> {
    let gap = gap_around(db, entry)?;
    db.prepare_cached("DELETE FROM chunk WHERE segment = ?1 AND offset = ?2")?
        .execute([entry.segment, entry.offset])?;
    let freed = if frees { tally.freed_by(entry, &gap) } else { 0 };
    db.prepare_cached(
        "UPDATE segment SET chunks = chunks - 1, live = live - ?2, pinned = pinned - ?3, freed = freed + ?4
         WHERE number = ?1",
    )?
    .execute(params![entry.segment, entry.bytes, entry.pinned(), freed])?;
    tally.remove(entry, freed);
    Ok(gap)
}

fn gap_around(db: &Connection, entry: &Entry) -> Result<Range<u64>, Error> {
    let before = "SELECT offset + bytes FROM chunk WHERE segment = ?1 AND offset < ?2 ORDER BY offset DESC LIMIT 1";
    let after = "SELECT offset FROM chunk WHERE segment = ?1 AND offset > ?2 ORDER BY offset LIMIT 1";
    let look = |query| -> Result<Option<u64>, Error> {
        Ok(db.prepare_cached(query)?.query_row([entry.segment, entry.offset], |row| row.get(0)).optional()?)
    };
    let end = match look(after)? {
        Some(end) => end,
        None => segment_of(db, entry.segment)?.map_or(entry.offset + entry.bytes, |segment| segment.length),
    };
    Ok(look(before)?.unwrap_or(0)..end)
}
