//! The hub's time: the wall clock's when it starts, then the time that has passed here. It never goes back, also not
//! across a restart, and it stands still while the disk does.
use gleaner_wire::Millis;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// After a stop the clock catches up by one part in this many, so that no lease lapses at once.
const CATCH_UP_PARTS: u32 = 10;

/// A clock that nobody sets while it runs: a jump of the wall clock would let every lease lapse at once.
pub(crate) struct Clock {
    anchor: Millis,
    anchored: Instant,
    lag: Duration,
    lag_since: Instant,
    last: Millis,
}

impl Clock {
    /// A clock that starts with the wall clock, and at least at `last`.
    pub(crate) fn starting_at(last: Millis) -> Self {
        Self::starting_by(last, wall())
    }

    fn starting_by(last: Millis, wall: Millis) -> Self {
        let (anchor, now) = (last.max(wall), Instant::now());
        Self { anchor, anchored: now, lag: Duration::ZERO, lag_since: now, last: anchor }
    }

    /// The time.
    pub(crate) fn now(&mut self) -> Millis {
        let time = self.anchor.after(span(self.anchored.elapsed()));
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

/// The wall clock, in milliseconds since 1970; for what people read and what is kept for days.
pub(crate) fn wall_ms() -> u64 {
    wall().0
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
    fn a_wall_clock_that_is_set_forwards_takes_no_time_from_anyone() {
        // The wall clock of this machine is decades ahead of the one that this clock started by.
        let start = Millis(1_000_000);
        let mut clock = Clock::starting_by(Millis(5), start);
        let year = Millis(365 * 24 * 3_600_000);
        assert!((start..start.after(year)).contains(&clock.now()));
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
