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

/// A line counts as full if it was so for so many thousandths of a window: a batch ends before the next one is ready now
/// and then.
const FULL: u128 = 800;

/// Measures a line from what is safe at the other end.
#[derive(Debug)]
pub(super) struct Flow {
    speed: Speed,
    window: Option<Window>,
}

/// What was seen since a line was last told about.
#[derive(Clone, Copy, Debug)]
struct Window {
    began: Instant,
    /// What was safe when it began.
    safe_bytes: u64,
    /// When it was last looked at, and whether more waited then than all streams took.
    seen: (Instant, bool),
    /// How long more waited.
    full: Duration,
}

impl Window {
    fn new(now: Instant, safe_bytes: u64, is_full: bool) -> Self {
        Self { began: now, safe_bytes, seen: (now, is_full), full: Duration::ZERO }
    }

    fn look(&mut self, now: Instant, is_full: bool) {
        let (seen, was_full) = std::mem::replace(&mut self.seen, (now, is_full));
        if was_full {
            self.full += now.duration_since(seen);
        }
    }

    /// Bytes a second, if the line was full.
    fn speed(&self, now: Instant, safe_bytes: u64) -> Option<u64> {
        let taken = now.duration_since(self.began).as_micros().max(1);
        let bytes = u128::from(safe_bytes - self.safe_bytes);
        let speed = u64::try_from(bytes * 1_000_000 / taken).unwrap_or(u64::MAX).max(1);
        (self.full.as_micros() * 1000 >= taken * FULL).then_some(speed)
    }
}

impl Flow {
    pub(super) fn new(speed: Speed) -> Self {
        Self { speed, window: None }
    }

    /// So many bytes are safe by now; `is_full`: all streams are busy and more waits.
    pub(super) fn look(&mut self, now: Instant, safe_bytes: u64, is_full: bool) {
        let window = self.window.get_or_insert_with(|| Window::new(now, safe_bytes, is_full));
        window.look(now, is_full);
        if now.duration_since(window.began) < WINDOW {
            return;
        }
        let shown = match (window.speed(now, safe_bytes), self.speed.get()) {
            (None, _) => 0,
            (Some(speed), None) => speed,
            (Some(speed), Some(known)) => known.midpoint(speed),
        };
        self.speed.0.store(shown, Ordering::Relaxed);
        self.window = Some(Window::new(now, safe_bytes, is_full));
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
        assert_eq!(shown(&mut new(), begun, 1000, |step| step % 3 > 0), None, "it was empty a third of the time");
        assert_eq!(shown(&mut new(), begun, 1000, |step| step % 10 > 0), Some(20_000), "hardly ever empty");
        assert_eq!(shown(&mut new(), begun, 0, |_| true), Some(1), "nothing gets through: the slowest of all lines");
    }
}
