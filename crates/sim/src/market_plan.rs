//! The market of small worlds: a few of their jobs race, are firm or soft, or are ordered by a quote.
use gleaner_wire::market::{Market, Mode, Tier};

use crate::chance::{Chance, mix_two};
use crate::job_plan::{Asks, JobPlan};

/// Jobs that race, that are reserved, that are interruptible, and that are ordered by a quote, per mille.
const RACES: u32 = 120;
const RESERVED: u32 = 80;
const INTERRUPTIBLE: u32 = 150;
const QUOTED: u32 = 200;

/// Lets some of the jobs of a world use more of the market than standing prices.
pub(crate) fn add_market(seed: u64, jobs: &mut [JobPlan]) {
    let mut chance = Chance::new(mix_two(seed, 0x3a4e));
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
    use super::*;
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
        assert!(seen.iter().flatten().all(|count| *count >= 5), "{seen:?}");
        assert!(backed > 0, "the platform paid nothing beyond quotes");
    }
}
