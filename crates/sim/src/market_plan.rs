//! The market of small worlds: a few of their jobs race, are firm or soft, or are ordered by a quote.
use gleaner_wire::BlobRef;
use gleaner_wire::job_file::{Prefer, Source};
use gleaner_wire::market::{Market, Mode, Tier};

use crate::chance::{Chance, mix_two};
use crate::job_plan::{Asks, JobPlan, array};
use crate::scenario::MILLISECOND;

/// Jobs that race, that are reserved, that are interruptible, and that are ordered by a quote, per mille.
const RACES: u32 = 120;
const RESERVED: u32 = 80;
const INTERRUPTIBLE: u32 = 150;
const QUOTED: u32 = 200;

/// Worlds in which jobs of one kind come again and again, so that something is known of them, per mille.
const WITH_KIN: u32 = 350;
/// Those jobs, the tasks of the first, and the most of another.
const KIN: u64 = 4;
const FIRST_TASKS: u64 = 60;
const TASKS_MAX: u64 = 20;

/// Lets some of the jobs of a world use more of the market than standing prices, and adds some that have much in common.
pub(crate) fn add_market(seed: u64, calm_at_ms: u64, jobs: &mut Vec<JobPlan>) {
    let mut chance = Chance::new(mix_two(seed, 0x3a4e));
    choose(&mut chance, jobs);
    if chance.hits(WITH_KIN) {
        add_kin(&mut chance, calm_at_ms, jobs);
    }
}

/// The first teaches how long the tasks of the others are; of those, many race or are ordered by a quote.
fn add_kin(chance: &mut Chance, calm_at_ms: u64, jobs: &mut Vec<JobPlan>) {
    let (micros, spread) = (chance.log_uniform(100_000, 1_000_000), chance.log_uniform(1100, 3000));
    let program = chance.next();
    for number in 0..KIN {
        let count = if number == 0 { FIRST_TASKS } else { chance.between(1, TASKS_MAX) };
        let at = MILLISECOND + number * calm_at_ms * MILLISECOND / KIN;
        let mut job = JobPlan { at, ..array("ada", count, micros, spread, Prefer::Balanced) };
        // Others of the same kind.
        let first = number * FIRST_TASKS + 1;
        job.file.tasks[0].each = Some(format!("{first}..{}", first + count - 1));
        job.file.tasks[0].program = Some(Source::Data(BlobRef::of(&program.to_le_bytes()).into()));
        job.truths[0].program = program;
        job.file.market.mode = Mode::Race;
        if number > 0 && chance.hits(500) {
            (job.asks, job.may_fail) = (Asks::AndOrders, true);
        }
        jobs.push(job);
    }
}

fn choose(chance: &mut Chance, jobs: &mut [JobPlan]) {
    for job in jobs {
        let mode = if chance.hits(RACES) { Mode::Race } else { Mode::Posted };
        let tier = match (chance.hits(RESERVED), chance.hits(INTERRUPTIBLE)) {
            (true, _) => Tier::Reserved,
            (false, true) => Tier::Interruptible,
            (false, false) => Tier::OnDemand,
        };
        job.file.market = Market { mode, tier };
        if chance.hits(QUOTED) {
            // What it costs beyond its quote is not charged, so it may end before it is done.
            (job.asks, job.may_fail) = (Asks::AndOrders, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;
    use crate::world::{Watch, World};

    #[test]
    fn worlds_have_races_kept_devices_moved_attempts_and_quotes_with_and_without_checks() {
        // For worlds without and with checks: second attempts of races, moved attempts, quoted jobs that were done.
        let mut seen = [[0; 3]; 2];
        let mut backed = 0;
        for seed in 1..=400 {
            let scenario = Scenario::small(seed);
            let mut world = World::new(&scenario, Watch::Rarely);
            world.run().unwrap_or_else(|what| panic!("seed {seed}: {what}"));
            let totals = world.hub.core.totals();
            let counts = [totals.hedges, totals.attempts_moved, totals.quote_price_errors.count];
            seen[usize::from(scenario.checks)].iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            backed += totals.quotes_backed;
        }
        assert!(seen.iter().flatten().all(|count| *count >= 20), "{seen:?}");
        assert!(backed > 0, "the platform paid nothing beyond quotes");
    }
}
