//! What is wanted soon, on its way, or here and not used yet: a bounded number of bytes.
//!
//! Chunks are wanted in the order they were announced in, as many as there is room for. One that somebody waits for is
//! wanted at once. Those that were used as often as they were announced stay for a while, since neighbours share them.
use crate::net::engine::Wish;
use bytes::Bytes;
use gleaner_wire::{BlobRef, Hash};
use std::collections::{HashMap, HashSet, VecDeque};

/// Bytes that are on their way or here and not used yet.
pub(super) const WINDOW_BYTES: u64 = 40 * 1024 * 1024;
/// Bytes that were used and may be wanted again.
const SPENT_BYTES: u64 = 8 * 1024 * 1024;
/// Chunks that are remembered as announced; of more nothing is known before they are asked for.
const QUEUE_MAX: usize = 65_536;
/// Where positions begin: announced ones count up from here, urgent ones down.
const MIDDLE: u32 = 1 << 31;

#[derive(Debug)]
enum State {
    /// Announced, and there is no room yet.
    Queued,
    /// To be fetched.
    Wanted,
    /// Fetched.
    Here(Bytes),
}

#[derive(Debug)]
struct Entry {
    blob: BlobRef,
    position: u32,
    /// How often it should still be asked for.
    uses: u32,
    state: State,
}

impl Entry {
    fn is_spent(&self) -> bool {
        self.uses == 0 && matches!(self.state, State::Here(_))
    }
}

#[derive(Debug)]
pub(super) struct Shelf {
    entries: HashMap<Hash, Entry>,
    queue: VecDeque<Hash>,
    urgent: Vec<Hash>,
    spent: VecDeque<Hash>,
    window_bytes: u64,
    spent_bytes: u64,
    next: u32,
    next_urgent: u32,
}

impl Shelf {
    pub(super) fn new() -> Self {
        Self {
            entries: HashMap::new(),
            queue: VecDeque::new(),
            urgent: Vec::new(),
            spent: VecDeque::new(),
            window_bytes: 0,
            spent_bytes: 0,
            next: MIDDLE,
            next_urgent: MIDDLE,
        }
    }

    /// These will be asked for soon, each once.
    pub(super) fn announce(&mut self, blobs: &[BlobRef]) {
        let mut seen = HashSet::new();
        for blob in blobs.iter().filter(|blob| seen.insert(blob.id)) {
            if let Some(entry) = self.entries.get_mut(&blob.id) {
                if entry.is_spent() {
                    self.spent_bytes -= entry.blob.bytes;
                    self.window_bytes += entry.blob.bytes;
                    self.spent.retain(|id| *id != blob.id);
                }
                entry.uses += 1;
            } else if self.queue.len() < QUEUE_MAX {
                let entry = Entry { blob: *blob, position: self.next, uses: 1, state: State::Queued };
                self.next = self.next.wrapping_add(1).max(MIDDLE);
                self.entries.insert(blob.id, entry);
                self.queue.push_back(blob.id);
            }
        }
    }

    /// The bytes of a chunk if they are here; if not, it is wanted at once.
    pub(super) fn take(&mut self, blob: BlobRef) -> Option<Bytes> {
        let Some(entry) = self.entries.get_mut(&blob.id) else {
            self.next_urgent = self.next_urgent.checked_sub(1).unwrap_or(MIDDLE - 1);
            let entry = Entry { blob, position: self.next_urgent, uses: 1, state: State::Queued };
            self.entries.insert(blob.id, entry);
            self.urgent.push(blob.id);
            return None;
        };
        match &entry.state {
            State::Here(bytes) => {
                let bytes = bytes.clone();
                if entry.uses == 1 {
                    self.window_bytes -= entry.blob.bytes;
                    self.spent_bytes += entry.blob.bytes;
                    self.spent.push_back(blob.id);
                }
                entry.uses = entry.uses.saturating_sub(1);
                self.drop_spent();
                Some(bytes)
            }
            State::Queued if !self.urgent.contains(&blob.id) => {
                self.urgent.push(blob.id);
                None
            }
            State::Queued | State::Wanted => None,
        }
    }

    fn drop_spent(&mut self) {
        while self.spent_bytes > SPENT_BYTES
            && let Some(id) = self.spent.pop_front()
        {
            let entry = self.entries.remove(&id).expect("what is spent is here");
            self.spent_bytes -= entry.blob.bytes;
        }
    }

