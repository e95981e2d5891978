//! Node rewards: what each provider gets of an epoch, reckoned from the escrow's payments by everybody alike.
//!
//! A provider's share of the epoch's pool is its share of all paid work, but never more than a part of what was paid for
//! its work, and never more than the platform took of it. So who works for itself to gather rewards pays at least as
//! much as it gets. What the limits leave over stays where it is for later epochs.
//!
//! The pool is what the parameters emit in an epoch, or what the rewards contract has to give if that is less. Both are
//! read when the shares are reckoned, so whoever checks a root should do so within its challenge window.
use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::SolValue;
use gleaner_wire::Amount;

use crate::contracts::Rewards;
use crate::market::{EpochStage, Market, PaidEvent, ReadError, amount};
use crate::merkle::{self, Tree};
use crate::node::Node;

/// A payment for work, as far as rewards care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Who worked.
    pub provider: Address,
    /// What the requester paid.
    pub gross: Amount,
    /// What the platform took of it.
    pub fee: Amount,
}

impl From<PaidEvent> for Payment {
    fn from(event: PaidEvent) -> Self {
        Self { provider: event.provider, gross: event.gross, fee: event.fee }
    }
}

/// What a provider was paid in an epoch.
#[derive(Clone, Copy, Default)]
struct Work {
    gross: u128,
    fee: u128,
}

/// What one account gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Who.
    pub account: Address,
    /// How much.
    pub amount: Amount,
}

/// All shares of an epoch, in the order of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Which epoch, from 0.
    pub epoch: u64,
    /// What each gets; nobody is listed with nothing.
    pub shares: Vec<Share>,
    /// What they come to.
    pub total: Amount,
    tree: Tree,
}

/// Why the shares of an epoch could not be reckoned.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is too early.
    #[error("epoch {epoch} ends at {end} (Unix seconds), and the newest block is of {now}")]
    NotEnded {
        /// Which epoch.
        epoch: u64,
        /// When it ends.
        end: u64,
        /// What time it is.
        now: u64,
    },
    /// The chain could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The node did not answer.
    #[error(transparent)]
    Node(#[from] crate::node::Error),
    /// A block that should be there is not.
    #[error("block {0} is missing")]
    MissingBlock(u64),
}

impl Shares {
    /// The shares of these payments: `pool` in proportion to work, at most `cap_points` hundredths of a percent of it,
    /// and at most the fees that were paid for it.
    pub fn reckon(epoch: u64, payments: impl IntoIterator<Item = Payment>, pool: Amount, cap_points: u32) -> Self {
        let mut work = BTreeMap::<Address, Work>::new();
        for payment in payments {
            let entry = work.entry(payment.provider).or_default();
            entry.gross += u128::from(payment.gross.0);
            entry.fee += u128::from(payment.fee.0);
        }
        let all: u128 = work.values().map(|work| work.gross).sum();
        let shares = work.into_iter().filter_map(|(account, work)| {
            let amount = share(work, all, pool, cap_points)?;
            Some(Share { account, amount })
        });
        Self::of(epoch, shares.collect())
    }

    fn of(epoch: u64, shares: Vec<Share>) -> Self {
        let total = Amount(shares.iter().map(|share| share.amount.0).sum());
        let leaves = shares.iter().map(|share| leaf(epoch, share.account, share.amount)).collect();
        Self { epoch, shares, total, tree: Tree::new(leaves) }
    }

    /// What is published.
    pub fn root(&self) -> B256 {
        self.tree.root()
    }

    /// What an account claims, and the proof that it may.
    pub fn claim(&self, account: Address) -> Option<(Amount, Vec<B256>)> {
        let place = self.shares.binary_search_by_key(&account, |share| share.account).ok()?;
        Some((self.shares[place].amount, self.tree.proof(place)?))
    }
}

/// The hash that stands for a share, as the contract reckons it.
pub fn leaf(epoch: u64, account: Address, amount: Amount) -> B256 {
    merkle::leaf(&(U256::from(epoch), account, U256::from(amount.0)).abi_encode())
}

/// One provider's share; none if it comes to nothing.
fn share(work: Work, all: u128, pool: Amount, cap_points: u32) -> Option<Amount> {
    // All three factors come from a supply below 2^64 and a share below 2^14, except that the same money may be paid
    // again and again; wide numbers leave room for that.
    let gross = U256::from(work.gross);
    let proportion = (gross * U256::from(pool.0)).checked_div(U256::from(all))?;
    let cap = gross * U256::from(cap_points) / U256::from(10_000);
    let units: u64 = proportion.min(cap).min(U256::from(work.fee)).to();
    (units > 0).then_some(Amount(units))
}

impl Market {
    /// The shares of an epoch that has ended.
    pub async fn epoch_shares(&self, epoch: u64) -> Result<Shares, Error> {
        let (begin, end) = self.epoch_span(epoch).await?;
        let height = self.node.height().await?;
        let now = timestamp(&self.node, height).await?;
        if now < end {
            return Err(Error::NotEnded { epoch, end, now });
        }
        let start = self.deployment.block.min(height);
        let first = first_block_since(&self.node, begin, start, height).await?;
        let after = first_block_since(&self.node, end, first, height).await?;
        let paid = match after > first {
            true => self.paid_events(first, after - 1).await?,
            false => Vec::new(),
        };
        let (pool, cap) = self.reckoned_with(epoch).await?;
        Ok(Shares::reckon(epoch, paid.into_iter().map(Payment::from), pool, cap))
    }

