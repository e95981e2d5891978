//! The hub's time: the wall clock, except that it never goes back, also not across a restart, and that it stands still
//! while the disk does.
use gleaner_wire::Millis;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// After a stop the clock catches up by one part in this many, so that no lease lapses at once.
const CATCH_UP_PARTS: u32 = 10;

/// A clock that follows the wall clock forwards and goes on by itself when that is set back.
pub(crate) struct Clock {
    anchor: Millis,
    anchored: Instant,
    lag: Duration,
    lag_since: Instant,
    last: Millis,
}

impl Clock {
    /// A clock that shows at least `last`.
    pub(crate) fn starting_at(last: Millis) -> Self {
        let now = Instant::now();
        Self { anchor: last, anchored: now, lag: Duration::ZERO, lag_since: now, last }
    }

    /// The time.
    pub(crate) fn now(&mut self) -> Millis {
        let mut time = self.anchor.after(span(self.anchored.elapsed()));
        let wall = wall();
        if wall > time {
            (self.anchor, self.anchored) = (wall, Instant::now());
            time = wall;
        }
        self.last = self.last.max(time.since(span(self.lag())));
        self.last
    }

    /// Takes back a time in which nothing could be done, such as heartbeats that could not be journaled: it must not
    /// count against anyone.
    pub(crate) fn stood_still(&mut self, stop: Duration) {
        self.lag = self.lag() + stop;
        self.lag_since = Instant::now();
    }

    fn lag(&self) -> Duration {
        self.lag.saturating_sub(self.lag_since.elapsed() / CATCH_UP_PARTS)
    }
}

fn wall() -> Millis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(Millis(0), span)
}

fn span(duration: Duration) -> Millis {
    Millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_from_a_moment_that_the_wall_clock_has_not_reached() {
        let future = wall().after(Millis(1_000_000));
        let mut clock = Clock::starting_at(future);
        let first = clock.now();
        assert!(first >= future);
        assert!(clock.now() >= first);
    }

    #[test]
    fn an_old_journal_does_not_hold_time_back() {
        assert!(Clock::starting_at(Millis(5)).now() > Millis(1_600_000_000_000));
    }

    #[test]
    fn a_stop_of_the_disk_does_not_count_as_time() {
        let mut clock = Clock::starting_at(Millis(0));
        let before = clock.now();
        clock.stood_still(Duration::from_secs(3600));
        let after = clock.now();
        assert_eq!(after, before);
    }
}
