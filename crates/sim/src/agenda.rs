//! What will happen and when, in virtual microseconds. Among equals, what was noted first comes first.
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

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
    heap: BinaryHeap<Reverse<Entry<T>>>,
    noted: u64,
}

impl<T> Agenda<T> {
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), noted: 0 }
    }

    pub fn note(&mut self, at: u64, what: T) {
        self.noted += 1;
        self.heap.push(Reverse(Entry { at, number: self.noted, what }));
    }

    pub fn next(&mut self) -> Option<(u64, T)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.what))
    }
}
