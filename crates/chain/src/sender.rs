//! Sends one transaction and waits until it counts: numbers it, pays its fee, bumps the fee when it lies too long,
//! sends it again when a re-organisation drops it.
//!
//! For commands that a person waits for. What must survive a crash goes through the outbox.
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256};
use tokio::time::Instant;

use crate::account::{Account, Draft, Signed};
use crate::embedded::CHAIN_ID;
use crate::market::words;
use crate::node::{CallError, Error as NodeError, Fees, Node, Receipt, SendError};

/// The chain id that nodes for development have by custom.
pub const DEVELOPMENT_CHAIN_ID: u64 = 31_337;
/// How long a node may say that a number is used before it shows the receipt: nodes do not update both at once.
const LAG: Duration = Duration::from_secs(10);

/// One call of a contract: all that a transaction says besides who pays for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The contract.
    pub to: Address,
    /// The function and its arguments.
    pub data: Bytes,
}

/// How patient a sender is, and how much it pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Blocks, its own included, after which a transaction counts.
    pub confirmations: u64,
    /// How often to look.
    pub poll: Duration,
    /// How long a transaction may lie before its fee is raised.
    pub bump_after: Duration,
    /// The most that is ever paid for a unit of gas.
    pub fee_max: u128,
    /// How long to wait in all.
    pub patience: Duration,
}

impl Policy {
    /// For the embedded chain: what is sent is in a block already.
    pub const EMBEDDED: Self = Self {
        confirmations: 1,
        poll: Duration::from_millis(5),
        bump_after: Duration::from_secs(30),
        fee_max: 0,
        patience: Duration::from_secs(60),
    };
    /// For a chain of others.
    pub const REMOTE: Self = Self {
        confirmations: 3,
        poll: Duration::from_secs(2),
        bump_after: Duration::from_secs(45),
        fee_max: 500_000_000_000,
        patience: Duration::from_secs(900),
    };

    /// For a node for development on this machine, which makes a block for every transaction and none without.
    pub const DEVELOPMENT: Self = Self { confirmations: 1, poll: Duration::from_millis(50), ..Self::REMOTE };

    /// The policy that suits a node of this chain.
    pub fn of(node: &Node, chain_id: u64) -> Self {
        match node {
            Node::Embedded(_) => Self::EMBEDDED,
            Node::Remote(_) if [DEVELOPMENT_CHAIN_ID, CHAIN_ID].contains(&chain_id) => Self::DEVELOPMENT,
            Node::Remote(_) => Self::REMOTE,
        }
    }

    /// What to pay at first: room for the base fee to double.
    pub fn first_fees(&self, now: Fees) -> Paid {
        let priority = now.priority.min(self.fee_max);
        Paid { fee_max: now.base.saturating_mul(2).saturating_add(priority).min(self.fee_max), priority }
    }

    /// What to pay instead: at least an eighth more, which is what nodes ask of a replacement, or what is usual now.
    /// Nothing if that would be more than is ever paid.
    pub fn bumped_fees(&self, before: Paid, now: Fees) -> Option<Paid> {
        let more = |fee: u128| fee.saturating_add(fee.div_ceil(8)).saturating_add(1);
        let usual = self.first_fees(now);
        let fee_max = more(before.fee_max).max(usual.fee_max);
        let priority = more(before.priority).max(usual.priority).min(fee_max);
        (fee_max <= self.fee_max).then_some(Paid { fee_max, priority })
    }
}

/// What a transaction pays for a unit of gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paid {
    /// At most this in all.
    pub fee_max: u128,
    /// Of which the block's maker gets this.
    pub priority: u128,
}

