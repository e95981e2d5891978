//! What an account is owed by nobody's further decision: orders that were never settled, and shares of node rewards.
use gleaner_chain::market::{Call, EpochStage, Market, ReadError, State};
use gleaner_chain::primitives::{Address, B256};
use gleaner_chain::rewards;
use gleaner_requester::Purse;
use gleaner_wire::{Amount, Asker};
use serde::Serialize;

use crate::wallet::{Moved, turn};
use crate::{Desk, Error};

/// Epochs that are looked at, newest first.
const EPOCHS_MAX: usize = 120;
/// Transactions for one request; whoever has more to get asks again.
const TOGETHER_MAX: usize = 20;

/// Money of orders whose hub did not settle them in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = OverdueOrders)]
pub(crate) struct Overdue {
    /// What can be released now.
    amount: Amount,
    /// How many orders lock it.
    orders: u64,
    /// Unix seconds of the next deadline, of those that are still to come.
    next_deadline: Option<u64>,
}

/// Node rewards, and what of them is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = NodeRewards)]
pub(crate) struct RewardsView {
    /// What can be claimed now.
    due: Amount,
    /// The epochs that were shared, newest first.
    items: Vec<RewardLine>,
    /// Always null: there is no next page.
    next: Option<String>,
}

/// An account's share of an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = NodeReward)]
pub(crate) struct RewardLine {
    /// Its number.
    epoch: u64,
    /// How far it has come.
    #[schema(value_type = String, pattern = "^(open|published|contested|final)$")]
    stage: EpochStage,
    /// What all shares come to.
    total: Amount,
    /// The account's share.
    share: Amount,
    /// Whether the account has had it.
    claimed: bool,
    /// Whether it can be claimed now.
    due: bool,
    /// Unix seconds from which it can be claimed.
    final_at: u64,
    /// Whether the shares that were published are those that the payments on the chain make.
    right: bool,
}

impl Desk {
    /// What can be released of orders that nobody settled.
    pub(crate) async fn overdue(&self, asker: &Asker) -> Result<Overdue, Error> {
        let (_, purse) = self.purse(asker).await?;
        Ok(late(&purse).await?.0)
    }

    /// Gives the money of orders back that nobody settled before their deadline.
    pub(crate) async fn release(&self, asker: &Asker, key: &str) -> Result<Moved, Error> {
        let (account, purse) = self.purse(asker).await?;
        self.once(&account, key, "release", async || {
            let _turn = turn(&purse).await?;
            let (overdue, late) = late(&purse).await?;
            let none = || Error::NotNow("no order of yours is past its deadline without a settlement".into());
            let calls = late.iter().map(|(id, locked)| (purse.market.release(*id), *locked));
            if overdue.orders == 0 { Err(none()) } else { all_sent(&purse, calls).await }
        })
        .await
    }

    /// An account's shares of the node rewards.
    pub(crate) async fn rewards(&self, asker: &Asker) -> Result<RewardsView, Error> {
        let (account, purse) = self.purse(asker).await?;
        // All payments of each epoch are read for it, so nobody has that done many times at once.
        let _turn = self.inner.turns.of(&account.id).await;
        let shares = shares(&purse.market, purse.account.address()).await?;
        let due = shares.iter().filter(|(line, _)| line.due).map(|(line, _)| line.share.0);
        let due = Amount(due.fold(0, u64::saturating_add));
        Ok(RewardsView { due, items: shares.into_iter().map(|(line, _)| line).collect(), next: None })
    }

    /// Claims the shares that are due, oldest first.
    pub(crate) async fn claim_rewards(&self, asker: &Asker, key: &str) -> Result<Moved, Error> {
        let (account, purse) = self.purse(asker).await?;
        self.once(&account, key, "claim rewards", async || {
            let _turn = turn(&purse).await?;
            let shares = shares(&purse.market, purse.account.address()).await?;
            let due = shares.into_iter().rev().filter(|(line, _)| line.due);
            let calls: Vec<_> = due.filter_map(|(line, claim)| Some((claim?, line.share))).collect();
            let none = || Error::NotNow("no node rewards of yours can be claimed now".into());
            if calls.is_empty() { Err(none()) } else { all_sent(&purse, calls.into_iter()).await }
        })
        .await
    }
}

