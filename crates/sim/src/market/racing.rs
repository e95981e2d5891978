//! How soon questions are answered by machines that stall now and then, and how much work races waste for that.
use gleaner_wire::job_file::{Prefer, Source};
use gleaner_wire::market::{Market, Mode};
use gleaner_wire::{Amount, BlobRef, JobId};
use serde::Serialize;

use crate::chance::Chance;
use crate::faults::Faults;
use crate::job_plan::{JobPlan, array};
use crate::report::Violation;
use crate::scenario::{Fate, MILLISECOND, Scenario, WorkerPlan};
use crate::world::{Watch, World};

const SECOND: u64 = 1000 * MILLISECOND;
const MACHINES: u32 = 20;
/// Tasks of the same kind that have run before, and questions that are then asked one by one.
const BEFORE: u64 = 400;
const QUESTIONS: u64 = 1000;
/// When the first is asked, and how soon the next.
const FIRST: u64 = 120 * SECOND;
const EVERY: u64 = 250 * MILLISECOND;
/// How often a machine stalls while they are, and for how long, in milliseconds.
const STALLS_EVERY: u64 = 4000 * MILLISECOND;
const STALLS_MS: (u64, u64) = (3000, 20_000);

/// How soon questions were answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Racing {
    /// How they were bought.
    pub mode: String,
    /// Half of them were answered so soon, in milliseconds.
    pub p50_ms: u64,
    /// And 99 of 100.
    pub p99_ms: u64,
    /// The last one.
    pub most_ms: u64,
    /// Attempts beside others.
    pub seconds: u64,
    /// Device time that was wasted in races, in thousandths of what was paid in them; other second attempts are not counted.
    pub wasted_mille: u64,
}

/// Questions asked in a seeded world, bought by posted prices and in a race.
pub fn racing(seed: u64) -> Result<Vec<Racing>, Violation> {
    [Mode::Posted, Mode::Race].into_iter().map(|mode| row(seed, mode)).collect()
}

fn row(seed: u64, mode: Mode) -> Result<Racing, Violation> {
    let scenario = scenario(seed, mode);
    let mut world = World::new(&scenario, Watch::Rarely);
    world.run().map_err(|what| Violation {
        seed,
        step: world.events,
        at_ms: world.now / MILLISECOND,
        what,
        replay: scenario.replay.clone(),
    })?;
    let asked = (1..).map(JobId).zip(&scenario.jobs).skip(1);
    let took = asked.filter_map(|(id, job)| Some(world.ended.get(&id)?.saturating_sub(job.at) / MILLISECOND));
    let mut took: Vec<u64> = took.collect();
    took.sort_unstable();
    let at = |percent: usize| took.get((took.len() * percent / 100).min(took.len().saturating_sub(1))).copied();
    let totals = world.hub.core.totals();
    Ok(Racing {
        mode: mode.to_string(),
        p50_ms: at(50).unwrap_or(0),
        p99_ms: at(99).unwrap_or(0),
        most_ms: at(100).unwrap_or(0),
        seconds: totals.second_attempts,
        wasted_mille: (totals.race_wasted_micros * 1000).checked_div(totals.race_paid_micros).unwrap_or(0),
    })
}

/// Equal machines, tasks of one to two seconds, and stalls as long as questions are asked.
fn scenario(seed: u64, mode: Mode) -> Scenario {
    let ends = FIRST + QUESTIONS * EVERY;
    let faults = Faults { calm_at_ms: ends / MILLISECOND, ..Faults::none() };
    let mut chance = Chance::new(seed);
    let mut machine =
        |_| WorkerPlan { speed: 1000, score: 1000, price: 100_000, ..WorkerPlan::gpu(&mut chance, &faults) };
    let workers: Vec<WorkerPlan> = (0..MACHINES).map(&mut machine).collect();
    let question = |at: u64, first: u64, count: u64| {
        let mut job = JobPlan { at, ..array("ada", count, SECOND, 2000, Prefer::Fast) };
        job.file.market = Market { mode, ..Market::default() };
        job.file.budget.price_max = Some(Amount::gln(1000));
        // All run the same program.
        job.file.tasks[0].program = Some(Source::Data(BlobRef::of(b"questions").into()));
        job.file.tasks[0].each = Some(format!("{first}..{}", first + count - 1));
        job.truths[0].program = 7;
        job
    };
    let asked = (0..QUESTIONS).map(|at| question(FIRST + at * EVERY, 1_000_000 + at, 1));
    let jobs = std::iter::once(question(MILLISECOND, 1, BEFORE)).chain(asked).collect();
    let stalls = (FIRST..ends).step_by(STALLS_EVERY as usize).map(|at| {
        let for_ms = chance.between(STALLS_MS.0, STALLS_MS.1);
        (at, Fate::Freeze { worker: chance.below(u64::from(MACHINES)) as u32, for_ms })
    });
    let fates = stalls.collect();
    Scenario::plain(seed, "gleaner sim market".into(), faults, workers, jobs, fates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn races_overtake_machines_that_stall_and_waste_no_more_than_their_share() {
        for seed in 1..=4 {
            let rows = racing(seed).unwrap_or_else(|violation| panic!("{violation}"));
            let (posted, race) = (&rows[0], &rows[1]);
            assert!(race.p50_ms <= posted.p50_ms && race.p99_ms < posted.p99_ms, "{rows:?}");
            assert!(race.seconds > 0 && race.wasted_mille <= 100, "{rows:?}");
        }
    }
}
