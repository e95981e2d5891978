//! Checking: everything is read, what is bad is dropped and named, so that it can be fetched again.
use super::rows::{self, Entry, Segment};
use super::{Error, Store, recover};
use bytes::Bytes;
use gleaner_wire::Hash;
use std::sync::PoisonError;

/// Chunks that are looked up together.
const PAGE_CHUNKS: u64 = 64;

/// How far a check is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Chunks looked at.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// All bytes, as far as known.
    pub bytes_total: u64,
}

/// What a check found. All of it is mended already, except that the bad chunks are to be fetched again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Chunks looked at.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Chunks whose bytes were altered, missing or unreadable.
    pub bad: Vec<Hash>,
    /// Files, objects and tails of files that no chunk lies in.
    pub orphans: u64,
    /// Their bytes.
    pub orphan_bytes: u64,
    /// Segments whose sums were wrong.
    pub miscounted: u64,
}

impl Store {
    /// Reads every chunk. The store can be used meanwhile; chunks that come while this runs may be left out.
    pub fn check(&self, mut progress: impl FnMut(&Progress)) -> Result<Checked, Error> {
        let mut checked = Checked::default();
        let mut done = Progress { bytes_total: self.usage().bytes, ..Progress::default() };
        for segment in self.readers.with(|db| rows::segments(db, "true"))? {
            let mut from = 0;
            loop {
                let entries = self.readers.with(|db| rows::chunks(db, segment.number, from, PAGE_CHUNKS))?;
                let Some(last) = entries.last() else { break };
                from = last.offset + 1;
                self.check_page(&segment, &entries, &mut checked.bad)?;
                done.chunks += entries.len() as u64;
                done.bytes += entries.iter().map(|entry| entry.bytes).sum::<u64>();
                progress(&done);
            }
        }
        self.check_sums(&mut checked)?;
        (checked.chunks, checked.bytes) = (done.chunks, done.bytes);
        Ok(checked)
    }

    fn check_page(&self, segment: &Segment, entries: &[Entry], bad: &mut Vec<Hash>) -> Result<(), Error> {
        let found: Vec<_> = entries.iter().map(|entry| (*entry, segment.place)).collect();
        let read = match self.read_all(&found) {
            Ok(read) => read,
            Err(error) if segment.place == rows::IN_OBJECTS => return Err(error),
            // Somewhere in here the disk cannot be read; the rest of it may be good.
            Err(_) => entries.iter().map(|entry| self.read_alone(entry)).collect(),
        };
        for (entry, bytes) in entries.iter().zip(read) {
            let good = bytes.is_some_and(|bytes| Hash::of(&bytes) == entry.id);
            if !good && self.drop_bad(entry)? {
                bad.push(entry.id);
            }
        }
        Ok(())
    }

    fn read_alone(&self, entry: &Entry) -> Option<Bytes> {
        super::Backend::read(&self.disk, entry.segment, entry.range()).ok().flatten()
    }

    /// Drops a chunk that could not be read as it was written, if that is still so while nothing can move.
    fn drop_bad(&self, entry: &Entry) -> Result<bool, Error> {
        match self.drop_if_bad(entry) {
            Err(Error::File { .. }) => {
                let mut writer = self.lock_writer();
                let same = rows::find(&writer.db, &entry.id)?.filter(|now| now.lies_with(entry));
                if let Some(entry) = same {
                    self.drop_chunks(&mut writer, &[entry])?;
                    self.publish(&writer);
                }
                Ok(same.is_some())
            }
            outcome => outcome,
        }
    }

    /// Compares the sums with the rows, and the files with both. Short, and nobody writes meanwhile.
    fn check_sums(&self, checked: &mut Checked) -> Result<(), Error> {
        let _still = self.offloading.lock().unwrap_or_else(PoisonError::into_inner);
        let mut writer = self.lock_writer();
        checked.miscounted = writer.commit(|db, _| {
            let sums = "SELECT count(*), ifnull(sum(bytes), 0), ifnull(sum(bytes * (pins > 0)), 0)
                        FROM chunk WHERE segment = number";
            let query = format!(
                "UPDATE segment SET (chunks, live, pinned) = ({sums}) WHERE (chunks, live, pinned) IS NOT ({sums})"
            );
            Ok(db.execute(&query, [])? as u64)
        })?;
        let leftovers = recover::reconcile(&mut writer, &self.disk, self.objects.as_deref())?;
        (checked.orphans, checked.orphan_bytes) = (leftovers.count, leftovers.bytes);
        self.publish(&writer);
        Ok(())
    }
}
