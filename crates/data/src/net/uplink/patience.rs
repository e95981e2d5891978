//! When to try again, and when to give up.
use crate::net::Error;
use std::time::{Duration, Instant};

/// How long nothing may get through before it is given up.
pub const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE_FIRST: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(4);

/// Pauses that double with each failure in a row.
#[derive(Debug)]
pub(in crate::net) struct Patience {
    limit: Duration,
    /// Since when nothing has got through.
    since: Option<Instant>,
    last: Option<Instant>,
    pause: Duration,
    until: Option<Instant>,
}

impl Patience {
    pub(in crate::net) fn new(limit: Duration) -> Self {
        Self { limit, since: None, last: None, pause: Duration::ZERO, until: None }
    }

    /// Something got through.
    pub(in crate::net) fn got_through(&mut self) {
        (self.since, self.pause, self.until) = (None, Duration::ZERO, None);
    }

    /// What was begun at this moment has failed. Gives the error back if it is not worth another try.
    pub(in crate::net) fn failed(&mut self, began: Instant, error: Error) -> Result<(), Error> {
        if error.is_fault() || matches!(error, Error::Stopped | Error::Store(_) | Error::Grant(_)) {
            return Err(error);
        }
        // Whatever was under way when a line was lost fails together, and counts once.
        if self.last.is_some_and(|last| began < last) {
            return Ok(());
        }
        let now = Instant::now();
        if now.duration_since(*self.since.get_or_insert(now)) >= self.limit {
            return Err(error);
        }
        tracing::debug!(%error, "trying again to bring chunks");
        self.pause = (self.pause * 2).clamp(PAUSE_FIRST, PAUSE_MAX);
        (self.last, self.until) = (Some(now), Some(now + self.pause));
        Ok(())
    }

    /// Until when nothing is to be tried, if it is not to be tried now.
    pub(in crate::net) fn paused_until(&self) -> Option<Instant> {
        self.until.filter(|until| Instant::now() < *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost() -> Error {
        Error::Lost { peer: "somebody".to_owned(), why: "no answer".to_owned() }
    }

    #[test]
    fn streams_that_are_lost_together_count_once_and_pauses_double() {
        let mut patience = Patience::new(Duration::from_secs(9));
        let began = Instant::now();
        assert!((0..5).all(|_| patience.failed(began, lost()).is_ok()));
        assert_eq!(patience.pause, PAUSE_FIRST);
        assert!(patience.paused_until().is_some());
        patience.failed(Instant::now(), lost()).expect("tried again");
        assert_eq!(patience.pause, PAUSE_FIRST * 2);
        patience.got_through();
        assert!(patience.paused_until().is_none());
    }

    #[test]
    fn what_nobody_does_by_accident_is_not_tried_again_and_nothing_for_ever() {
        let mut patience = Patience::new(Duration::ZERO);
        assert!(Patience::new(PATIENCE).failed(Instant::now(), Error::Malformed("a question")).is_err());
        assert!(patience.failed(Instant::now(), lost()).is_err());
    }
}
