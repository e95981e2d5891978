//! A seeded world around the core: slow, lossy, crashing and lying workers in virtual time, a million of them if need be.
//!
//! The core is the real one, used through its public interface only. Nothing here reads a clock or draws true chance: a seed
//! gives the same world, the same events and the same trace hash every time.

mod agenda;
mod award_books;
mod bidding;
mod books;
mod cache;
mod chain;
mod chain_side;
mod chance;
mod compare;
mod data_plan;
mod faults;
mod fetching;
mod hub;
mod hub_side;
mod job_plan;
pub mod market;
mod market_plan;
mod order_books;
#[cfg(test)]
mod order_properties;
mod prices;
pub mod proof;
#[cfg(test)]
mod properties;
mod quotes;
mod report;
mod scenario;
mod seeds;
mod strike;
mod test_books;
mod testing;
mod trace;
mod worker;
mod worker_side;
mod world;

pub use compare::{Comparison, DataComparison, compare, compare_data, median};
pub use faults::{Faults, FaultsError};
pub use prices::{PricePhase, PriceRun, prices};
pub use quotes::{QuoteErrors, quotes};
pub use report::{Report, Violation};
pub use seeds::{Summary, many, small};

use scenario::Scenario;
use world::Watch;

/// The largest world in which everything is checked after every step.
const WATCHED_WORKERS_MAX: u32 = 100;
const WATCHED_TASKS_MAX: u64 = 2000;

/// Runs one world of GPU workers and arrays of tasks.
pub fn one(seed: u64, workers: u32, tasks: u64, faults: &str) -> Result<Result<Report, Violation>, FaultsError> {
    let scenario = Scenario::large(seed, workers, tasks, faults.parse()?, faults);
    let small = workers <= WATCHED_WORKERS_MAX && tasks <= WATCHED_TASKS_MAX;
    Ok(world::run(&scenario, if small { Watch::EveryStep } else { Watch::Rarely }))
}
