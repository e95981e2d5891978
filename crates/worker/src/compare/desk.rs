//! Where results are compared that need no device: one pair at a time, beside whatever the devices do.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gleaner_wire::check::Compared;
use gleaner_wire::{AttemptId, Cause, Finished, Micros, Outcome};
use tokio::sync::Semaphore;

use super::{Pair, Trouble};
use crate::deliver::needed_by_owner;
use crate::failure::Failure;
use crate::watch::{Cancels, Watch};

/// The desk of a worker.
pub struct Desk {
    cancels: Arc<Cancels>,
    /// Two pictures take much memory, and one pair at a time keeps up with what is audited.
    turns: Semaphore,
    /// What is compared or waits for it, and for which device the hub asked.
    attempts: Mutex<Vec<(AttemptId, u16)>>,
}

impl Desk {
    /// A desk where these are cancelled.
    pub fn new(cancels: Arc<Cancels>) -> Self {
        Self { cancels, turns: Semaphore::new(1), attempts: Mutex::default() }
    }

    fn attempts(&self) -> MutexGuard<'_, Vec<(AttemptId, u16)>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The owner needs a device: what is compared in its stead stops too.
    pub fn rest(&self, device: u16) {
        let attempts = self.attempts();
        let here = attempts.iter().filter(|(_, of)| *of == device);
        here.for_each(|(attempt, _)| self.cancels.recall(*attempt));
    }

    /// Compares a pair, for no longer than this.
    pub async fn compare(&self, attempt: AttemptId, device: u16, time: Duration, pair: Pair) -> Finished {
        self.attempts().push((attempt, device));
        let finished = self.compare_in_turn(attempt, time, pair).await;
        self.attempts().retain(|(other, _)| *other != attempt);
        finished
    }

    async fn compare_in_turn(&self, attempt: AttemptId, time: Duration, pair: Pair) -> Finished {
        let _turn = self.turns.acquire().await.expect("nothing closes it");
        let (begun, cancels) = (Instant::now(), self.cancels.clone());
        let compared = tokio::task::spawn_blocking(move || pair.compare(&Watch::start(attempt, time, cancels))).await;
        let ran = Micros(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
        let broke = |_| failed(Failure::new(Cause::DeviceFault, "the worker itself failed on this comparison"));
        let outcome = compared.map_or_else(broke, |compared| self.outcome(attempt, compared));
        Finished { attempt, ran, outcome }
    }

    fn outcome(&self, attempt: AttemptId, compared: Result<Compared, Trouble>) -> Outcome {
        match compared {
            Ok(compared) => Outcome::Done(compared.to_output()),
            Err(trouble) => match trouble.failure() {
                Some(failure) => failed(failure),
                None if self.cancels.is_recalled(attempt) => failed(needed_by_owner()),
                None => Outcome::Cancelled,
            },
        }
    }
}

fn failed(failure: Failure) -> Outcome {
    Outcome::Failed { cause: failure.cause, detail: failure.detail }
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;
    use gleaner_wire::check::Check;

    fn pair() -> Pair {
        Pair { results: [file(b"1"), file(b"1")], check: Check::Exact, tile: None, is_raw: false }
    }

    #[tokio::test]
    async fn what_is_compared_for_a_device_stops_when_its_owner_needs_it() {
        let desk = Arc::new(Desk::new(Arc::default()));
        let minute = Duration::from_secs(60);
        let turn = desk.turns.acquire().await.expect("it is open");
        let waiting = [(1, 0), (2, 1)].map(|(attempt, device)| {
            let desk = desk.clone();
            tokio::spawn(async move { desk.compare(AttemptId(attempt), device, minute, pair()).await })
        });
        while desk.attempts().len() < 2 {
            tokio::task::yield_now().await;
        }
        desk.rest(0);
        drop(turn);
        let [recalled, other] = waiting;
        let recalled = recalled.await.expect("ends").outcome;
        assert!(matches!(recalled, Outcome::Failed { cause: Cause::RefusedByOwner, .. }), "{recalled:?}");
        assert_eq!(other.await.expect("ends").outcome, Outcome::Done(Compared::SAME.to_output()));
        assert!(desk.attempts().is_empty());
    }
}