    /// What is to be fetched from now on, with its positions.
    pub(super) fn wanted(&mut self) -> Vec<Wish> {
        let mut wanted = Vec::new();
        for id in std::mem::take(&mut self.urgent) {
            // Somebody asks for what there is no room for: what is here and was not asked for may never be.
            while self.window_bytes > WINDOW_BYTES && self.drop_oldest() {}
            wanted.extend(self.want(id));
        }
        while let Some(id) = self.queue.front().copied() {
            let Some(entry) = self.entries.get(&id).filter(|entry| matches!(entry.state, State::Queued)) else {
                self.queue.pop_front();
                continue;
            };
            if self.window_bytes + entry.blob.bytes > WINDOW_BYTES {
                break;
            }
            self.queue.pop_front();
            wanted.extend(self.want(id));
        }
        wanted
    }

    fn want(&mut self, id: Hash) -> Option<Wish> {
        let entry = self.entries.get_mut(&id).filter(|entry| matches!(entry.state, State::Queued))?;
        entry.state = State::Wanted;
        self.window_bytes += entry.blob.bytes;
        Some(Wish { position: entry.position, blob: entry.blob })
    }

    /// Forgets the oldest of those that are here and not used up. If it is asked for after all it is fetched again.
    fn drop_oldest(&mut self) -> bool {
        let unused = self.entries.iter().filter(|(_, entry)| matches!(entry.state, State::Here(_)) && entry.uses > 0);
        let Some(id) = unused.min_by_key(|(_, entry)| entry.position).map(|(id, _)| *id) else { return false };
        let entry = self.entries.remove(&id).expect("just found");
        self.window_bytes -= entry.blob.bytes;
        true
    }

    /// A chunk has come.
    pub(super) fn arrived(&mut self, id: &Hash, bytes: Bytes) {
        if let Some(entry) = self.entries.get_mut(id)
            && matches!(entry.state, State::Wanted)
        {
            entry.state = State::Here(bytes);
        }
    }

    #[cfg(test)]
    fn held_bytes(&self) -> u64 {
        let held = |entry: &Entry| if matches!(entry.state, State::Here(_)) { entry.blob.bytes } else { 0 };
        self.entries.values().map(held).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(number: u32, bytes: u64) -> BlobRef {
        BlobRef { id: Hash::of(&number.to_le_bytes()), bytes }
    }

    fn fetch_all(shelf: &mut Shelf) -> usize {
        let wanted = shelf.wanted();
        for Wish { blob, .. } in &wanted {
            let bytes = vec![7; usize::try_from(blob.bytes).expect("small")];
            shelf.arrived(&blob.id, Bytes::from(bytes));
        }
        wanted.len()
    }

    #[test]
    fn no_more_is_wanted_than_there_is_room_for() {
        let mut shelf = Shelf::new();
        let blobs: Vec<BlobRef> = (0..200).map(|number| blob(number, 1 << 20)).collect();
        shelf.announce(&blobs);
        assert_eq!(fetch_all(&mut shelf), 40);
        assert_eq!(fetch_all(&mut shelf), 0);
        let mut fetched = 40;
        for blob in &blobs {
            assert!(shelf.take(*blob).is_some());
            fetched += fetch_all(&mut shelf);
            assert!(shelf.held_bytes() <= WINDOW_BYTES + SPENT_BYTES);
        }
        assert_eq!(fetched, 200, "nothing twice");
    }

    #[test]
    fn what_somebody_waits_for_comes_first_however_full_it_is() {
        let mut shelf = Shelf::new();
        let blobs: Vec<BlobRef> = (0..60).map(|number| blob(number, 1 << 20)).collect();
        shelf.announce(&blobs);
        fetch_all(&mut shelf);
        for wish in [blobs[59], blob(1000, 1 << 20)] {
            assert!(shelf.take(wish).is_none());
            assert!(shelf.take(wish).is_none(), "asking twice wants it once");
            assert!(fetch_all(&mut shelf) >= 1);
            assert!(shelf.take(wish).is_some());
        }
        assert!(shelf.held_bytes() <= WINDOW_BYTES + SPENT_BYTES + (2 << 20));
    }

    #[test]
    fn a_chunk_that_two_need_is_fetched_once() {
        let mut shelf = Shelf::new();
        let (one, two) = (blob(1, 100), blob(2, 100));
        shelf.announce(&[one, two, one]);
        shelf.announce(&[two]);
        assert_eq!(fetch_all(&mut shelf), 2);
        assert!(shelf.take(two).is_some() && shelf.take(two).is_some());
        assert!(shelf.take(one).is_some());
        shelf.announce(&[one]);
        assert_eq!(fetch_all(&mut shelf), 0, "it is still here");
        assert!(shelf.take(one).is_some());
        assert_eq!((shelf.window_bytes, shelf.spent_bytes), (0, 200));
    }
}
