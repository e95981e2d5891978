//! Genesis files: how many tokens there are, who gets them when, and the numbers that votes may change later.
use std::collections::BTreeMap;

use alloy_primitives::Address;
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

/// Seconds in a month of the schedules: a twelfth of 365.25 days.
pub const MONTH_SECONDS: u64 = 2_629_800;
/// The parameters in the order in which the contract takes them.
pub const PARAMETERS: [&str; 15] = [
    "platformShareBps",
    "slashShareBps",
    "bondShareBps",
    "rewardCapBps",
    "minimumStake",
    "hubStake",
    "workLock",
    "hubLock",
    "challengeWindow",
    "votingWindow",
    "unbondingDelay",
    "committeeSize",
    "emissionPerEpoch",
    "epochLength",
    "orderDurationMax",
];

/// A genesis file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Genesis {
    /// What it is called.
    pub name: String,
    /// All tokens there will ever be, in whole GLN.
    pub supply: String,
    /// Who gets which part of them when.
    pub allocations: Vec<Allocation>,
    /// Node licences.
    pub licences: LicenceTerms,
    /// The numbers that votes may change, by name; amounts in units of 10⁻⁹ GLN, times in seconds.
    pub parameters: BTreeMap<String, u64>,
    /// How votes are held.
    pub governance: Governance,
    /// Other numbers for other places, such as `local` for a chain on one's own machine.
    #[serde(default)]
    pub timings: BTreeMap<String, BTreeMap<String, u64>>,
}

/// One line of the allocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Allocation {
    /// What it is for.
    pub name: String,
    /// Its part of the supply, in hundredths of a percent.
    pub share_bps: u32,
    /// The part of it that is free at launch, in hundredths of a percent.
    pub launch_bps: u32,
    /// Months in which nothing more becomes free.
    pub cliff_months: u16,
    /// Months after the cliff in which the rest becomes free.
    pub duration_months: u16,
    /// Who receives it.
    pub to: Receiver,
}

/// Who receives an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Receiver {
    /// The treasury, spent by votes.
    Treasury,
    /// The contract that rewards work.
    Rewards,
    /// The contract of the node licences.
    Licences,
    /// An account named at deployment; on an embedded chain the faucet.
    Liquidity,
    /// This account.
    #[serde(untagged)]
    Account(Address),
}

/// How many node licences there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LicenceTerms {
    /// At most so many.
    pub count: u64,
}

/// How votes are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Governance {
    /// Seconds from a proposal to the beginning of its vote.
    pub voting_delay: u64,
    /// Seconds that a vote lasts.
    pub voting_period: u64,
    /// Seconds from a passed vote to its execution.
    pub timelock_delay: u64,
    /// Votes that a proposer needs, in units.
    pub proposal_threshold: u64,
    /// Percent of all votes that must take part.
    pub quorum_percent: u64,
}

/// Why a genesis file is refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not the JSON it should be.
    #[error("not a genesis file")]
    Json(#[from] serde_json::Error),
    /// It does not add up.
    #[error("the genesis file does not add up: {0}")]
    Sum(String),
    /// No such preset.
    #[error("there is no preset `{0}`: choose hub or capped")]
    Preset(String),
}

impl Genesis {
    /// A preset: `hub` with 1,000,000,000 GLN or `capped` with 21,000,000.
    pub fn preset(name: &str) -> Result<Self, Error> {
        match name {
            "hub" => Self::parse(include_str!("../../../contracts/genesis/hub.json")),
            "capped" => Self::parse(include_str!("../../../contracts/genesis/capped.json")),
            _ => Err(Error::Preset(name.into())),
        }
    }

