//! What will happen and when, in virtual microseconds. Among equals, what was noted first comes first.
//!
//! What lies ahead is kept in unsorted buckets of about a millisecond, and only the bucket that has come is sorted: a heap
//! of ten million entries would miss the processor's cache at every step.
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

/// A bucket covers 2 to the power of this many microseconds.
const BUCKET_BITS: u32 = 10;

struct Entry<T> {
    at: u64,
    number: u64,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// The agenda.
pub(crate) struct Agenda<T> {
    /// Everything up to the end of the bucket that has come.
    near: BinaryHeap<Reverse<Entry<T>>>,
    near_bucket: u64,
    far: BTreeMap<u64, Vec<Reverse<Entry<T>>>>,
    noted: u64,
}

impl<T> Agenda<T> {
    pub fn new() -> Self {
        Self { near: BinaryHeap::new(), near_bucket: 0, far: BTreeMap::new(), noted: 0 }
    }

    pub fn note(&mut self, at: u64, what: T) {
        self.noted += 1;
        let entry = Reverse(Entry { at, number: self.noted, what });
        let bucket = at >> BUCKET_BITS;
        if bucket <= self.near_bucket {
            self.near.push(entry);
        } else {
            self.far.entry(bucket).or_default().push(entry);
        }
    }

    pub fn next(&mut self) -> Option<(u64, T)> {
        if self.near.is_empty() {
            let (bucket, entries) = self.far.pop_first()?;
            (self.near_bucket, self.near) = (bucket, BinaryHeap::from(entries));
        }
        self.near.pop().map(|Reverse(entry)| (entry.at, entry.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Chance;

    #[test]
    fn what_was_noted_happens_in_order_of_time_and_then_of_noting() {
        let (mut chance, mut agenda) = (Chance::new(1), Agenda::new());
        let mut now = 0;
        let mut left = 0;
        let mut last = (0, 0);
        for number in 0..5000 {
            let span = chance.log_uniform(1, 1 << 20) - 1;
            agenda.note(now + span, number);
            left += 1;
            if chance.hits(600) {
                let (at, number) = agenda.next().expect("something was noted");
                assert!(at > last.0 || at == last.0 && number > last.1, "{at} {number} after {last:?}");
                (now, last, left) = (at, (at, number), left - 1);
            }
        }
        assert_eq!(std::iter::from_fn(|| agenda.next()).count(), left);
    }
}