    /// The pool and the cap of an epoch: as they were written down when it was published, else as they are now.
    async fn reckoned_with(&self, epoch: u64) -> Result<(Amount, u32), ReadError> {
        let found = self.epoch_state(epoch).await?;
        if found.stage != EpochStage::Open {
            return Ok((found.pool, found.cap_points));
        }
        let cap = self.parameter("rewardCapBps").await?;
        let cap = u32::try_from(cap).map_err(|_| ReadError::Answer(format!("{cap} is not a share")))?;
        Ok((self.reward_pool().await?, cap))
    }

    /// What the next epoch to be published may give away at most.
    pub async fn reward_pool(&self) -> Result<Amount, ReadError> {
        let emission = amount(self.parameter("emissionPerEpoch").await?)?;
        let available = amount(self.read(self.deployment.rewards, &Rewards::availableCall {}).await?)?;
        Ok(emission.min(available))
    }
}

/// The first block of `from..=to` that is not older than a time; `to + 1` if all are.
async fn first_block_since(node: &Node, time: u64, from: u64, to: u64) -> Result<u64, Error> {
    let (mut low, mut high) = (from, to + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        match timestamp(node, middle).await? < time {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}

async fn timestamp(node: &Node, number: u64) -> Result<u64, Error> {
    node.block(number).await?.map(|block| block.timestamp).ok_or(Error::MissingBlock(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(byte: u8) -> Address {
        Address::repeat_byte(byte)
    }

    /// Work of which the platform took everything, so that the fee limits nothing.
    fn paid(byte: u8, gross: u64) -> Payment {
        Payment { provider: who(byte), gross: Amount(gross), fee: Amount(gross) }
    }

    fn amounts(shares: &Shares) -> Vec<(Address, u64)> {
        shares.shares.iter().map(|share| (share.account, share.amount.0)).collect()
    }

    #[test]
    fn a_pool_is_shared_in_proportion_to_work_and_rounded_down() {
        let paid_out = [paid(2, 100), paid(1, 50), paid(2, 50)];
        let shares = Shares::reckon(3, paid_out, Amount(100), 10_000);
        assert_eq!(amounts(&shares), [(who(1), 25), (who(2), 75)]);
        let thirds = Shares::reckon(3, [1, 2, 3].map(|byte| paid(byte, 70)), Amount(100), 10_000);
        assert_eq!((amounts(&thirds)[0].1, thirds.total), (33, Amount(99)));
    }

    #[test]
    fn nobody_gets_more_than_the_capped_part_of_its_work() {
        let shares = Shares::reckon(0, [paid(1, 1_000), paid(2, 6)], Amount(1_000_000), 1_500);
        assert_eq!(amounts(&shares), [(who(1), 150)], "six units of work would earn less than one");
    }

    #[test]
    fn nobody_gets_more_than_the_fees_that_its_work_paid() {
        let fee_of = |fee, payment: Payment| Payment { fee: Amount(fee), ..payment };
        let lowered = [fee_of(30, paid(1, 1_000)), fee_of(20, paid(1, 500)), fee_of(0, paid(2, 6)), paid(3, 100)];
        let shares = Shares::reckon(0, lowered, Amount(1_000_000), 1_500);
        assert_eq!(amounts(&shares), [(who(1), 50), (who(3), 15)], "15 % would be 225, but the platform took 50");
    }

    #[test]
    fn no_work_and_no_pool_give_no_shares() {
        assert_eq!(Shares::reckon(0, [], Amount(5), 1_500).root(), B256::ZERO);
        assert_eq!(Shares::reckon(0, [paid(1, 0)], Amount(5), 1_500).total, Amount::ZERO);
        assert_eq!(Shares::reckon(0, [paid(1, 9)], Amount(0), 1_500).total, Amount::ZERO);
    }

    #[test]
    fn the_largest_numbers_do_not_wrap() {
        let same = (0..1_000).map(|_| paid(1, u64::MAX));
        let shares = Shares::reckon(0, same, Amount(u64::MAX), 10_000);
        assert_eq!(amounts(&shares), [(who(1), u64::MAX)]);
    }

    #[test]
    fn every_share_is_proved_and_bound_to_its_epoch() {
        let shares = Shares::reckon(4, (1..20).map(|byte| paid(byte, 1_000)), Amount(10_000), 10_000);
        for share in &shares.shares {
            let (amount, proof) = shares.claim(share.account).expect("a claim");
            assert!(merkle::verify(shares.root(), leaf(4, share.account, amount), &proof));
            assert!(!merkle::verify(shares.root(), leaf(5, share.account, amount), &proof));
        }
        assert_eq!(shares.claim(who(99)), None);
    }
}
