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
