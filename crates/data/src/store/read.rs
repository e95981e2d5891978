//! Reading chunks: many threads at once, without a lock around the disk.
use super::rows::{self, Entry};
use super::{Bitmap, Error, Store};
use bytes::Bytes;
use gleaner_wire::Hash;
use std::sync::TryLockError;
use std::sync::atomic::Ordering;

/// Neighbours in a segment are read together up to this length.
const RUN_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Who makes sure that bytes are what their name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// The store, before it hands them out.
    Here,
    /// Whoever receives them does it anyway, and would only do it twice.
    ByReceiver,
}

/// A chunk, and the place of its segment.
type Found = (Entry, u8);

impl Store {
    /// The bytes of a chunk, or nothing if it is not here. One whose bytes have gone bad is dropped and not here any
    /// more: fetch it again.
    pub fn get(&self, id: &Hash, verify: Verify) -> Result<Option<Bytes>, Error> {
        Ok(self.get_many(std::slice::from_ref(id), verify)?.pop().flatten())
    }

    /// The bytes of many chunks, in the order asked for; all of them are in memory at once.
    pub fn get_many(&self, ids: &[Hash], verify: Verify) -> Result<Vec<Option<Bytes>>, Error> {
        let changes = self.changes.load(Ordering::SeqCst);
        let found = self.readers.with(|db| {
            let look = |id| -> Result<Option<Found>, Error> {
                let Some(entry) = rows::find(db, id)? else { return Ok(None) };
                Ok(rows::place(db, entry.segment)?.map(|place| (entry, place)))
            };
            ids.iter().map(look).collect::<Result<Vec<_>, Error>>()
        })?;
        let present: Vec<Found> = found.iter().copied().flatten().collect();
        let mut read = self.read_all(&present)?.into_iter();
        let calm = self.changes.load(Ordering::SeqCst) == changes;
        let mut result = Vec::with_capacity(ids.len());
        for found in found {
            let Some((entry, _)) = found else {
                result.push(None);
                continue;
            };
            let bytes = read.next().expect("one answer for each chunk that was found");
            // If anything went or moved meanwhile the bytes are looked at even where the receiver would.
            let good = |bytes: &Bytes| calm && verify == Verify::ByReceiver || Hash::of(bytes) == entry.id;
            let bytes = match bytes.filter(good) {
                Some(bytes) => Some(bytes),
                None => self.get_for_sure(&entry.id)?,
            };
            if bytes.is_some() {
                self.touch(&entry);
            }
            result.push(bytes);
        }
        Ok(result)
    }

    /// Which of these are here. Bytes are not looked at.
    pub fn has_many(&self, ids: &[Hash]) -> Result<Bitmap, Error> {
        self.readers.with(|db| {
            let mut held = Bitmap::new(ids.len());
            for (position, id) in ids.iter().enumerate() {
                held.set(position, rows::holds(db, id)?);
            }
            Ok(held)
        })
    }

    /// Reads the bytes of rows, neighbours together. Nothing for those that are not all there.
    pub(super) fn read_all(&self, found: &[Found]) -> Result<Vec<Option<Bytes>>, Error> {
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_unstable_by_key(|&position| (found[position].0.segment, found[position].0.offset));
        let mut result = vec![None; found.len()];
        let mut rest = &order[..];
        while let Some(&first) = rest.first() {
            let (start, place) = found[first];
            let mut end = start.range().end;
            let mut length = 1;
            for &position in &rest[1..] {
                let next = found[position].0;
                let touches = next.segment == start.segment && next.offset == end;
                if !touches || next.range().end - start.offset > RUN_BYTES_MAX {
                    break;
                }
                end = next.range().end;
                length += 1;
            }
            let (run, others) = rest.split_at(length);
            rest = others;
            let bytes = self.backend(place).read(start.segment, start.offset..end)?;
            for &position in run {
                let entry = found[position].0;
                result[position] = match &bytes {
                    Some(bytes) => Some(slice(bytes, start.offset, &entry)),
                    // A part of the run is gone; not all of it need be.
                    None if length > 1 => self.backend(place).read(entry.segment, entry.range())?,
                    None => None,
                };
            }
        }
        Ok(result)
    }

    /// Reads a chunk while nothing can move, and drops it if its bytes are bad.
    fn get_for_sure(&self, id: &Hash) -> Result<Option<Bytes>, Error> {
        let mut writer = self.lock_writer();
        let Some(entry) = rows::find(&writer.db, id)? else { return Ok(None) };
        let place = rows::place(&writer.db, entry.segment)?.unwrap_or(rows::ON_DISK);
        if let Some(bytes) = self.backend(place).read(entry.segment, entry.range())?
            && Hash::of(&bytes) == *id
        {
            return Ok(Some(bytes));
        }
        tracing::warn!(chunk = %id, segment = entry.segment, offset = entry.offset, "a damaged chunk was dropped; it can be fetched again");
        self.damaged.fetch_add(1, Ordering::Relaxed);
        self.drop_chunks(&mut writer, &[entry])?;
        self.publish(&writer);
        Ok(None)
    }

    /// Drops a chunk whose bytes were bad at this place, unless they turn out to be good or to have moved. Tells
    /// whether it did.
    pub(super) fn drop_if_bad(&self, entry: &Entry) -> Result<bool, Error> {
        let same = self.readers.with(|db| rows::find(db, &entry.id))?.is_some_and(|now| now.lies_with(entry));
        Ok(same && self.get_for_sure(&entry.id)?.is_none())
    }

    fn touch(&self, entry: &Entry) {
        let now = self.now();
        if entry.used >= now || !self.touches.note(entry.id, now) {
            return;
        }
        let written = match self.writer.try_lock() {
            Ok(mut writer) => writer.commit(|db, _| self.touches.write(db)),
            // Whoever writes right now writes these too.
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => Ok(()),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "what was used last could not be written down; eviction will choose a little worse");
        }
    }
}

fn slice(run: &Bytes, start: u64, entry: &Entry) -> Bytes {
    let place = |position: u64| usize::try_from(position - start).expect("a run of chunks fits in memory");
    run.slice(place(entry.offset)..place(entry.range().end))
}
