//! How far quotes are from what jobs then cost and take, and how that shrinks as more of their kind has run.
use gleaner_wire::BlobRef;
use gleaner_wire::job_file::{Prefer, Source};
use serde::Serialize;

use crate::chance::{Chance, mix_two};
use crate::compare::median;
use crate::faults::Faults;
use crate::job_plan::{Asks, JobPlan, array};
use crate::report::Violation;
use crate::scenario::{MILLISECOND, Scenario, WorkerPlan};
use crate::world::{Watch, World};

/// Tasks that have run before, from few to many.
const HISTORIES: [u64; 7] = [1, 3, 10, 30, 100, 300, 1000];
/// Machines of a world, and the least and most tasks of the job that is quoted.
const MACHINES: u32 = 16;
const TASKS: (u64, u64) = (20, 120);
/// By then all that came before has ended, in microseconds.
const LATER: u64 = 20 * 3_600_000 * MILLISECOND;

/// How far off quotes were that rest on so many tasks, in thousandths of what was quoted; medians over the seeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QuoteErrors {
    /// Tasks that had run before.
    pub history: u64,
    /// The error of the price.
    pub price_mille: u64,
    /// The error of the time.
    pub time_mille: u64,
    /// The width of the price's range, in thousandths of what was expected.
    pub range_mille: u64,
    /// Of a thousand jobs, how many ended within the price's range.
    pub within_mille: u64,
    /// Of a thousand jobs, how many cost no more than the price that was promised.
    pub covered_mille: u64,
}

/// One quote and what became of it.
struct Judged {
    price_mille: u64,
    time_mille: u64,
    range_mille: u64,
    within: bool,
    covered: bool,
}

/// Judges quotes over so many seeds, for each length of history.
pub fn quotes(from: u64, seeds: u64) -> Result<Vec<QuoteErrors>, Violation> {
    let row = |history: u64| {
        let judged = (from..from + seeds).map(|seed| judge(seed, history)).collect::<Result<Vec<_>, _>>()?;
        let middle = |of: fn(&Judged) -> u64| median(judged.iter().map(of).collect());
        let share = |of: fn(&&Judged) -> bool| judged.iter().filter(of).count() as u64 * 1000 / seeds.max(1);
        Ok(QuoteErrors {
            history,
            price_mille: middle(|one| one.price_mille),
            time_mille: middle(|one| one.time_mille),
            range_mille: middle(|one| one.range_mille),
            within_mille: share(|one| one.within),
            covered_mille: share(|one| one.covered),
        })
    };
    HISTORIES.into_iter().map(row).collect()
}

fn judge(seed: u64, history: u64) -> Result<Judged, Violation> {
    let scenario = scenario(seed, history);
    let mut world = World::new(&scenario, Watch::Rarely);
    let violation = |world: &World<'_>, what| Violation {
        seed,
        step: world.events,
        at_ms: world.now / MILLISECOND,
        what,
        replay: scenario.replay.clone(),
    };
    if let Err(what) = world.run() {
        return Err(violation(&world, what));
    }
    let (Some(choice), Some((job, cost))) = (world.asked.get(&1), world.costs.iter().next_back()) else {
        return Err(violation(&world, "the job was not quoted".into()));
    };
    let (Some(price), Some(time), Some(offer)) = (choice.expected, choice.time_ms, &choice.offer) else {
        return Err(violation(&world, "nothing is known of the job".into()));
    };
    let took = (world.ended[job] - LATER) / MILLISECOND;
    let error = |was: u64, should: u64| was.abs_diff(should).saturating_mul(1000) / should.max(1);
    Ok(Judged {
        price_mille: error(*cost, price.expected),
        time_mille: error(took, time.expected),
        range_mille: (price.high - price.low).saturating_mul(1000) / price.expected.max(1),
        within: (price.low..=price.high).contains(cost),
        covered: *cost <= offer.quote.price.0,
    })
}

/// Uneven machines, a job of so many tasks, and much later another one of the same kind.
fn scenario(seed: u64, history: u64) -> Scenario {
    let mut chance = Chance::new(mix_two(seed, 0x900e));
    let faults = Faults::none();
    let workers = (0..MACHINES).map(|_| WorkerPlan::gpu(&mut chance, &faults)).collect();
    let (micros, spread) = (chance.log_uniform(1_000_000, 20_000_000), chance.log_uniform(1200, 6000));
    let count = chance.between(TASKS.0, TASKS.1);
    let program = chance.next();
    let of = |at: u64, count: u64, asks: Asks| {
        let mut job = JobPlan { at, asks, ..array("ada", count, micros, spread, Prefer::Balanced) };
        job.file.tasks[0].program = Some(Source::Data(BlobRef::of(&program.to_le_bytes()).into()));
        job.truths[0].program = program;
        job
    };
    // The tasks before are others of the same kind.
    let mut before = of(MILLISECOND, history, Asks::No);
    before.file.tasks[0].each = Some(format!("{}..{}", 1_000_001, 1_000_000 + history));
    let jobs = vec![before, of(LATER, count, Asks::Only)];
    let replay = format!("gleaner sim quotes --seeds 1 --from {seed}");
    Scenario::plain(seed, replay, faults, workers, jobs, vec![])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_get_better_as_more_of_their_kind_has_run() {
        let rows = quotes(1, 24).unwrap_or_else(|violation| panic!("{violation}"));
        let first = &rows[0];
        for later in &rows[3..] {
            assert!(later.price_mille * 3 < first.price_mille * 2, "{rows:#?}");
            assert!(later.time_mille * 3 < first.time_mille * 2, "{rows:#?}");
        }
        assert!(rows.is_sorted_by(|more, less| more.range_mille >= less.range_mille), "{rows:#?}");
        assert!(rows.iter().all(|row| row.covered_mille >= 700), "{rows:#?}");
    }
}
