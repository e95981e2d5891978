//! Epochs of node rewards: where each stands, and where their tokens come from.
use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::SolEvent;
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

use super::{Market, ReadError, amount};
use crate::contracts::{Rewards, Vesting};

/// How far an epoch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EpochStage {
    /// Nobody has published shares.
    Open,
    /// Shares are published, and may be contested.
    Published,
    /// Two roots are before the court.
    Contested,
    /// Shares can be claimed.
    Final,
}

/// All that the chain remembers of an epoch of rewards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochState {
    /// How far it has come.
    pub stage: EpochStage,
    /// The root of the shares.
    pub root: B256,
    /// What they come to.
    pub total: Amount,
    /// What they could have come to at most when they were published: all shares are reckoned with this.
    pub pool: Amount,
    /// The cap that they were reckoned with, in hundredths of a percent of the work.
    pub cap_points: u32,
    /// Unix seconds from which it can be claimed.
    pub final_at: u64,
    /// What was claimed.
    pub claimed: Amount,
}

impl Market {
    /// Where an epoch of rewards stands.
    pub async fn epoch_state(&self, epoch: u64) -> Result<EpochState, ReadError> {
        let found = self.read(self.deployment.rewards, &Rewards::epochStateCall { epoch: U256::from(epoch) }).await?;
        let stage = match found.state {
            0 => EpochStage::Open,
            1 => EpochStage::Published,
            2 => EpochStage::Contested,
            3 => EpochStage::Final,
            other => return Err(ReadError::Answer(format!("{other} is no state of an epoch"))),
        };
        Ok(EpochState {
            stage,
            root: found.root,
            total: amount(found.total)?,
            pool: amount(found.totalMax)?,
            cap_points: u32::from(found.capBps),
            final_at: found.finalAt,
            claimed: amount(found.claimed)?,
        })
    }

    /// When an epoch begins and ends, in Unix seconds.
    pub async fn epoch_span(&self, epoch: u64) -> Result<(u64, u64), ReadError> {
        let end = self.read(self.deployment.rewards, &Rewards::endOfCall { epoch: U256::from(epoch) }).await?;
        let length = self.read(self.deployment.rewards, &Rewards::epochLengthCall {}).await?;
        let (end, length) = (end.saturating_to::<u64>(), length.saturating_to::<u64>());
        Ok((end.saturating_sub(length), end))
    }

    /// The epoch that runs now, by the chain's clock.
    pub async fn epoch_now(&self) -> Result<u64, ReadError> {
        let (begin, end) = self.epoch_span(0).await?;
        Ok(self.now().await?.saturating_sub(begin) / (end - begin).max(1))
    }

    /// Every epoch that shares were ever published for, oldest first.
    pub async fn published_epochs(&self) -> Result<Vec<u64>, ReadError> {
        let topics = [vec![Rewards::Published::SIGNATURE_HASH], vec![], vec![], vec![]];
        let newest = self.node.height().await?;
        let logs = self.all_logs(self.deployment.block, newest, vec![self.deployment.rewards], topics).await?;
        let numbers = logs.iter().filter_map(|entry| entry.log.data.topics().get(1).copied());
        let mut epochs: Vec<u64> = numbers.map(|number| U256::from_be_bytes(number.0).saturating_to()).collect();
        // An undecided contest opens an epoch again.
        epochs.sort_unstable();
        epochs.dedup();
        Ok(epochs)
    }

    /// Whether an account has had its share of an epoch.
    pub async fn is_claimed(&self, epoch: u64, account: Address) -> Result<bool, ReadError> {
        let claimed = Rewards::isClaimedCall { epoch: U256::from(epoch), account };
        self.read(self.deployment.rewards, &claimed).await
    }

    /// The schedules that pay somebody, by number.
    pub async fn schedules_of(&self, beneficiary: Address) -> Result<Vec<u64>, ReadError> {
        let vesting = self.deployment.vesting;
        let count: u64 = self.read(vesting, &Vesting::countCall {}).await?.saturating_to();
        let mut found = Vec::new();
        for id in 0..count {
            let schedule = self.read(vesting, &Vesting::scheduleCall { id: U256::from(id) }).await?;
            if schedule.beneficiary == beneficiary {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// What a schedule can pay out now.
    pub async fn releasable(&self, schedule: u64) -> Result<Amount, ReadError> {
        let releasable = Vesting::releasableCall { id: U256::from(schedule) };
        amount(self.read(self.deployment.vesting, &releasable).await?)
    }
}
