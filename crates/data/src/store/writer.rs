//! The one who writes: the index's connection, and the segment that grows.
use super::disk::Disk;
use super::rows::{Entry, ON_DISK};
use super::tally::Tally;
use super::{Backend, Error, schema};
use bytes::Bytes;
use gleaner_wire::Hash;
use rusqlite::{Connection, TransactionBehavior, params};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// What is needed to write. There is one for each store, behind a lock.
pub(super) struct Writer {
    /// The index.
    pub(super) db: Connection,
    /// Counts, as of the last commit.
    pub(super) tally: Tally,
    /// The segment that grows.
    pub(super) active: Option<Active>,
    /// The number of the next segment. None is used twice while the store is open.
    pub(super) next: u64,
    /// Segments with bytes that a power cut would take back, and how many those are.
    pub(super) unsynced: BTreeMap<u64, Arc<File>>,
    pub(super) unsynced_bytes: u64,
}

/// What chunks survive once they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Lasting {
    /// The end of this process.
    #[default]
    Process,
    /// A power cut too.
    Power,
}

/// A segment that grows.
pub(super) struct Active {
    /// Its number.
    pub(super) number: u64,
    /// Where the next chunk goes. Beyond what is committed until the commit.
    pub(super) end: u64,
    file: Arc<File>,
}

impl Active {
    /// Goes on with a segment at this length.
    pub(super) fn open(disk: &Disk, number: u64, end: u64) -> Result<Self, Error> {
        Ok(Self { number, end, file: Arc::new(disk.grow(number)?) })
    }
}

/// Bytes to be written under a name, with what the index is to say of them.
pub(super) struct Draft {
    /// The name.
    pub(super) id: Hash,
    /// The bytes.
    pub(super) bytes: Bytes,
    /// The tick of the last use.
    pub(super) used: u64,
    /// How many owners have pinned it.
    pub(super) pins: u64,
}

/// What was written and synced, and waits for its commit.
#[derive(Default)]
pub(super) struct Written {
    /// The chunks.
    pub(super) entries: Vec<Entry>,
    /// Each segment with its length before and after.
    stretches: Vec<(u64, u64, u64)>,
    /// Whether a sync failed.
    unsynced: bool,
    lasting: Lasting,
}

impl Written {
    fn note(&mut self, entry: Entry) {
        let end = entry.offset + entry.bytes;
        match self.stretches.last_mut() {
            Some((number, _, to)) if *number == entry.segment => *to = end,
            Some(_) | None => self.stretches.push((entry.segment, entry.offset, end)),
        }
        self.entries.push(entry);
    }

    /// Tells the index how far segments have grown; goes before the rows of the chunks.
    pub(super) fn stretch(&self, db: &Connection, tally: &mut Tally) -> Result<(), Error> {
        for &(number, from, to) in &self.stretches {
            db.prepare_cached(
                "INSERT INTO segment (number, place, length, freed, chunks, live, pinned)
                 VALUES (?1, ?2, ?3, 0, 0, 0, 0) ON CONFLICT (number) DO UPDATE SET length = excluded.length",
            )?
            .execute(params![number, ON_DISK, to])?;
            tally.grow(from, to);
        }
        Ok(())
    }
}

impl Writer {
    /// Has all of it on disk on return, or none.
    pub(super) fn commit<T>(
        &mut self,
        work: impl FnOnce(&Connection, &mut Tally) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut tally = self.tally;
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = work(&transaction, &mut tally)?;
        transaction.commit()?;
        self.tally = tally;
        Ok(result)
    }

    /// Writes chunks and commits rows for them, or leaves everything as it was.
    pub(super) fn append<T>(
        &mut self,
        disk: &Disk,
        full: u64,
        drafts: &[Draft],
        lasting: Lasting,
        work: impl FnOnce(&Connection, &mut Tally, &Written) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut written = Written { lasting, ..Written::default() };
        let result = self.write(disk, full, drafts, &mut written).and_then(|()| {
            schema::set_durable(&self.db, lasting == Lasting::Power)?;
            let committed = self.commit(|db, tally| {
                written.stretch(db, tally)?;
                work(db, tally, &written)
            });
            schema::set_durable(&self.db, true)?;
            committed
        });
        if result.is_err() {
            self.retreat(disk, &written);
        }
        result
    }

    fn write(&mut self, disk: &Disk, full: u64, drafts: &[Draft], written: &mut Written) -> Result<(), Error> {
        for draft in drafts {
            let bytes = draft.bytes.len() as u64;
            if self.active.as_ref().is_some_and(|active| active.end > 0 && active.end + bytes > full) {
                self.sync(disk, written)?;
                self.active = None;
            }
            let active = match &mut self.active {
                Some(active) => active,
                None => {
                    let number = self.next;
                    self.next += 1;
                    self.active.insert(Active::open(disk, number, 0)?)
                }
            };
            let (id, segment, offset) = (draft.id, active.number, active.end);
            // Noted first, so that what a failed write leaves behind is cut off again.
            written.note(Entry { id, segment, offset, bytes, used: draft.used, pins: draft.pins });
            active.file.write_all_at(&draft.bytes, offset).map_err(Error::file("write", disk.path(segment)))?;
            active.end += bytes;
            if written.lasting == Lasting::Process {
                self.unsynced_bytes += bytes;
            }
        }
        self.sync(disk, written)
    }

    /// Syncs the segment that grows, or notes that it is to be synced later.
    fn sync(&mut self, disk: &Disk, written: &mut Written) -> Result<(), Error> {
        let Some(active) = &self.active else { return Ok(()) };
        if written.lasting == Lasting::Process {
            self.unsynced.insert(active.number, Arc::clone(&active.file));
            return Ok(());
        }
        let synced = active.file.sync_data();
        written.unsynced |= synced.is_err();
        synced.map_err(Error::file("sync", disk.path(active.number)))
    }

    /// Cuts off what was written without a commit, and goes on with the segment that was growing. Not after a failed
    /// sync: then nobody knows what of a file is on disk.
    fn retreat(&mut self, disk: &Disk, written: &Written) {
        self.active = None;
        let growing = written.stretches.first().filter(|(_, from, _)| *from > 0 && !written.unsynced);
        for &(number, from, _) in &written.stretches {
            let undone = if from == 0 { disk.remove(number) } else { disk.truncate(number, from) };
            if let Err(error) = undone {
                tracing::warn!(%error, number, "bytes without a row stay until the store is opened again");
            }
        }
        self.active = growing.and_then(|&(number, from, _)| Active::open(disk, number, from).ok());
        // Created, but nothing was written to it.
        let unused =
            self.next.checked_sub(1).filter(|last| written.stretches.iter().all(|(number, ..)| number != last));
        let rowless = |number: &u64| matches!(super::rows::segment_of(&self.db, *number), Ok(None));
        if let Some(number) = unused.filter(rowless) {
            let _ = disk.remove(number);
        }
    }
}
