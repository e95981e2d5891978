//! Two clocks: processor time, which neighbours hardly change, and the wall's, which counts the disk too.
use rustix::time::{ClockId, clock_gettime};
use std::ops::Add;
use std::time::{Duration, Instant};

/// How long something took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Processor time of this process, all threads together.
    pub cpu: Duration,
    /// By the clock on the wall.
    pub wall: Duration,
}

impl Timing {
    /// How many of these are done in a second of one core.
    pub fn per_cpu_second(&self, count: u64) -> f64 {
        count as f64 / self.cpu.as_secs_f64()
    }

    /// How many of these are done in a second.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.wall.as_secs_f64()
    }
}

impl Add for Timing {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { cpu: self.cpu + other.cpu, wall: self.wall + other.wall }
    }
}

/// Both clocks, started together.
pub(super) struct Stopwatch {
    cpu: Duration,
    wall: Instant,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self { cpu: process_time(), wall: Instant::now() }
    }

    pub(super) fn stop(&self) -> Timing {
        Timing { cpu: process_time().saturating_sub(self.cpu), wall: self.wall.elapsed() }
    }
}

fn process_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
