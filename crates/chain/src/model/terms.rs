//! The parameters, and the bounds that no vote can leave.
use super::{Refusal, refuse_if};
use std::collections::BTreeMap;

const DAY: u64 = 86_400;

/// The parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are named and explained in the Parameters contract")]
pub struct Terms {
    pub platform_share: u64,
    pub slash_share: u64,
    pub bond_share: u64,
    pub reward_cap: u64,
    pub minimum_stake: u64,
    pub hub_stake: u64,
    pub work_lock: u64,
    pub hub_lock: u64,
    pub challenge_window: u64,
    pub voting_window: u64,
    pub unbonding_delay: u64,
    pub committee_size: u64,
    pub emission: u64,
    /// Epochs are as long as it was at genesis, whatever it is set to later.
    pub epoch_length: u64,
    pub order_duration_max: u64,
}

impl Terms {
    /// The values of a genesis file.
    pub fn of(values: &BTreeMap<String, u64>) -> Result<Self, Refusal> {
        let mut terms = Self::default();
        for (name, value) in values {
            terms.set(name, *value)?;
        }
        Ok(terms)
    }

    /// The value that has this name in genesis files.
    pub fn value(&self, name: &str) -> Result<u64, Refusal> {
        self.clone().slot(name).map(|(slot, ..)| *slot)
    }

    pub(super) fn set(&mut self, name: &str, value: u64) -> Result<(), Refusal> {
        let (slot, min, max) = self.slot(name)?;
        refuse_if(value < min || value > max, Refusal::OutOfBounds)?;
        refuse_if(name == "committeeSize" && value.is_multiple_of(2), Refusal::CommitteeMustBeOdd)?;
        *slot = value;
        Ok(())
    }

    /// Where a value is, and how small and how large it may be.
    fn slot(&mut self, name: &str) -> Result<(&mut u64, u64, u64), Refusal> {
        Ok(match name {
            "platformShareBps" => (&mut self.platform_share, 0, 3_000),
            "slashShareBps" => (&mut self.slash_share, 0, 10_000),
            "bondShareBps" => (&mut self.bond_share, 0, 5_000),
            "rewardCapBps" => (&mut self.reward_cap, 0, 10_000),
            "minimumStake" => (&mut self.minimum_stake, 0, 1_000_000_000_000_000),
            "hubStake" => (&mut self.hub_stake, 0, 1_000_000_000_000_000),
            "workLock" => (&mut self.work_lock, 0, 10_000_000_000_000),
            "hubLock" => (&mut self.hub_lock, 0, 10_000_000_000_000),
            "challengeWindow" => (&mut self.challenge_window, 1, 30 * DAY),
            "votingWindow" => (&mut self.voting_window, 1, 30 * DAY),
            "unbondingDelay" => (&mut self.unbonding_delay, 1, 60 * DAY),
            "committeeSize" => (&mut self.committee_size, 1, 21),
            "emissionPerEpoch" => (&mut self.emission, 0, 100_000_000_000_000_000),
            "epochLength" => (&mut self.epoch_length, 1, 90 * DAY),
            "orderDurationMax" => (&mut self.order_duration_max, 60, 365 * DAY),
            _ => return Err(Refusal::UnknownParameter),
        })
    }
}
