//! Making room: what was not used for longest goes first, and never what is pinned.
use super::rows::{self, Entry, Segment};
use super::tally::Tally;
use super::writer::Writer;
use super::{Error, Store, holdings};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Chunks that are evicted in one commit at most.
const VICTIMS_MAX: u64 = 4096;
/// One part in this many of the limit is evicted ahead, so that a full store does not evict with every put.
const AHEAD_PARTS: u64 = 64;
/// No more than this is evicted ahead.
const AHEAD_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What is to be done with bytes once their rows are gone.
#[derive(Default)]
pub(super) struct Debris {
    /// Holes to punch, by segment.
    holes: BTreeMap<u64, Vec<Range<u64>>>,
    /// Segments that no row names any more.
    empty: Vec<Segment>,
}

impl Store {
    /// Evicts until this many bytes can be added.
    pub(super) fn make_room(&self, writer: &mut Writer, need: u64) -> Result<(), Error> {
        let limit = self.options.limit;
        if writer.tally.pinned + need > limit {
            return Err(self.no_room(writer, need));
        }
        let ahead = (limit / AHEAD_PARTS).min(AHEAD_BYTES_MAX);
        loop {
            let over = (writer.tally.taken + need).saturating_sub(limit);
            if over == 0 {
                return Ok(());
            }
            let evicted = self.evict(writer, over + ahead)?;
            let compacted = self.compact(writer)?;
            if evicted == 0 && compacted == 0 {
                return Err(self.no_room(writer, need));
            }
        }
    }

    /// Why this many bytes cannot be added.
    pub(super) fn no_room(&self, writer: &Writer, need: u64) -> Error {
        let (pinned, limit) = (writer.tally.pinned, self.options.limit);
        Error::NoRoom { missing: (pinned + need).saturating_sub(limit).max(1), pinned, limit }
    }

    /// Evicts chunks of about this many bytes. Returns how many chunks.
    fn evict(&self, writer: &mut Writer, wanted: u64) -> Result<usize, Error> {
        let (victims, debris) = writer.commit(|db, tally| {
            self.touches.write(db)?;
            let victims = victims(db, wanted)?;
            let debris = self.remove_rows(db, tally, &victims)?;
            Ok((victims.len(), debris))
        })?;
        self.sweep(writer, &debris);
        Ok(victims)
    }

    /// Drops chunks, for whatever reason, and frees their bytes.
    pub(super) fn drop_chunks(&self, writer: &mut Writer, entries: &[Entry]) -> Result<(), Error> {
        let debris = writer.commit(|db, tally| self.remove_rows(db, tally, entries))?;
        self.sweep(writer, &debris);
        Ok(())
    }

    /// Removes rows, and those of segments that are empty then.
    fn remove_rows(&self, db: &Connection, tally: &mut Tally, entries: &[Entry]) -> Result<Debris, Error> {
        let mut debris = Debris::default();
        let mut marks = holdings::Marks::default();
        let mut touched = BTreeSet::new();
        for entry in entries {
            let on_disk = rows::place(db, entry.segment)? == Some(rows::ON_DISK);
            let gap = rows::remove(db, tally, entry, on_disk && self.disk.punches())?;
            if on_disk {
                debris.holes.entry(entry.segment).or_default().push(gap);
            }
            marks.note(db, entry, false)?;
            touched.insert(entry.segment);
        }
        marks.write(db)?;
        for number in touched {
            if let Some(segment) = rows::segment_of(db, number)?.filter(|segment| segment.chunks == 0) {
                drop_segment(db, tally, &segment)?;
                debris.empty.push(segment);
            }
        }
        Ok(debris)
    }

    /// Frees bytes whose rows are gone. What cannot be freed now is freed when the store is opened again.
    pub(super) fn sweep(&self, writer: &mut Writer, debris: &Debris) {
        self.changes.fetch_add(1, Ordering::SeqCst);
        for segment in &debris.empty {
            if writer.active.as_ref().is_some_and(|active| active.number == segment.number) {
                writer.active = None;
            }
            if let Err(error) = self.backend(segment.place).remove(segment.number) {
                tracing::warn!(%error, segment = segment.number, "an empty segment stays until the store is opened again");
            }
        }
        let holes =
            debris.holes.iter().filter(|(number, _)| debris.empty.iter().all(|segment| segment.number != **number));
        for (number, ranges) in holes {
            for range in merged(ranges) {
                if let Err(error) = super::Backend::punch(&self.disk, *number, range) {
                    tracing::warn!(%error, segment = number, "a hole stays filled until the store is opened again");
                }
            }
        }
    }
}

impl Debris {
    /// A segment alone.
    pub(super) fn of(segment: Segment) -> Self {
        Self { holes: BTreeMap::new(), empty: vec![segment] }
    }
}

/// Removes the row of an empty segment.
pub(super) fn drop_segment(db: &Connection, tally: &mut Tally, segment: &Segment) -> Result<(), Error> {
    db.prepare_cached("DELETE FROM segment WHERE number = ?1")?.execute([segment.number])?;
    tally.drop_segment(segment);
    Ok(())
}

fn victims(db: &Connection, wanted: u64) -> Result<Vec<Entry>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT id, segment, offset, bytes, used, pins FROM chunk INDEXED BY chunk_by_use
         WHERE pins = 0 ORDER BY used, segment, offset LIMIT ?1",
    )?;
    let mut victims = Vec::new();
    let mut bytes = 0;
    for entry in statement.query_map([VICTIMS_MAX], rows::entry)? {
        let entry = entry?;
        bytes += entry.bytes;
        victims.push(entry);
        if bytes >= wanted {
            break;
        }
    }
    Ok(victims)
}

fn merged(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            Some(_) | None => merged.push(range),
        }
    }
    merged
}
