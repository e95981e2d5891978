//! A worker's store of datasets in the world: bounded, the least recently used goes first, never what an attempt needs.
use std::collections::{BTreeMap, BTreeSet};

use gleaner_wire::{DataRef, HELD_MAX, Hash, Held};

use crate::scenario::MILLISECOND;

/// Smaller datasets are there at once.
const BYTES_MIN: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
struct Entry {
    bytes: u64,
    /// When all of it is here, in microseconds.
    whole_at: u64,
    used: u64,
}

/// The store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cache {
    /// Bytes a second that come in.
    line: u64,
    room: u64,
    /// When the line is done with what it fetches.
    line_free_at: u64,
    entries: BTreeMap<Hash, Entry>,
    uses: u64,
    /// Everything that was fetched.
    pub moved: u64,
}

impl Cache {
    pub fn new(line: u64, room: u64) -> Self {
        Self { line, room, ..Self::default() }
    }

    /// Fetches what is missing, one dataset after another; says when all of it is here.
    pub fn fetch(&mut self, now: u64, sets: &[DataRef], needed: &BTreeSet<Hash>) -> u64 {
        let mut ready_at = now;
        for set in sets.iter().filter(|set| set.bytes >= BYTES_MIN) {
            self.uses += 1;
            let used = self.uses;
            let entry = self.entries.entry(set.root.id).or_insert_with(|| {
                let starts = self.line_free_at.max(now);
                let takes = u128::from(set.bytes) * 1000 * u128::from(MILLISECOND) / u128::from(self.line.max(1));
                self.line_free_at = starts + takes as u64;
                self.moved += set.bytes;
                Entry { bytes: set.bytes, whole_at: self.line_free_at, used }
            });
            entry.used = used;
            ready_at = ready_at.max(entry.whole_at);
        }
        self.make_room(needed);
        ready_at
    }

    fn make_room(&mut self, needed: &BTreeSet<Hash>) {
        while self.entries.values().map(|entry| entry.bytes).sum::<u64>() > self.room {
            let idle = self.entries.iter().filter(|(root, _)| !needed.contains(root));
            let Some(oldest) = idle.min_by_key(|(_, entry)| entry.used).map(|(root, _)| *root) else { return };
            self.entries.remove(&oldest);
        }
    }

    /// What it would say of itself.
    pub fn holds(&self, now: u64) -> Vec<Held> {
        let whole = self.entries.iter().filter(|(_, entry)| entry.whole_at <= now);
        whole.map(|(root, entry)| Held { root: *root, bytes: entry.bytes }).take(HELD_MAX).collect()
    }

    /// The process died: what was not all here is lost.
    pub fn crash(&mut self, now: u64) {
        self.entries.retain(|_, entry| entry.whole_at <= now);
        self.line_free_at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::BlobRef;

    fn set(name: &[u8], megabytes: u64) -> DataRef {
        DataRef { root: BlobRef::of(name), bytes: megabytes * 1_000_000 }
    }

    #[test]
    fn what_is_not_needed_goes_when_there_is_no_room() {
        let mut cache = Cache::new(1_000_000, 10_000_000);
        let (first, second, third) = (set(b"1", 4), set(b"2", 6), set(b"3", 5));
        assert_eq!(cache.fetch(0, &[first, second], &BTreeSet::new()), 10_000_000);
        assert_eq!(cache.fetch(0, &[first], &BTreeSet::new()), 4_000_000, "once, however many need it");
        cache.fetch(10_000_000, &[third], &[second.root.id].into());
        let roots: Vec<_> = cache.holds(20_000_000).iter().map(|held| held.root).collect();
        assert!(!roots.contains(&first.root.id) && roots.contains(&second.root.id));
        cache.crash(12_000_000);
        assert_eq!(cache.holds(20_000_000).len(), 1);
        assert_eq!(cache.moved, 15_000_000);
    }
}