    /// Reads a file's text and checks that it adds up.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let genesis: Self = serde_json::from_str(text)?;
        genesis.check()?;
        Ok(genesis)
    }

    /// The same with the numbers of one place, such as `local`, put in.
    pub fn with_timings(mut self, place: &str) -> Result<Self, Error> {
        let Some(timings) = self.timings.get(place).cloned() else {
            return Err(Error::Sum(format!("there are no timings for `{place}`")));
        };
        for (name, value) in timings {
            self.put(&name, value)?;
        }
        self.check()?;
        Ok(self)
    }

    /// Sets a parameter or a number of the governance by its name.
    pub fn put(&mut self, name: &str, value: u64) -> Result<(), Error> {
        let slot = match name {
            "votingDelay" => &mut self.governance.voting_delay,
            "votingPeriod" => &mut self.governance.voting_period,
            "timelockDelay" => &mut self.governance.timelock_delay,
            "proposalThreshold" => &mut self.governance.proposal_threshold,
            "quorumPercent" => &mut self.governance.quorum_percent,
            _ => self.parameters.get_mut(name).ok_or_else(|| Error::Sum(format!("there is no number `{name}`")))?,
        };
        *slot = value;
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        let refuse = |reason: String| Err(Error::Sum(reason));
        self.supply()?;
        let shares: u64 = self.allocations.iter().map(|entry| u64::from(entry.share_bps)).sum();
        if shares != 10_000 {
            return refuse(format!("the shares come to {shares} hundredths of a percent, not to 10000"));
        }
        if let Some(entry) = self.allocations.iter().find(|entry| entry.launch_bps > 10_000) {
            return refuse(format!("`{}` frees more than everything at launch", entry.name));
        }
        if let Some(name) = PARAMETERS.iter().find(|name| !self.parameters.contains_key(**name)) {
            return refuse(format!("the parameter `{name}` is missing"));
        }
        if self.parameters.len() != PARAMETERS.len() {
            return refuse("it names a parameter that there is not".into());
        }
        if self.licences.count == 0 || self.governance.quorum_percent > 100 {
            return refuse("the number of licences or the quorum is out of range".into());
        }
        Ok(())
    }

    /// All tokens there will ever be.
    pub fn supply(&self) -> Result<Amount, Error> {
        self.supply.parse().map_err(|_| Error::Sum(format!("`{}` is not a supply", self.supply)))
    }

    /// The parameters' values in the contract's order.
    pub fn parameter_values(&self) -> Vec<u64> {
        PARAMETERS.iter().map(|name| self.parameters[*name]).collect()
    }

    /// What an allocation comes to.
    pub fn amount(&self, entry: &Allocation) -> Amount {
        self.supply().expect("checked when it was read").basis_points(entry.share_bps)
    }

    /// What each licence gives, rounded down; what that leaves over goes to the treasury.
    pub fn licence_share(&self) -> Amount {
        let licences = self.allocations.iter().filter(|entry| entry.to == Receiver::Licences);
        let pool: u64 = licences.map(|entry| self.amount(entry).0).sum();
        Amount(pool / self.licences.count)
    }

    /// The last month in which anything becomes free.
    pub fn months(&self) -> u32 {
        let last = |entry: &Allocation| u32::from(entry.cliff_months) + u32::from(entry.duration_months);
        self.allocations.iter().map(last).max().unwrap_or(0)
    }

    /// What is free of each allocation after so many whole months, in the order of the file. Of licences it is what
    /// would be if all were given out at launch.
    pub fn free_after(&self, months: u32) -> Vec<Amount> {
        self.allocations.iter().map(|entry| self.free_of(entry, months)).collect()
    }

    fn free_of(&self, entry: &Allocation, months: u32) -> Amount {
        let total = self.amount(entry);
        if entry.to == Receiver::Licences {
            let share = self.licence_share();
            let pool = Amount(share.0 * self.licences.count);
            let each = steps_done(share, months, entry.cliff_months, entry.duration_months);
            return Amount(each.0 * self.licences.count + (total.0 - pool.0));
        }
        let at_launch = total.basis_points(entry.launch_bps);
        let rest = Amount(total.0 - at_launch.0);
        Amount(at_launch.0 + steps_done(rest, months, entry.cliff_months, entry.duration_months).0)
    }
}

