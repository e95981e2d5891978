//! What the store holds and takes, counted along with every change.
use super::Error;
use super::rows::{Entry, Segment, segments};
use rusqlite::Connection;
use std::ops::Range;

/// What a store holds and takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Chunks held.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The bytes of those that are pinned.
    pub pinned: u64,
    /// What they take of the disk and the bucket, in whole blocks.
    pub taken: u64,
    /// What they may take.
    pub limit: u64,
    /// Chunks whose bytes were found to be wrong since the store was opened, and that were dropped.
    pub damaged: u64,
}

/// Counts that a transaction works on; they count once it is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tally {
    /// Chunks held.
    pub(super) chunks: u64,
    /// Their bytes.
    pub(super) bytes: u64,
    /// The bytes of those that are pinned.
    pub(super) pinned: u64,
    /// What they take, in whole blocks.
    pub(super) taken: u64,
    /// The unit in which the file system gives room.
    block: u64,
}

impl Tally {
    /// Adds up the segments.
    pub(super) fn read(db: &Connection, block: u64) -> Result<Self, Error> {
        let mut tally = Self { chunks: 0, bytes: 0, pinned: 0, taken: 0, block };
        for segment in segments(db, "true")? {
            tally.chunks += segment.chunks;
            tally.bytes += segment.live;
            tally.pinned += segment.pinned;
            tally.taken += segment.taken(block);
        }
        Ok(tally)
    }

    /// Counts a chunk that was added. What its segment takes is counted by [`Tally::grow`].
    pub(super) fn add(&mut self, entry: &Entry) {
        self.chunks += 1;
        self.bytes += entry.bytes;
        self.pinned += entry.pinned();
    }

    /// Counts a chunk that is gone and the room that gave.
    pub(super) fn remove(&mut self, entry: &Entry, freed: u64) {
        self.chunks -= 1;
        self.bytes -= entry.bytes;
        self.pinned -= entry.pinned();
        self.taken -= freed;
    }

    /// Counts what a segment takes when it grows from one length to another.
    pub(super) fn grow(&mut self, from: u64, to: u64) {
        self.taken += to.next_multiple_of(self.block) - from.next_multiple_of(self.block);
    }

    /// Counts a segment that is gone, without its chunks.
    pub(super) fn drop_segment(&mut self, segment: &Segment) {
        self.taken -= segment.taken(self.block);
    }

    /// Bytes of whole blocks that become free when a chunk goes from the gap around it.
    pub(super) fn freed_by(&self, entry: &Entry, gap: &Range<u64>) -> u64 {
        let range = entry.range();
        self.whole_blocks(gap) - self.whole_blocks(&(gap.start..range.start)) - self.whole_blocks(&(range.end..gap.end))
    }

    fn whole_blocks(&self, gap: &Range<u64>) -> u64 {
        (gap.end / self.block * self.block).saturating_sub(gap.start.next_multiple_of(self.block))
    }
}
