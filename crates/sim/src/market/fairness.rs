//! Whether a requester waits longer because another one buys by auction, or buys by auction itself.
use gleaner_wire::JobId;
use gleaner_wire::job_file::Prefer;
use gleaner_wire::market::Mode;
use serde::Serialize;

use crate::chance::Chance;
use crate::faults::Faults;
use crate::job_plan::{JobPlan, array};
use crate::report::Violation;
use crate::scenario::{MILLISECOND, Scenario, WorkerPlan};
use crate::world::{Watch, World};

const SECOND: u64 = 1000 * MILLISECOND;
const MACHINES: u32 = 20;
/// Tasks of the large job, that is there first, and of the small one.
const LARGE: u64 = 2000;
const SMALL: u64 = 20;
/// When the small job comes.
const LATER: u64 = 30 * SECOND;

/// How long a small job took beside a large one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fairness {
    /// How the large job was bought.
    pub large: String,
    /// How the small one was.
    pub small: String,
    /// How long the small one took, in milliseconds.
    pub beside_ms: u64,
    /// How long it takes alone.
    pub alone_ms: u64,
    /// How long the large one took.
    pub large_ms: u64,
    /// Tasks that went to winners of auctions.
    pub auctioned: u64,
}

fn sold(mode: Mode, mut job: JobPlan) -> JobPlan {
    job.file.market.mode = mode;
    job
}

/// Twenty machines that differ only in price.
fn machines(jobs: Vec<JobPlan>) -> Scenario {
    let faults = Faults { calm_at_ms: 24 * 3_600_000, ..Faults::none() };
    let mut chance = Chance::new(1);
    let machine = |at| WorkerPlan {
        speed: 1000,
        score: 1000,
        price: 100_000 + at * 1000,
        memory_gib: 8,
        region: 0,
        latency_ms: 5,
        ..WorkerPlan::gpu(&mut chance, &faults)
    };
    let workers = (0..u64::from(MACHINES)).map(machine).collect();
    Scenario::plain(1, "gleaner sim market".into(), faults, workers, jobs, vec![])
}

fn play(jobs: Vec<JobPlan>) -> Result<(u64, u64, u64), Violation> {
    let scenario = machines(jobs);
    let mut world = World::new(&scenario, Watch::Rarely);
    world.run().map_err(|what| Violation {
        seed: scenario.seed,
        step: world.events,
        at_ms: world.now / MILLISECOND,
        what,
        replay: scenario.replay.clone(),
    })?;
    let last = world.ended.values().max().copied().unwrap_or(0);
    let small = world.ended.get(&JobId(scenario.jobs.len() as u64)).copied().unwrap_or(last);
    Ok((last, small.saturating_sub(LATER), world.hub.core.totals().tasks_auctioned))
}

/// A small job beside a large one, each bought by posted prices or by auction.
pub fn fairness() -> Result<Vec<Fairness>, Violation> {
    let mut rows = Vec::new();
    for (large, small) in [
        (Mode::Posted, Mode::Posted),
        (Mode::Posted, Mode::Auction),
        (Mode::Auction, Mode::Posted),
        (Mode::Auction, Mode::Auction),
    ] {
        let small_job = || sold(small, JobPlan { at: LATER, ..array("grace", SMALL, SECOND, 1500, Prefer::Fast) });
        let large_job = sold(large, array("ada", LARGE, SECOND, 1500, Prefer::Fast));
        let (_, alone, _) = play(vec![small_job()])?;
        let (large_end, beside, auctioned) = play(vec![large_job, small_job()])?;
        rows.push(Fairness {
            large: large.to_string(),
            small: small.to_string(),
            beside_ms: beside / MILLISECOND,
            alone_ms: alone / MILLISECOND,
            large_ms: large_end / MILLISECOND,
            auctioned,
        });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_job_is_not_starved_by_a_large_one_however_they_are_bought() {
        let rows = fairness().unwrap_or_else(|violation| panic!("{violation}"));
        for row in rows {
            // It waits until a machine is free, and then has half of them at least.
            assert!(row.beside_ms < row.alone_ms * 3 + 4000, "{row:?}");
            assert_eq!(row.auctioned > 0, row.large == "auction" || row.small == "auction", "{row:?}");
        }
    }
}
