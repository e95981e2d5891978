//! How fast a line is, as far as it can be known: only while more waits than it takes.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a line is looked at before its speed is told.
const WINDOW: Duration = Duration::from_millis(200);

/// Bytes a second, for whoever brings chunks; zero while nothing waits. Clones show the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Speed(Arc<AtomicU64>);

impl Speed {
    pub(super) fn get(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|speed| *speed > 0)
    }
}

/// Measures a line from what is safe at the other end.
#[derive(Debug)]
pub(super) struct Flow {
    speed: Speed,
    /// When the window began, what was safe then, and whether something has waited all the time since.
    window: Option<(Instant, u64, bool)>,
}

impl Flow {
    pub(super) fn new(speed: Speed) -> Self {
        Self { speed, window: None }
    }

    /// So many bytes are safe by now; `is_full`: all streams are busy and more waits.
    pub(super) fn look(&mut self, now: Instant, safe_bytes: u64, is_full: bool) {
        let (since, before, was_full) = self.window.unwrap_or((now, safe_bytes, is_full));
        let taken = now.duration_since(since);
        if taken < WINDOW {
            self.window = Some((since, before, was_full && is_full));
            return;
        }
        let micros = u64::try_from(taken.as_micros()).unwrap_or(u64::MAX).max(1);
        let speed = ((safe_bytes - before).saturating_mul(1_000_000) / micros).max(1);
        let shown = match (was_full, self.speed.get()) {
            (false, _) => 0,
            (true, None) => speed,
            (true, Some(known)) => (known + speed) / 2,
        };
        self.speed.0.store(shown, Ordering::Relaxed);
        self.window = Some((now, safe_bytes, is_full));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks every 50 ms for a second, while so many bytes get through each time.
    fn shown(flow: &mut Flow, begun: Instant, bytes: u64, is_full: impl Fn(u64) -> bool) -> Option<u64> {
        for step in 0..=20 {
            flow.look(begun + Duration::from_millis(50 * step), step * bytes, is_full(step));
        }
        flow.speed.get()
    }

    #[test]
    fn a_line_that_is_full_shows_its_speed_and_one_that_waits_shows_none() {
        let begun = Instant::now();
        let new = || Flow::new(Speed::default());
        assert_eq!(shown(&mut new(), begun, 1000, |_| true), Some(20_000));
        assert_eq!(shown(&mut new(), begun, 1000, |_| false), None);
        assert_eq!(shown(&mut new(), begun, 1000, |step| step % 3 > 0), None, "it was empty now and then");
        assert_eq!(shown(&mut new(), begun, 0, |_| true), Some(1), "nothing gets through: the slowest of all lines");
    }
}
