//! The attempts that a worker holds, from their start until the hub has their results on disk.
use std::collections::{HashMap, VecDeque};

use gleaner_wire::receipt::is_claim;
use gleaner_wire::{ATTEMPTS_HELD_MAX, AttemptId, Finished, StartAttempt, TaskId};

/// The attempts of a worker and the results that the hub has not acknowledged.
#[derive(Debug, Default)]
pub struct Holdings {
    /// With the task of each, unless it compares results of others and so claims nothing of the task.
    held: HashMap<AttemptId, Option<TaskId>>,
    unacknowledged: VecDeque<(u64, Vec<Finished>)>,
    last_batch: u64,
}

impl Holdings {
    /// Takes the attempts of a message, all or none, and gives back those that were not held already. `None` if
    /// they are more than can be held.
    pub fn take(&mut self, mut starts: Vec<StartAttempt>) -> Option<Vec<StartAttempt>> {
        starts.retain(|start| {
            let task = TaskId { job: start.job, group: start.group, index: start.index };
            self.held.insert(start.attempt, start.compare.is_none().then_some(task)).is_none()
        });
        if self.held.len() <= ATTEMPTS_HELD_MAX {
            return Some(starts);
        }
        for start in starts {
            self.held.remove(&start.attempt);
        }
        None
    }

    /// Whether the attempt is held.
    pub fn has(&self, attempt: AttemptId) -> bool {
        self.held.contains_key(&attempt)
    }

    /// Every attempt held, for a heartbeat.
    pub fn list(&self) -> Vec<AttemptId> {
        self.held.keys().copied().collect()
    }

    /// The tasks of those results that claim something, in order. What is not held claims nothing that a hub would hear.
    pub fn tasks(&self, results: &[Finished]) -> Vec<TaskId> {
        let unknown = TaskId { job: gleaner_wire::JobId(0), group: 0, index: 0 };
        let claiming = results.iter().filter(|result| is_claim(&result.outcome));
        claiming.map(|result| self.held.get(&result.attempt).copied().flatten().unwrap_or(unknown)).collect()
    }

    /// Numbers a batch of results and keeps it until it is acknowledged.
    pub fn finish(&mut self, results: Vec<Finished>) -> u64 {
        self.last_batch += 1;
        self.unacknowledged.push_back((self.last_batch, results));
        self.last_batch
    }

    /// The hub has everything up to this batch. Gives back the attempts that are not held any more.
    pub fn acknowledge(&mut self, batch: u64) -> Vec<AttemptId> {
        let mut released = Vec::new();
        while self.unacknowledged.front().is_some_and(|(number, _)| *number <= batch) {
            let (_, results) = self.unacknowledged.pop_front().expect("there is a first");
            for result in results {
                self.held.remove(&result.attempt);
                released.push(result.attempt);
            }
        }
        released
    }

    /// The batches to send again after a reconnection.
    pub fn unacknowledged(&self) -> Vec<(u64, Vec<Finished>)> {
        self.unacknowledged.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::{JobId, Micros, Millis, Outcome};

    fn starts(attempts: impl IntoIterator<Item = u64>) -> Vec<StartAttempt> {
        let (job, group, index, device, time_ms) = (JobId(1), 0, 0, 0, Millis(1));
        let (outputs, checkpoint) = (Vec::new(), None);
        let start = |attempt| StartAttempt {
            attempt,
            job,
            group,
            index,
            device,
            time_ms,
            outputs: outputs.clone(),
            checkpoint,
            compare: None,
        };
        attempts.into_iter().map(AttemptId).map(start).collect()
    }

    fn ended(attempt: u64) -> Finished {
        Finished { attempt: AttemptId(attempt), ran: Micros(1), outcome: Outcome::Cancelled }
    }

    #[test]
    fn results_stay_until_they_are_acknowledged() {
        let mut holdings = Holdings::default();
        assert_eq!(holdings.take(starts(1..=3)), Some(starts(1..=3)));
        let first = holdings.finish(vec![ended(1), ended(2)]);
        let second = holdings.finish(vec![ended(3)]);
        assert_eq!(holdings.acknowledge(first), [AttemptId(1), AttemptId(2)]);
        assert!(!holdings.has(AttemptId(1)) && holdings.has(AttemptId(3)));
        assert_eq!(holdings.unacknowledged(), [(second, vec![ended(3)])]);
        assert_eq!(holdings.acknowledge(u64::MAX), [AttemptId(3)]);
        assert!(holdings.list().is_empty());
    }

    #[test]
    fn a_repeated_start_is_noticed() {
        let mut holdings = Holdings::default();
        assert_eq!(holdings.take(starts([1, 2, 1])), Some(starts([1, 2])));
        assert_eq!(holdings.take(starts([3, 2])), Some(starts([3])));
    }

    #[test]
    fn a_message_with_more_than_fits_leaves_holdings_as_they_were() {
        let mut holdings = Holdings::default();
        let all = ATTEMPTS_HELD_MAX as u64;
        assert!(holdings.take(starts(1..all)).is_some());
        assert_eq!(holdings.take(starts([all, 1, all + 1])), None);
        assert_eq!(holdings.list().len(), ATTEMPTS_HELD_MAX - 1);
        assert!(holdings.has(AttemptId(1)) && !holdings.has(AttemptId(all)));
        assert_eq!(holdings.take(starts([all, 1, all])), Some(starts([all])));
    }
}