/// How much of `amount` is due after `months`: nothing during the cliff, then equal steps rounded down, and with the
/// last one everything that is left.
pub fn steps_done(amount: Amount, months: u32, cliff: u16, duration: u16) -> Amount {
    let (cliff, duration) = (u32::from(cliff), u32::from(duration));
    if months < cliff {
        return Amount::ZERO;
    }
    let steps = months - cliff;
    if steps >= duration { amount } else { Amount(amount.0 / u64::from(duration) * u64::from(steps)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gln(amounts: &[Amount]) -> u64 {
        amounts.iter().map(|amount| amount.0).sum()
    }

    #[test]
    fn the_hub_preset_is_given_out_month_by_month_to_the_last_unit() {
        walk(&Genesis::preset("hub").expect("a preset"), Amount::gln(1_000_000_000), 120);
    }

    #[test]
    fn the_capped_preset_is_given_out_month_by_month_to_the_last_unit() {
        walk(&Genesis::preset("capped").expect("a preset"), Amount::gln(21_000_000), 240);
    }

    fn walk(genesis: &Genesis, supply: Amount, months: u32) {
        assert_eq!(genesis.supply().expect("a number"), supply);
        assert_eq!(genesis.months(), months);
        let mut before = vec![Amount::ZERO; genesis.allocations.len()];
        for month in 0..=months {
            let free = genesis.free_after(month);
            for ((before, now), entry) in before.iter().zip(&free).zip(&genesis.allocations) {
                assert!(now >= before, "{} shrinks in month {month}", entry.name);
                let cliff = month > 0 && month <= u32::from(entry.cliff_months) && entry.duration_months > 0;
                assert!(!cliff || now == before, "{} grows during its cliff, in month {month}", entry.name);
            }
            before = free;
        }
        assert_eq!(gln(&before), supply.0);
        assert!(gln(&genesis.free_after(months - 1)) < supply.0);
    }

    #[test]
    fn the_hub_preset_starts_as_promised() {
        let genesis = Genesis::preset("hub").expect("a preset");
        let of = |name: &str, month| {
            let place = genesis.allocations.iter().position(|entry| entry.name == name).expect("an allocation");
            genesis.free_after(month)[place]
        };
        assert_eq!(of("private", 0), Amount::gln(5_000_000));
        assert_eq!(of("private", 6), Amount::gln(5_000_000));
        assert_eq!(of("private", 18), Amount::gln(100_000_000));
        assert_eq!(of("community round", 0), Amount::gln(3_000_000));
        assert_eq!(of("liquidity", 0), Amount::gln(50_000_000));
        assert_eq!(of("team", 12), Amount::ZERO);
        assert_eq!(of("team", 36), Amount::gln(150_000_000));
        assert_eq!(of("node rewards", 1), Amount::gln(2_500_000));
        assert_eq!(of("node licences", 48), Amount::gln(150_000_000));
    }

    #[test]
    fn a_file_that_does_not_add_up_is_refused() {
        let good = serde_json::to_value(Genesis::preset("hub").expect("a preset")).expect("JSON");
        let refused = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut value = good.clone();
            change(&mut value);
            Genesis::parse(&value.to_string()).is_err()
        };
        assert!(!refused(&|_| ()));
        assert!(refused(&|value| value["allocations"][0]["shareBps"] = 999.into()));
        assert!(refused(&|value| value["allocations"][0]["launchBps"] = 10_001.into()));
        assert!(refused(&|value| value["allocations"][0]["to"] = "nobody".into()));
        assert!(refused(&|value| value["supply"] = "99999999999".into()));
        assert!(refused(&|value| value["parameters"]["hubLok"] = 1.into()));
        assert!(refused(&|value| value["licences"]["count"] = 0.into()));
    }

    #[test]
    fn local_timings_replace_the_long_ones() {
        let genesis = Genesis::preset("hub").and_then(|genesis| genesis.with_timings("local")).expect("local");
        assert_eq!(genesis.parameters["challengeWindow"], 30);
        assert_eq!(genesis.governance.voting_period, 15);
        assert!(Genesis::preset("hub").expect("a preset").with_timings("moon").is_err());
    }
}
