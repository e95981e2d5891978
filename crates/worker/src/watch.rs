//! When a running attempt has to stop: its time is over, the hub cancelled it, or the worker ends.
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gleaner_wire::AttemptId;

/// How often something that waits looks up.
pub const LOOK_UP: Duration = Duration::from_millis(10);

/// Who does not want an attempt any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Hub,
    Owner,
    /// Somebody who pays more.
    Market,
}

/// The attempts that are not wanted any more. Asking costs nothing while there are none.
#[derive(Debug, Default)]
pub struct Cancels {
    all: AtomicBool,
    count: AtomicUsize,
    attempts: Mutex<HashMap<AttemptId, By>>,
}

impl Cancels {
    /// From now on this attempt is cancelled.
    pub fn cancel(&self, attempt: AttemptId) {
        self.change(|attempts| {
            attempts.insert(attempt, By::Hub);
        });
    }

    /// From now on this attempt has to stop, because the owner needs the device.
    pub fn recall(&self, attempt: AttemptId) {
        self.change(|attempts| {
            attempts.entry(attempt).or_insert(By::Owner);
        });
    }

    /// From now on this attempt has to stop, because somebody pays more for its place.
    pub fn outbid(&self, attempt: AttemptId) {
        self.change(|attempts| {
            attempts.entry(attempt).or_insert(By::Market);
        });
    }

    /// Whether the attempt has to stop and may save how far it is: its owner needs the device, or somebody pays more.
    pub fn is_recalled(&self, attempt: AttemptId) -> bool {
        matches!(self.by(attempt), Some(By::Owner | By::Market))
    }

    /// Whether the attempt has to stop because the owner needs the device.
    pub fn is_for_owner(&self, attempt: AttemptId) -> bool {
        self.by(attempt) == Some(By::Owner)
    }

    fn by(&self, attempt: AttemptId) -> Option<By> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).get(&attempt).copied()
    }

    /// From now on every attempt is cancelled, because the worker ends.
    pub fn cancel_all(&self) {
        self.all.store(true, Ordering::Release);
    }

    /// The attempt has ended.
    pub fn forget(&self, attempt: AttemptId) {
        if self.count.load(Ordering::Acquire) > 0 {
            self.change(|attempts| {
                attempts.remove(&attempt);
            });
        }
    }

    /// Whether the attempt is cancelled.
    pub fn has(&self, attempt: AttemptId) -> bool {
        self.all.load(Ordering::Acquire)
            || self.count.load(Ordering::Acquire) > 0
                && self.attempts.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&attempt)
    }

    fn change(&self, change: impl FnOnce(&mut HashMap<AttemptId, By>)) {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut attempts);
        self.count.store(attempts.len(), Ordering::Release);
    }
}

/// Why a running attempt has to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// Its time is over.
    TimeLimit,
    /// It is not wanted any more.
    Cancelled,
}

/// The eye on one running attempt.
#[derive(Clone, Debug)]
pub struct Watch {
    attempt: AttemptId,
    deadline: Option<Instant>,
    cancels: Arc<Cancels>,
}

impl Watch {
    /// Starts to watch an attempt that may run for this long from now.
    pub fn start(attempt: AttemptId, time: Duration, cancels: Arc<Cancels>) -> Self {
        Self { attempt, deadline: Instant::now().checked_add(time), cancels }
    }

    /// The attempt.
    pub fn attempt(&self) -> AttemptId {
        self.attempt
    }

    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Whether to go on.
    pub fn check(&self) -> Result<(), Interruption> {
        if self.cancels.has(self.attempt) {
            return Err(Interruption::Cancelled);
        }
        if self.left().is_zero() { Err(Interruption::TimeLimit) } else { Ok(()) }
    }

    /// Whether it is not wanted any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancels.has(self.attempt)
    }

    /// Waits for a span, or until it has to stop.
    pub fn sleep(&self, span: Duration) -> Result<(), Interruption> {
        let end = Instant::now().checked_add(span);
        loop {
            self.check()?;
            let rest = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if rest.is_zero() {
                return Ok(());
            }
            std::thread::sleep(rest.min(self.left()).min(LOOK_UP));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_attempt_stops_and_others_go_on() {
        let cancels = Arc::new(Cancels::default());
        let minute = Duration::from_secs(60);
        let (first, second) = (AttemptId(1), AttemptId(2));
        let watches = [first, second].map(|attempt| Watch::start(attempt, minute, cancels.clone()));
        cancels.cancel(first);
        assert_eq!(watches[0].sleep(minute), Err(Interruption::Cancelled));
        assert_eq!(watches[1].check(), Ok(()));
        cancels.forget(first);
        assert_eq!(watches[0].check(), Ok(()));
        cancels.cancel_all();
        assert_eq!(watches[1].check(), Err(Interruption::Cancelled));
    }

    #[test]
    fn who_is_outbid_may_save_and_is_not_needed_by_the_owner() {
        let cancels = Cancels::default();
        let [outbid, owners, cancelled] = [1, 2, 3].map(AttemptId);
        cancels.outbid(outbid);
        cancels.recall(owners);
        cancels.cancel(cancelled);
        assert!([outbid, owners, cancelled].iter().all(|attempt| cancels.has(*attempt)));
        assert_eq!([outbid, owners, cancelled].map(|attempt| cancels.is_recalled(attempt)), [true, true, false]);
        assert_eq!([outbid, owners, cancelled].map(|attempt| cancels.is_for_owner(attempt)), [false, true, false]);
    }

    #[test]
    fn time_runs_out_within_a_sleep() {
        let watch = Watch::start(AttemptId(1), Duration::from_millis(1), Arc::default());
        assert_eq!(watch.sleep(Duration::from_secs(60)), Err(Interruption::TimeLimit));
    }
}
