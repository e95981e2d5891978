//! What happened in a world, in numbers.
use gleaner_wire::{Amount, Cause, Hash};
use serde::Serialize;

/// What happened in a world. Everything in it follows from the seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// Workers.
    pub workers: u64,
    /// Tasks done.
    pub tasks_done: u64,
    /// Of those, tasks whose result was known.
    pub tasks_known: u64,
    /// Jobs that ended with all tasks done.
    pub jobs_done: u64,
    /// Jobs that failed.
    pub jobs_failed: u64,
    /// Jobs that were cancelled.
    pub jobs_cancelled: u64,
    /// Virtual time from the first submission to the end of the last job.
    pub makespan_ms: u64,
    /// The sum of the jobs' times from submission to end.
    pub turnaround_ms: u64,
    /// Attempts started.
    pub attempts: u64,
    /// Attempts failed or lost, by cause.
    pub failed: Vec<(Cause, u64)>,
    /// Second attempts beside slow ones.
    pub second_attempts: u64,
    /// Results that came for attempts that did not run any more.
    pub results_late: u64,
    /// Crashes of the hub that were replayed.
    pub hub_crashes: u64,
    /// Device time used, in virtual milliseconds.
    pub device_ms: u64,
    /// Device time that delivered nothing, per mille of that.
    pub wasted_per_mille: u64,
    /// What requesters paid.
    pub spent: Amount,
    /// Data that workers fetched.
    pub bytes_moved: u64,
    /// Events that the core applied.
    pub events: u64,
    /// The hash of all events and effects.
    pub trace: Hash,
}

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("seed {seed}, step {step}, at {at_ms} ms: {what}\nreplay it with: {replay}")]
pub struct Violation {
    /// The seed of the world.
    pub seed: u64,
    /// The event at which it was found.
    pub step: u64,
    /// The virtual time.
    pub at_ms: u64,
    /// What does not hold.
    pub what: String,
    /// The command that shows it again.
    pub replay: String,
}
