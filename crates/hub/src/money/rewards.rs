//! Node rewards: the hub publishes the shares of ended epochs. Any staked account may, and anyone can check them.
use super::Trouble;
use super::clerk::Clerk;
use super::desk::Kind;
use gleaner_chain::market::{Call, EpochStage, ReadError};
use gleaner_chain::rewards::Error;
use gleaner_wire::Amount;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How often ended epochs are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Epochs that may still want something; older ones are left to others.
const EPOCHS_BACK: u64 = 12;

/// What the clerk remembers of epochs, only to ask the chain less.
#[derive(Default)]
pub(super) struct Rewards {
    looked: Option<Instant>,
    done: BTreeSet<u64>,
    /// The schedules that the rewards are paid from.
    schedules: Option<Vec<u64>>,
}

impl Clerk {
    /// Moves ended epochs on by a step.
    pub(super) async fn share_rewards(&mut self) -> Result<(), Trouble> {
        let early = self.rewards.looked.is_some_and(|at| at.elapsed() < LOOK_EVERY);
        if early || self.money.desk.is_busy(Kind::Reward)? {
            return Ok(());
        }
        let running = self.money.market.epoch_now().await?;
        let first = running.saturating_sub(EPOCHS_BACK);
        self.rewards.done = self.rewards.done.split_off(&first);
        for epoch in first..running {
            if !self.rewards.done.contains(&epoch) && self.move_epoch_on(epoch).await? {
                self.busy = true;
                return Ok(());
            }
        }
        self.rewards.looked = Some(Instant::now());
        Ok(())
    }

    /// Says whether something was sent.
    async fn move_epoch_on(&mut self, epoch: u64) -> Result<bool, Trouble> {
        let found = self.money.market.epoch_state(epoch).await?;
        match found.stage {
            EpochStage::Open => self.publish(epoch).await,
            EpochStage::Published if found.final_at <= self.money.market.now().await? => {
                self.hand_in(&self.money.market.finish_rewards(epoch)).await
            }
            EpochStage::Published | EpochStage::Contested => Ok(false),
            EpochStage::Final => {
                self.rewards.done.insert(epoch);
                Ok(false)
            }
        }
    }

    async fn publish(&mut self, epoch: u64) -> Result<bool, Trouble> {
        if self.bring_what_has_vested().await? {
            return Ok(true);
        }
        let shares = match self.money.market.epoch_shares(epoch).await {
            // The next block will be past its end.
            Err(Error::NotEnded { .. }) => return Ok(false),
            shares => shares?,
        };
        if shares.total == Amount::ZERO {
            self.rewards.done.insert(epoch);
            return Ok(false);
        }
        self.hand_in(&self.money.market.publish_rewards(epoch, shares.root(), shares.total)).await
    }

    /// Rewards are paid from what has arrived at their contract, and anyone may send it there.
    async fn bring_what_has_vested(&mut self) -> Result<bool, Trouble> {
        let market = &self.money.market;
        let schedules = match &self.rewards.schedules {
            Some(known) => known.clone(),
            None => market.schedules_of(market.deployment.rewards).await?,
        };
        self.rewards.schedules = Some(schedules.clone());
        for schedule in schedules {
            if market.releasable(schedule).await? > Amount::ZERO {
                return self.hand_in(&market.release_vested(schedule)).await;
            }
        }
        Ok(false)
    }

    /// Hands a call in, unless the chain would refuse it: somebody else may have been faster, or the hub's stake is in use.
    async fn hand_in(&self, call: &Call) -> Result<bool, Trouble> {
        match self.money.market.preflight(self.money.account.address(), call).await {
            Ok(()) => {
                self.money.desk.send(Kind::Reward, call)?;
                Ok(true)
            }
            Err(ReadError::Refused(reason)) => {
                tracing::debug!(reason, "nothing is done about node rewards now");
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}
