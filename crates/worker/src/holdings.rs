//! The attempts that a worker holds, from their start until the hub has their results on disk.
use std::collections::{HashSet, VecDeque};

use gleaner_wire::{ATTEMPTS_HELD_MAX, AttemptId, Finished};

/// The attempts of a worker and the results that the hub has not acknowledged.
#[derive(Debug, Default)]
pub struct Holdings {
    held: HashSet<AttemptId>,
    unacknowledged: VecDeque<(u64, Vec<Finished>)>,
    last_batch: u64,
}

/// What becomes of an attempt that a hub wants started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is held from now on.
    New,
    /// It was held already; the start is a repetition.
    Already,
    /// No more can be held.
    Full,
}

impl Holdings {
    /// Takes an attempt.
    pub fn take(&mut self, attempt: AttemptId) -> Taken {
        if self.held.contains(&attempt) {
            return Taken::Already;
        }
        if self.held.len() >= ATTEMPTS_HELD_MAX {
            return Taken::Full;
        }
        self.held.insert(attempt);
        Taken::New
    }

    /// Whether the attempt is held.
    pub fn has(&self, attempt: AttemptId) -> bool {
        self.held.contains(&attempt)
    }

    /// Every attempt held, for a heartbeat.
    pub fn list(&self) -> Vec<AttemptId> {
        self.held.iter().copied().collect()
    }

    /// Numbers a batch of results and keeps it until it is acknowledged.
    pub fn finish(&mut self, results: Vec<Finished>) -> u64 {
        self.last_batch += 1;
        self.unacknowledged.push_back((self.last_batch, results));
        self.last_batch
    }

    /// The hub has everything up to this batch.
    pub fn acknowledge(&mut self, batch: u64) {
        while self.unacknowledged.front().is_some_and(|(number, _)| *number <= batch) {
            let (_, results) = self.unacknowledged.pop_front().expect("there is a first");
            for result in results {
                self.held.remove(&result.attempt);
            }
        }
    }

    /// The batches to send again after a reconnection.
    pub fn unacknowledged(&self) -> Vec<(u64, Vec<Finished>)> {
        self.unacknowledged.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::{Micros, Outcome};

    fn ended(attempt: u64) -> Finished {
        Finished { attempt: AttemptId(attempt), ran: Micros(1), outcome: Outcome::Cancelled }
    }

    #[test]
    fn results_stay_until_they_are_acknowledged() {
        let mut holdings = Holdings::default();
        for attempt in 1..=3 {
            assert_eq!(holdings.take(AttemptId(attempt)), Taken::New);
        }
        let first = holdings.finish(vec![ended(1), ended(2)]);
        let second = holdings.finish(vec![ended(3)]);
        holdings.acknowledge(first);
        assert!(!holdings.has(AttemptId(1)) && holdings.has(AttemptId(3)));
        assert_eq!(holdings.unacknowledged(), [(second, vec![ended(3)])]);
        holdings.acknowledge(u64::MAX);
        assert!(holdings.list().is_empty());
    }

    #[test]
    fn a_repeated_start_is_noticed_and_holdings_are_bounded() {
        let mut holdings = Holdings::default();
        for attempt in 0..ATTEMPTS_HELD_MAX as u64 {
            assert_eq!(holdings.take(AttemptId(attempt)), Taken::New);
        }
        assert_eq!(holdings.take(AttemptId(0)), Taken::Already);
        assert_eq!(holdings.take(AttemptId(u64::MAX)), Taken::Full);
    }
}
