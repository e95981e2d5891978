//! Results on their way to the hub, gathered into batches: sent at once when nothing more is coming, and within
//! two milliseconds otherwise.
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gleaner_wire::{AttemptId, Finished, MESSAGE_BYTES_MAX, Outcome, Output};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Results that are worth a message of their own.
pub const BATCH_RESULTS: usize = 512;
const LINGER: Duration = Duration::from_millis(2);
const BATCH_BYTES_MAX: usize = MESSAGE_BYTES_MAX / 2;
/// More than any result without its text takes on the wire.
const RESULT_BYTES: usize = 100;

/// The results that wait. Their number is bounded by the attempts that a worker holds.
#[derive(Debug, Default)]
pub struct Outbox {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    results: Vec<Finished>,
    /// The last checkpoint of attempts, which goes before any result.
    saved: HashMap<AttemptId, Output>,
    since: Option<Instant>,
    urgent: bool,
}

impl Outbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a result; `last` says that no other will follow soon.
    pub fn push(&self, result: Finished, last: bool) {
        let mut waiting = self.waiting();
        waiting.results.push(result);
        waiting.since.get_or_insert_with(Instant::now);
        waiting.urgent |= last || waiting.results.len() >= BATCH_RESULTS;
        let wake = waiting.urgent || waiting.results.len() == 1;
        drop(waiting);
        if wake {
            self.changed.notify_one();
        }
    }

    /// Adds what an attempt has saved; an earlier one of it is not worth sending any more.
    pub fn save(&self, attempt: AttemptId, checkpoint: Output) {
        self.waiting().saved.insert(attempt, checkpoint);
        self.changed.notify_one();
    }

    /// Takes what attempts have saved.
    pub fn take_saved(&self) -> HashMap<AttemptId, Output> {
        std::mem::take(&mut self.waiting().saved)
    }

    /// Takes what there is, without waiting.
    pub fn take_now(&self) -> Vec<Finished> {
        let mut waiting = self.waiting();
        waiting.urgent = false;
        waiting.since = None;
        std::mem::take(&mut waiting.results)
    }

    /// Waits until there are results or checkpoints worth sending and takes the results; checkpoints are to be taken
    /// and sent before them.
    pub async fn take(&self) -> Vec<Finished> {
        loop {
            let since = {
                let mut waiting = self.waiting();
                if waiting.urgent
                    || !waiting.saved.is_empty()
                    || waiting.since.is_some_and(|since| since.elapsed() >= LINGER)
                {
                    waiting.urgent = false;
                    waiting.since = None;
                    return std::mem::take(&mut waiting.results);
                }
                waiting.since
            };
            match since {
                Some(since) => drop(tokio::time::timeout_at(since + LINGER, self.changed.notified()).await),
                None => self.changed.notified().await,
            }
        }
    }
}

/// Splits results into batches that fit into messages.
pub fn batches(results: Vec<Finished>) -> Vec<Vec<Finished>> {
    let mut batches = vec![Vec::new()];
    let mut bytes = 0;
    for result in results {
        let size = RESULT_BYTES + detail_bytes(&result.outcome);
        let full = bytes + size > BATCH_BYTES_MAX || batches.last().is_some_and(|last| last.len() >= BATCH_RESULTS);
        if full {
            batches.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        batches.last_mut().expect("it starts with one batch").push(result);
    }
    batches.retain(|batch| !batch.is_empty());
    batches
}

fn detail_bytes(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Failed { detail, .. } => detail.len(),
        Outcome::Done(_) | Outcome::Cancelled => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::{AttemptId, Cause, DETAIL_BYTES_MAX, JobId, Micros, Signed, TaskId, ToHub, encode};

    fn failed(number: u64) -> Finished {
        let outcome = Outcome::Failed { cause: Cause::ProgramFault, detail: "x".repeat(DETAIL_BYTES_MAX) };
        Finished { attempt: AttemptId(number), ran: Micros(u64::MAX), outcome }
    }

    #[test]
    fn every_batch_fits_into_a_message() {
        let results: Vec<_> = (0..2048).map(failed).collect();
        let batches = batches(results.clone());
        assert_eq!(batches.concat(), results);
        for results in batches {
            let tasks = vec![TaskId { job: JobId(u64::MAX), group: u16::MAX, index: u32::MAX }; results.len()];
            let signed = Signed { tasks, signature: vec![0xff; 64] };
            assert!(encode(&ToHub::Finished { batch: u64::MAX, results, signed }).len() < MESSAGE_BYTES_MAX);
        }
    }

    #[tokio::test]
    async fn results_wait_for_company_but_not_for_long() {
        let outbox = Outbox::default();
        outbox.push(failed(1), false);
        outbox.push(failed(2), false);
        assert_eq!(outbox.take().await.len(), 2);
        outbox.push(failed(3), true);
        assert_eq!(outbox.take().await.len(), 1);
    }
}
