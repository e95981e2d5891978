//! The numbers that decisions rest on, in one place.
use gleaner_wire::{Amount, Micros, Millis, Runtime};
use serde::{Deserialize, Serialize};

use crate::proof::Policy;

/// What an operator may tune. The defaults are what the simulator and the benchmarks run with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Params {
    /// How long an attempt is leased without a heartbeat.
    pub lease_ms: Millis,
    /// How often a worker is to send a heartbeat.
    pub heartbeat_ms: Millis,
    /// The platform's share of every payment, in hundredths of a percent.
    pub platform_share_points: u32,
    /// A worker is given work ahead for this long, so that it never waits for the network.
    pub horizon: Micros,
    /// The most attempts on one device at a time.
    pub in_flight_max: u32,
    /// How many known results are kept for reuse.
    pub memo_entries_max: u32,
    /// Results that took less than this are not kept: running them again is cheaper than remembering them.
    pub memo_micros_min: Micros,
    /// Different workers that must fail a task with the program's own fault before the job ends.
    pub fault_workers: u32,
    /// Failures of one task, whatever their cause, before the job ends.
    pub failures_per_task_max: u32,
    /// Trouble points that put a worker on probation; see `pool`.
    pub trouble_max: u32,
    /// The first delay before a worker on probation is tested; each further one is four times as long.
    pub probation_ms: Millis,
    /// Time a worker has beyond an attempt's limit to report it.
    pub grace_ms: Millis,
    /// The price cap of a job that names none.
    pub price_max_default: Amount,
    /// Inputs of a group that are smaller than this in all are not thought about when it is placed.
    pub data_bytes_min: u64,
    /// Whether placement prefers seats that hold a task's data; without it, moving counts for clocks only.
    pub data_aware: bool,
    /// How many bytes a second reach a worker whose line is not known yet.
    pub line_bytes_per_second: u64,
    /// Whether a job runs only once its order is locked on a chain.
    pub orders: bool,
    /// Whether a worker is tested before it gets work. Without it, scores are what workers say.
    pub screening: bool,
    /// The least score that passes a test, for each runtime.
    pub score_min: [u32; Runtime::ALL.len()],
    /// Whether results are checked before they are paid.
    pub checks: bool,
    /// How often, and how answers that differ are decided.
    pub audits: Policy,
    /// The stake that must stand behind every worker, where money is on a chain.
    pub stake_min: Amount,
    /// What an order locks of the stake of each provider that works for it: the most that a verdict can reach.
    pub work_lock: Amount,
    /// What a verdict takes of a lock, in hundredths of a percent.
    pub slash_points: u32,
    /// How long an auction takes sealed bids.
    pub bid_ms: Millis,
    /// How long it then waits for them to be opened.
    pub reveal_ms: Millis,
    /// The most devices that are invited to one auction.
    pub invited_max: u32,
    /// How much of what is paid in races may be wasted, in hundredths of a percent.
    pub waste_share_points: u32,
    /// How long an attempt that is outbid has to save how far it is and hand itself back.
    pub notice_ms: Millis,
    /// How long what can be outbid lets all others go first.
    pub soft_wait_ms: Millis,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            lease_ms: Millis(30_000),
            heartbeat_ms: Millis(10_000),
            platform_share_points: 1500,
            horizon: Micros(200_000),
            in_flight_max: 1024,
            memo_entries_max: 262_144,
            memo_micros_min: Micros(1000),
            fault_workers: 3,
            failures_per_task_max: 200,
            trouble_max: 6,
            probation_ms: Millis(30_000),
            grace_ms: Millis(15_000),
            price_max_default: Amount::gln(1),
            data_bytes_min: 4_000_000,
            data_aware: true,
            line_bytes_per_second: 12_500_000,
            orders: false,
            screening: false,
            score_min: [10, 1, 1, 1],
            checks: false,
            audits: Policy::default(),
            stake_min: Amount::ZERO,
            work_lock: Amount::ZERO,
            slash_points: 0,
            bid_ms: Millis(300),
            reveal_ms: Millis(300),
            invited_max: 128,
            waste_share_points: 1000,
            notice_ms: Millis(10_000),
            soft_wait_ms: Millis(10 * 60_000),
        }
    }
}
