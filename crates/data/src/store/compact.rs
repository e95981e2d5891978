//! Compacting: what is left of segments that are mostly dead is written anew, and they go.
use super::rows::{self, Entry, Segment};
use super::writer::{Draft, Lasting, Writer};
use super::{Error, Store, room};
use gleaner_wire::Hash;
use std::sync::atomic::Ordering;

/// Where no holes can be punched, a segment is compacted when less than one part in this many of it is live.
const LIVE_PARTS_WHOLE: u64 = 2;
/// Where holes can be punched dead bytes cost nothing but the file does, so there may be this many times as many files.
const LIVE_PARTS_PUNCHED: u64 = 16;

impl Store {
    /// Compacts every segment that is worth it. Returns how many that were.
    pub(super) fn compact(&self, writer: &mut Writer) -> Result<usize, Error> {
        let condition = format!("live * {LIVE_PARTS_WHOLE} < length");
        let sparse = rows::segments(&writer.db, &condition)?;
        let sparse: Vec<Segment> =
            sparse.into_iter().filter(|segment| self.worth_compacting(writer, segment)).collect();
        for segment in &sparse {
            self.compact_segment(writer, segment)?;
        }
        Ok(sparse.len())
    }

    fn worth_compacting(&self, writer: &Writer, segment: &Segment) -> bool {
        if segment.place == rows::IN_OBJECTS || !self.disk.punches() {
            return true;
        }
        let grows = writer.active.as_ref().is_some_and(|active| active.number == segment.number);
        !grows && segment.live * LIVE_PARTS_PUNCHED < segment.length
    }

    fn compact_segment(&self, writer: &mut Writer, segment: &Segment) -> Result<(), Error> {
        if writer.active.as_ref().is_some_and(|active| active.number == segment.number) {
            writer.active = None;
        }
        let entries = rows::chunks(&writer.db, segment.number, 0, u64::from(u32::MAX))?;
        let mut drafts = Vec::new();
        let mut bad = Vec::new();
        for entry in &entries {
            match self.backend(segment.place).read(segment.number, entry.range())? {
                Some(bytes) if Hash::of(&bytes) == entry.id => {
                    drafts.push(Draft { id: entry.id, bytes, used: entry.used, pins: entry.pins });
                }
                Some(_) | None => bad.push(*entry),
            }
        }
        if !bad.is_empty() {
            tracing::warn!(
                chunks = bad.len(),
                segment = segment.number,
                "damaged chunks were dropped; they can be fetched again"
            );
            self.damaged.fetch_add(bad.len() as u64, Ordering::Relaxed);
            self.drop_chunks(writer, &bad)?;
        }
        if drafts.is_empty() {
            return Ok(());
        }
        let full = self.options.segment_bytes;
        let segment = writer.append(&self.disk, full, &drafts, Lasting::Power, |db, tally, written| {
            let old: Vec<Entry> = rows::chunks(db, segment.number, 0, u64::from(u32::MAX))?;
            for entry in &old {
                rows::remove(db, tally, entry, false)?;
            }
            rows::add(db, tally, &written.entries)?;
            let segment = rows::segment_of(db, segment.number)?.expect("a segment with chunks has its row");
            room::drop_segment(db, tally, &segment)?;
            Ok(segment)
        })?;
        self.sweep(writer, &room::Debris::of(segment));
        Ok(())
    }
}