/// Why a transaction did not come to count.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The contract would refuse it, so it was not sent.
    #[error("not sent, since the contract would refuse it: {0}")]
    Refused(String),
    /// It is in a block, but the contract refused it.
    #[error("the contract refused transaction {hash} in block {block}")]
    Reverted {
        /// The transaction.
        hash: B256,
        /// Its block.
        block: u64,
    },
    /// It could not be sent.
    #[error("the transaction could not be sent")]
    Send(#[from] SendError),
    /// Another transaction of the account took its place.
    #[error("another transaction of {account} with the number {nonce} came first: is the key used elsewhere?")]
    Replaced {
        /// The account.
        account: Address,
        /// The number they share.
        nonce: u64,
    },
    /// It is in no block yet.
    #[error("transaction {hash} is in no block after {waited:?}; it may still come through")]
    Waiting {
        /// The last form of it.
        hash: B256,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The node did not answer.
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// Sends for any account through one node.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The chain.
    pub node: Node,
    /// How patient it is.
    pub policy: Policy,
}

impl Sender {
    /// A sender with the policy that suits a node of this chain.
    pub fn new(node: Node, chain_id: u64) -> Self {
        let policy = Policy::of(&node, chain_id);
        Self { node, policy }
    }

    /// Whether the chain makes blocks for transactions only, and none without.
    pub fn stands_still(&self, chain_id: u64) -> bool {
        match self.node {
            Node::Embedded(_) => true,
            Node::Remote(_) => [DEVELOPMENT_CHAIN_ID, CHAIN_ID].contains(&chain_id),
        }
    }

    /// Sends a call and waits until it counts.
    pub async fn send(&self, account: &Account, call: &Call) -> Result<Receipt, Failure> {
        self.send_to(account, Some(call.to), call.data.clone()).await
    }

    /// Deploys a contract, or calls one, and waits until it counts.
    pub async fn send_to(&self, account: &Account, to: Option<Address>, data: Bytes) -> Result<Receipt, Failure> {
        let draft = self.draft(account.address(), to, data).await?;
        let first = account.sign(&draft);
        match self.node.send_raw(first.raw.clone()).await {
            Ok(_) | Err(SendError::AlreadyKnown | SendError::Node(_)) => self.follow(account, draft, first).await,
            Err(error) => Err(error.into()),
        }
    }

    async fn draft(&self, from: Address, to: Option<Address>, data: Bytes) -> Result<Draft, Failure> {
        let gas = self.node.estimate(from, to, data.clone()).await.map_err(|error| match error {
            CallError::Node(error) => Failure::Node(error),
            CallError::Reverted { data, .. } => Failure::Refused(words::refusal(&data)),
            CallError::Failed(reason) => Failure::Refused(reason),
        })?;
        let paid = self.policy.first_fees(self.node.fees().await?);
        Ok(Draft {
            chain_id: self.node.chain_id().await?,
            nonce: self.node.nonce(from).await?,
            to,
            value: U256::ZERO,
            data,
            gas: gas + gas / 4,
            fee_max: paid.fee_max,
            priority: paid.priority,
        })
    }

    async fn follow(&self, account: &Account, mut draft: Draft, first: Signed) -> Result<Receipt, Failure> {
        let (begun, mut bumped, mut used) = (Instant::now(), Instant::now(), None);
        let mut sent = vec![first];
        loop {
            let last = sent.last().expect("the first one is there").clone();
            match self.look(&sent).await {
                Ok(Found::Counts(hash, receipt)) => return outcome(hash, receipt),
                Ok(Found::InBlock) | Err(NodeError::Unreachable { .. }) => {}
                Ok(Found::Nowhere) => {
                    self.check_not_replaced(account.address(), draft.nonce, &mut used).await?;
                    if bumped.elapsed() >= self.policy.bump_after {
                        bumped = Instant::now();
                        sent.extend(self.bump(account, &mut draft).await?);
                    }
                    // Harmless if the node knows it, needed if a re-organisation or a restart dropped it.
                    let _known = self.node.send_raw(sent.last().unwrap_or(&last).raw.clone()).await;
                }
                Err(error) => return Err(error.into()),
            }
            if begun.elapsed() >= self.policy.patience {
                return Err(Failure::Waiting { hash: last.hash, waited: self.policy.patience });
            }
            tokio::time::sleep(self.policy.poll).await;
        }
    }

    async fn bump(&self, account: &Account, draft: &mut Draft) -> Result<Option<Signed>, Failure> {
        let before = Paid { fee_max: draft.fee_max, priority: draft.priority };
        let Some(paid) = self.policy.bumped_fees(before, self.node.fees().await?) else { return Ok(None) };
        (draft.fee_max, draft.priority) = (paid.fee_max, paid.priority);
        Ok(Some(account.sign(draft)))
    }

    /// Fails once the number has been used for a while with no receipt for any of ours.
    async fn check_not_replaced(
        &self,
        account: Address,
        nonce: u64,
        used: &mut Option<Instant>,
    ) -> Result<(), Failure> {
        if self.node.nonce(account).await? <= nonce {
            *used = None;
            return Ok(());
        }
        let since = used.get_or_insert_with(Instant::now);
        if since.elapsed() > LAG { Err(Failure::Replaced { account, nonce }) } else { Ok(()) }
    }

    async fn look(&self, sent: &[Signed]) -> Result<Found, NodeError> {
        for signed in sent.iter().rev() {
            let Some(receipt) = self.node.receipt(signed.hash).await? else { continue };
            return Ok(match counts(&self.node, &receipt, self.policy.confirmations).await? {
                true => Found::Counts(signed.hash, receipt),
                false => Found::InBlock,
            });
        }
        Ok(Found::Nowhere)
    }
}

enum Found {
    Counts(B256, Receipt),
    InBlock,
    Nowhere,
}

/// Whether the receipt's block is still part of the chain and deep enough.
pub(crate) async fn counts(node: &Node, receipt: &Receipt, confirmations: u64) -> Result<bool, NodeError> {
    let height = node.height().await?;
    if height + 1 < receipt.block_number + confirmations {
        return Ok(false);
    }
    let block = node.block(receipt.block_number).await?;
    Ok(block.is_some_and(|block| block.hash == receipt.block_hash))
}

fn outcome(hash: B256, receipt: Receipt) -> Result<Receipt, Failure> {
    if receipt.success { Ok(receipt) } else { Err(Failure::Reverted { hash, block: receipt.block_number }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bumped_fee_is_an_eighth_higher_and_never_above_the_limit() {
        let policy = Policy { fee_max: 1_000, ..Policy::REMOTE };
        let now = Fees { base: 100, priority: 10 };
        let first = policy.first_fees(now);
        assert_eq!(first, Paid { fee_max: 210, priority: 10 });
        let second = policy.bumped_fees(first, now).expect("below the limit");
        assert!(second.fee_max * 8 >= first.fee_max * 9 && second.priority * 8 >= first.priority * 9);
        let dear = Fees { base: 300, priority: 50 };
        assert_eq!(policy.bumped_fees(first, dear), Some(Paid { fee_max: 650, priority: 50 }));
        assert_eq!(policy.bumped_fees(Paid { fee_max: 900, priority: 1 }, now), None);
    }
}
