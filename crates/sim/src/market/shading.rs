//! Many auctions by the real rule, in each of which one bidder asks for more or less than the work costs it.
use gleaner_core::market::Record;
use gleaner_core::market::auction::{Bid, Outcome, clear};
use gleaner_wire::{Amount, Micros};
use serde::Serialize;

use crate::chance::{Chance, mix_two};

/// Percent of its cost that the bidder asks.
const ASKED: [u64; 7] = [70, 80, 90, 100, 110, 120, 130];

/// What a bidder made of the same auctions by asking this much.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shading {
    /// Percent of its cost that it asked.
    pub asked_percent: u64,
    /// Auctions that it won, per mille.
    pub won_per_mille: u64,
    /// What it was paid less what the work cost it, in all, in units of money.
    pub profit: i128,
    /// The same beside what it makes by asking what the work costs, in thousandths.
    pub of_truthful_per_mille: i128,
    /// Auctions in which it made more than by asking what the work costs; rounding to whole units aside.
    pub gained_by_it: u64,
}

/// A world of bidders: the first is the one that is watched, and its price is its cost.
struct Round {
    bids: Vec<Bid>,
    durations: Vec<Micros>,
    tasks: u32,
    seed: u64,
}

impl Round {
    fn drawn(seed: u64, in_lots: bool) -> Self {
        let mut chance = Chance::new(mix_two(seed, 0x5ade));
        let count = chance.between(2, 24);
        let durations: Vec<Micros> = (0..count).map(|_| Micros(chance.log_uniform(1_000_000, 3_600_000_000))).collect();
        // Machines that are twice as fast cost about twice as much.
        let bid = |(bidder, duration): (u32, &Micros)| {
            let mut record = Record::default();
            (0..chance.below(50)).for_each(|_| record.finished());
            (0..chance.below(8)).for_each(|_| record.failed());
            let cost = Amount(3_600_000_000_000_000 / duration.0 / 1000 * chance.between(500, 2000) / 1000 + 1);
            let (standing, ceiling) = (Amount(cost.0 * 2), Amount(u64::MAX));
            let until_finished = record.until_finished(*duration);
            Bid { bidder, owner: bidder, price: cost, until_finished, standing, ceiling }
        };
        let bids: Vec<Bid> = (0..).zip(&durations).map(bid).collect();
        let tasks = if in_lots { chance.between(2, 16) as u32 } else { 1 };
        Self { bids, durations, tasks, seed }
    }

    /// What the first bidder makes by asking this many percent of its cost; none if it does not win.
    fn profit(&self, percent: u64) -> Option<i128> {
        let mut bids = self.bids.clone();
        let cost = bids[0].price;
        bids[0].price = Amount(cost.0 * percent / 100);
        let Outcome::Won(won) = clear(&bids, self.tasks, Some(self.seed)) else { return None };
        let won = won.iter().find(|won| won.bid.bidder == 0)?;
        let time = self.durations[0];
        Some(i128::from(won.price.per_second_over(time).0) - i128::from(cost.per_second_over(time).0))
    }

    /// A price is a whole number of units a second: so much may be lost to rounding.
    fn rounding(&self) -> i128 {
        i128::from(self.durations[0].0 / 1_000_000) + 2
    }
}

/// Holds the same auctions for each way to bid, of single tasks or of lots.
pub fn shading(from: u64, auctions: u64, in_lots: bool) -> Vec<Shading> {
    let rounds: Vec<Round> = (from..from + auctions).map(|seed| Round::drawn(seed, in_lots)).collect();
    let truthful: i128 = rounds.iter().filter_map(|round| round.profit(100)).sum();
    let row = |asked_percent: u64| {
        let profits: Vec<Option<i128>> = rounds.iter().map(|round| round.profit(asked_percent)).collect();
        let profit: i128 = profits.iter().flatten().sum();
        let won = profits.iter().flatten().count() as u64;
        let gains = rounds
            .iter()
            .zip(&profits)
            .filter(|(round, profit)| profit.unwrap_or(0) > round.profit(100).unwrap_or(0) + round.rounding());
        Shading {
            asked_percent,
            won_per_mille: won * 1000 / auctions.max(1),
            profit,
            of_truthful_per_mille: profit * 1000 / truthful.max(1),
            gained_by_it: gains.count() as u64,
        }
    };
    ASKED.iter().map(|percent| row(*percent)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gains_by_asking_another_price_than_the_cost() {
        for in_lots in [false, true] {
            let rows = shading(1, 2000, in_lots);
            let truthful = rows.iter().find(|row| row.asked_percent == 100).expect("it is among them").profit;
            assert!(truthful > 0);
            for row in rows {
                assert_eq!(row.gained_by_it, 0, "{row:?}");
                assert!(row.profit <= truthful + truthful / 1000, "{row:?}");
            }
        }
    }
}