type Locked = (B256, Amount);

/// The orders that can be released, and what they come to.
async fn late(purse: &Purse) -> Result<(Overdue, Vec<Locked>), gleaner_requester::Error> {
    let (market, address) = (&purse.market, purse.account.address());
    let (now, open) = (market.now().await?, market.open_orders(address).await?);
    let waiting: Vec<_> = open.iter().filter(|(_, order)| order.state == State::Locked).collect();
    let is_late = |deadline: u64| deadline < now;
    let late = waiting.iter().filter(|(_, order)| is_late(order.deadline));
    let late: Vec<Locked> = late.map(|(id, order)| (*id, order.locked())).collect();
    let next = waiting.iter().map(|(_, order)| order.deadline).filter(|deadline| !is_late(*deadline)).min();
    let amount = Amount(late.iter().fold(0, |sum, (_, locked)| sum.saturating_add(locked.0)));
    Ok((Overdue { amount, orders: late.len() as u64, next_deadline: next }, late))
}

/// The account's share of each epoch, newest first, with the call that claims it.
async fn shares(market: &Market, account: Address) -> Result<Vec<(RewardLine, Option<Call>)>, Error> {
    let read = gleaner_requester::Error::from;
    let now = market.now().await.map_err(read)?;
    let mut lines = Vec::new();
    for epoch in market.published_epochs().await.map_err(read)?.into_iter().rev().take(EPOCHS_MAX) {
        let state = market.epoch_state(epoch).await.map_err(read)?;
        let shares = market.epoch_shares(epoch).await.map_err(unread)?;
        let right = shares.root() == state.root && shares.total == state.total;
        let claim = shares.claim(account).filter(|_| right);
        let share = claim.as_ref().map_or(Amount::ZERO, |(amount, _)| *amount);
        let claimed = market.is_claimed(epoch, account).await.map_err(read)?;
        let due = is_open(state.stage, state.final_at, now) && !claimed && share > Amount::ZERO;
        let call = claim.map(|(amount, proof)| market.claim_reward(epoch, account, amount, proof));
        let (stage, total, final_at) = (state.stage, state.total, state.final_at);
        lines.push((RewardLine { epoch, stage, total, share, claimed, due, final_at, right }, call));
    }
    Ok(lines)
}

/// Whether shares of an epoch are paid out.
fn is_open(stage: EpochStage, final_at: u64, now: u64) -> bool {
    match stage {
        EpochStage::Final => true,
        EpochStage::Published => final_at <= now,
        EpochStage::Open | EpochStage::Contested => false,
    }
}

fn unread(error: rewards::Error) -> Error {
    let error = match error {
        rewards::Error::Read(error) => error,
        rewards::Error::Node(error) => error.into(),
        error @ (rewards::Error::NotEnded { .. } | rewards::Error::MissingBlock(_)) => {
            ReadError::Answer(error.to_string())
        }
    };
    gleaner_requester::Error::from(error).into()
}

/// Sends calls one after another. Each of them can be made once only, so whatever is cut short can be asked for again.
async fn all_sent(purse: &Purse, calls: impl Iterator<Item = (Call, Amount)>) -> Result<Moved, Error> {
    let mut moved = Moved { amount: Amount::ZERO, block: None };
    for (call, amount) in calls.take(TOGETHER_MAX) {
        let receipt = purse.send(&call).await?;
        moved = Moved { amount: Amount(moved.amount.0.saturating_add(amount.0)), block: Some(receipt.block_number) };
    }
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_paid_once_nobody_can_contest_them() {
        assert!(is_open(EpochStage::Final, 100, 1));
        assert!(is_open(EpochStage::Published, 100, 100));
        assert!(!is_open(EpochStage::Published, 100, 99));
        assert!(!is_open(EpochStage::Open, 0, 100) && !is_open(EpochStage::Contested, 0, 100));
    }
}
