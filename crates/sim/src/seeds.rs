//! Many small worlds, on all cores.
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::report::{Report, Violation};
use crate::scenario::Scenario;
use crate::world::{self, Watch};

/// Every how many seeds a world is run twice, to compare the traces.
const TWICE_EVERY: u64 = 4;

/// What happened in many worlds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Worlds.
    pub worlds: u64,
    /// Worlds that were run twice with the same trace.
    pub repeated: u64,
    /// Events applied, each followed by a check of every invariant.
    pub events: u64,
    /// Tasks done.
    pub tasks_done: u64,
    /// Of those, tasks whose result was known.
    pub tasks_known: u64,
    /// Jobs done, failed with a reason, and cancelled.
    pub jobs: (u64, u64, u64),
    /// Attempts started.
    pub attempts: u64,
    /// Attempts failed or lost.
    pub failed: u64,
    /// Second attempts.
    pub second_attempts: u64,
    /// Results that came too late.
    pub results_late: u64,
    /// Crashes of the hub that were replayed.
    pub hub_crashes: u64,
}

impl Summary {
    fn add(&mut self, report: &Report) {
        self.worlds += 1;
        self.events += report.events;
        self.tasks_done += report.tasks_done;
        self.tasks_known += report.tasks_known;
        self.jobs.0 += report.jobs_done;
        self.jobs.1 += report.jobs_failed;
        self.jobs.2 += report.jobs_cancelled;
        self.attempts += report.attempts;
        self.failed += report.failed.iter().map(|(_, count)| count).sum::<u64>();
        self.second_attempts += report.second_attempts;
        self.results_late += report.results_late;
        self.hub_crashes += report.hub_crashes;
    }
}

/// Runs one small world with every invariant checked after every event.
pub fn small(seed: u64) -> Result<Report, Violation> {
    world::run(&Scenario::small(seed), Watch::EveryStep)
}

/// Runs `count` small worlds from the seed `from` on; stops at the first violation, the one with the least seed found.
pub fn many(from: u64, count: u64, threads: usize) -> Result<Summary, Violation> {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let summary = Mutex::new(Summary::default());
    let worst: Mutex<Option<Violation>> = Mutex::new(None);
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return;
            }
            match once_or_twice(from + at) {
                Ok((report, repeated)) => {
                    let mut summary = summary.lock().unwrap_or_else(PoisonError::into_inner);
                    summary.add(&report);
                    summary.repeated += u64::from(repeated);
                }
                Err(violation) => {
                    stop.store(true, Ordering::Relaxed);
                    let mut worst = worst.lock().unwrap_or_else(PoisonError::into_inner);
                    if worst.as_ref().is_none_or(|other| violation.seed < other.seed) {
                        *worst = Some(violation);
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    match worst.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(violation) => Err(violation),
        None => Ok(summary.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

fn once_or_twice(seed: u64) -> Result<(Report, bool), Violation> {
    let report = guarded(seed)?;
    if !seed.is_multiple_of(TWICE_EVERY) {
        return Ok((report, false));
    }
    let again = guarded(seed)?;
    if again == report {
        return Ok((report, true));
    }
    let what = format!("two runs differ: {} and {}", report.trace, again.trace);
    let replay = Scenario::small(seed).replay;
    Err(Violation { seed, step: report.events, at_ms: report.makespan_ms, what, replay })
}

/// A panic of the core is a violation like any other, and must not lose the seed.
fn guarded(seed: u64) -> Result<Report, Violation> {
    std::panic::catch_unwind(|| small(seed)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let (what, replay) = (format!("panic: {text}"), Scenario::small(seed).replay);
        Err(Violation { seed, step: 0, at_ms: 0, what, replay })
    })
}
