//! The numbers of Proof of Sync, in one place. Their defaults are what `gleaner sim proof` shows to be right.
use serde::{Deserialize, Serialize};

use super::draw::WHOLE;

/// How often is checked, and how polls decide. Shares are in millionths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The least rate at which a worker's results are audited, however good its record; as much again for each wrong answer.
    pub floor: u32,
    /// A new worker is audited on everything; after this many good verdicts on one in two, after twice as many more on
    /// one in four, and so on.
    pub halving: u32,
    /// The rate up to which unpaid work may raise a worker's before it gets no more work: results of a device take a minute or
    /// so to be drawn, and whoever has several must not stand still for that.
    pub stretch: u32,
    /// The share of auditors that is reckoned to be honest when a rate is weighed against a stake: with a colluding one an
    /// audit finds nothing.
    pub honest: u32,
    /// The rate by record at or below which a worker's results are taken to be honest when it is learned what honest results
    /// differ by.
    pub trusted: u32,
    /// How many auditors a poll asks (k).
    pub poll: u32,
    /// How many of them must agree for the poll to count (alpha).
    pub quorum: u32,
    /// How many polls in a row must say the same (beta).
    pub streak: u32,
    /// After this many polls managed referees decide.
    pub polls_max: u32,
    /// With fewer auditors than this there is no poll at all.
    pub voters_min: u32,
    /// Where managed referees are at hand, they decide at once if there are fewer auditors than this: polls among few ask the
    /// same ones again, and a league that is a minority of all may be a majority of them.
    pub voters_min_refereed: u32,
    /// Wrong answers after which a worker, or all workers of a provider with a stake, get no more work until an operator
    /// readmits them.
    pub wrong_max: u32,
}

impl Policy {
    /// How likely a wrong result is found, at a rate, where some auditors may be in league with the liar.
    pub fn found(&self, rate: u32) -> u32 {
        let found = u64::from(rate.min(WHOLE)) * u64::from(self.honest.min(WHOLE)) / u64::from(WHOLE);
        u32::try_from(found).expect("a share of a share is a share")
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            floor: 44_000,
            halving: 8,
            stretch: 150_000,
            honest: 700_000,
            trusted: 100_000,
            poll: 11,
            quorum: 8,
            streak: 2,
            polls_max: 5,
            voters_min: 3,
            voters_min_refereed: 16,
            wrong_max: 2,
        }
    }
}
