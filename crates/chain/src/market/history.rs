//! What has happened to an account, read from the contracts' events.
use alloy_primitives::{Address, B256};
use alloy_sol_types::SolEvent;
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

use super::{Market, ReadError, amount};
use crate::contracts::{Escrow, Rewards, Stake, Token};
use crate::node::{Error as NodeError, LogEntry, LogFilter};

/// Blocks that are asked for at once; fewer if too much happened in them.
const BLOCKS_AT_ONCE: u64 = 10_000;
/// Orders that are asked for at once.
const ORDERS_AT_ONCE: usize = 100;

/// What a line of a history is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = WalletEvent))]
pub enum Kind {
    /// Tokens came in.
    Received,
    /// Tokens went out.
    Sent,
    /// Into Escrow.
    Deposited,
    /// Out of Escrow.
    Withdrawn,
    /// An order locked its cap and bond.
    Locked,
    /// What an order left over, and its bond.
    Refunded,
    /// Paid for work, the platform's share taken off.
    Earned,
    /// Staked.
    Staked,
    /// Stake on its way out.
    Unbonding,
    /// Stake taken out.
    Unstaked,
    /// Stake lost in a dispute.
    Slashed,
    /// A node reward.
    Reward,
    /// Put into a channel for small payments.
    IntoChannel,
    /// Redeemed from a channel, or what a closed one left over.
    OutOfChannel,
    /// Security for an accusation.
    Pledged,
    /// Awarded or given back by the court.
    Awarded,
}

impl Kind {
    /// Whether it makes the free money in Escrow more, less, or leaves it.
    pub fn sign(self) -> i8 {
        match self {
            Self::Deposited | Self::Refunded | Self::Earned | Self::OutOfChannel | Self::Awarded => 1,
            Self::Withdrawn | Self::Locked | Self::IntoChannel | Self::Pledged => -1,
            Self::Received | Self::Sent | Self::Staked | Self::Unbonding => 0,
            Self::Unstaked | Self::Slashed | Self::Reward => 0,
        }
    }
}

/// One line of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The block.
    pub block: u64,
    /// The transaction.
    pub transaction: B256,
    /// Its place among the logs of the block.
    pub index: u64,
    /// What happened.
    pub kind: Kind,
    /// How much.
    pub amount: Amount,
    /// Whom it was with, if anyone.
    pub with: Option<Address>,
}

/// A provider was paid for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaidEvent {
    /// The order.
    pub order: B256,
    /// Who was paid.
    pub provider: Address,
    /// What the requester paid.
    pub gross: Amount,
    /// What the platform took of it.
    pub fee: Amount,
    /// The block.
    pub block: u64,
}

impl Market {
    /// All payments for work in these blocks, in order.
    pub async fn paid_events(&self, from_block: u64, to_block: u64) -> Result<Vec<PaidEvent>, ReadError> {
        let topics = [vec![Escrow::Paid::SIGNATURE_HASH], vec![], vec![], vec![]];
        let logs = self.all_logs(from_block, to_block, vec![self.deployment.escrow], topics).await?;
        logs.iter().map(paid).collect()
    }

    /// What an order has paid, in order.
    pub async fn payments_of(&self, order: B256) -> Result<Vec<PaidEvent>, ReadError> {
        let topics = [vec![Escrow::Paid::SIGNATURE_HASH], vec![order], vec![], vec![]];
        let newest = self.node.height().await?;
        let logs = self.all_logs(self.deployment.block, newest, vec![self.deployment.escrow], topics).await?;
        logs.iter().map(paid).collect()
    }

    /// Every order that a hub has ever locked, with its cap.
    pub async fn locked_by(&self, hub: Address) -> Result<Vec<(B256, Amount)>, ReadError> {
        let topics = [vec![Escrow::Locked::SIGNATURE_HASH], vec![], vec![], vec![hub.into_word()]];
        let newest = self.node.height().await?;
        let logs = self.all_logs(self.deployment.block, newest, vec![self.deployment.escrow], topics).await?;
        let locked = logs.iter().map(|entry| {
            let event: Escrow::Locked = decoded(entry).ok_or_else(|| ReadError::Answer("not a lock".into()))?;
            Ok((event.id, amount(event.cap)?))
        });
        locked.collect()
    }

    /// All that has happened to an account in these blocks, in order.
    pub async fn history(&self, account: Address, from_block: u64, to_block: u64) -> Result<Vec<Entry>, ReadError> {
        let at = &self.deployment;
        let contracts = vec![at.token, at.escrow, at.stake, at.rewards];
        let topic = account.into_word();
        let mut logs = Vec::new();
        for place in 1..4 {
            let mut topics: [Vec<B256>; 4] = Default::default();
            topics[place] = vec![topic];
            logs.extend(self.all_logs(from_block, to_block, contracts.clone(), topics).await?);
        }
        logs.sort_by_key(|entry| (entry.block_number, entry.index));
        logs.dedup_by_key(|entry| (entry.block_number, entry.index));
        let lines = logs.iter().filter_map(|entry| self.line(account, entry).transpose());
        let mut entries: Vec<Entry> = lines.collect::<Result<_, _>>()?;
        entries.extend(self.refunds(account, from_block, to_block).await?);
        entries.sort_by_key(|entry| (entry.block, entry.index));
        Ok(entries)
    }

    /// What orders gave back. Their ends name the order alone, so it is looked up whose they are.
    async fn refunds(&self, account: Address, from_block: u64, to_block: u64) -> Result<Vec<Entry>, ReadError> {
        let orders: Vec<B256> = self.orders_of(account, to_block).await?;
        let mut entries = Vec::new();
        for some in orders.chunks(ORDERS_AT_ONCE) {
            let ends = vec![Escrow::Settled::SIGNATURE_HASH, Escrow::Released::SIGNATURE_HASH];
            let topics = [ends, some.to_vec(), vec![], vec![]];
            for entry in self.all_logs(from_block, to_block, vec![self.deployment.escrow], topics).await? {
                let settled = decoded::<Escrow::Settled>(&entry).map(|event| event.refunded);
                let released = || decoded::<Escrow::Released>(&entry).map(|event| event.refunded);
                let refunded = settled.or_else(released).filter(|refunded| !refunded.is_zero());
                let line = refunded.map(|refunded| (Kind::Refunded, refunded, None));
                entries.extend(entry_of(line, &entry)?);
            }
        }
        Ok(entries)
    }

    /// Every order that a requester had locked up to a block, oldest first.
    pub(super) async fn orders_of(&self, requester: Address, to_block: u64) -> Result<Vec<B256>, ReadError> {
        let topics = [vec![Escrow::Locked::SIGNATURE_HASH], vec![], vec![requester.into_word()], vec![]];
        let logs = self.all_logs(self.deployment.block, to_block, vec![self.deployment.escrow], topics).await?;
        Ok(logs.iter().filter_map(|entry| entry.log.data.topics().get(1).copied()).collect())
    }

    /// Logs of many blocks, asked for in pieces that a node answers.
    pub(crate) async fn all_logs(
        &self,
        from_block: u64,
        to_block: u64,
        addresses: Vec<Address>,
        topics: [Vec<B256>; 4],
    ) -> Result<Vec<LogEntry>, ReadError> {
        let (mut from, mut piece, mut found) = (from_block, BLOCKS_AT_ONCE, Vec::new());
        while from <= to_block {
            let last = to_block.min(from.saturating_add(piece - 1));
            let (addresses, topics) = (addresses.clone(), topics.clone());
            let filter = LogFilter { from_block: from, to_block: Some(last), addresses, topics };
            match self.node.logs(filter).await {
                Ok(logs) => {
                    found.extend(logs);
                    from = last + 1;
                }
                Err(NodeError::TooManyLogs) if piece > 1 => piece /= 2,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(found)
    }

    fn line(&self, account: Address, entry: &LogEntry) -> Result<Option<Entry>, ReadError> {
        let at = &self.deployment;
        let line = match entry.log.address {
            address if address == at.token => token_line(account, entry, at),
            address if address == at.escrow => escrow_line(account, entry).or_else(|| moved_line(account, entry, at)),
            address if address == at.stake => stake_line(account, entry),
            address if address == at.rewards => reward_line(entry),
            _ => None,
        };
        entry_of(line, entry)
    }
}

type Line = Option<(Kind, alloy_primitives::U256, Option<Address>)>;

fn entry_of(line: Line, entry: &LogEntry) -> Result<Option<Entry>, ReadError> {
    let Some((kind, value, with)) = line else { return Ok(None) };
    let amount = amount(value)?;
    let (block, transaction, index) = (entry.block_number, entry.transaction, entry.index);
    Ok(Some(Entry { block, transaction, index, kind, amount, with }))
}

pub(super) fn decoded<E: SolEvent>(entry: &LogEntry) -> Option<E> {
    let signature = entry.log.data.topics().first() == Some(&E::SIGNATURE_HASH);
    signature.then(|| E::decode_log_data(&entry.log.data).ok()).flatten()
}

fn paid(entry: &LogEntry) -> Result<PaidEvent, ReadError> {
    let event: Escrow::Paid = decoded(entry).ok_or_else(|| ReadError::Answer("not a payment".into()))?;
    let (gross, fee) = (amount(event.gross)?, amount(event.fee)?);
    Ok(PaidEvent { order: event.id, provider: event.provider, gross, fee, block: entry.block_number })
}

/// Transfers to and from our own contracts are told by those contracts.
fn token_line(account: Address, entry: &LogEntry, at: &crate::deploy::Deployment) -> Line {
    let event: Token::Transfer = decoded(entry)?;
    let ours = [at.escrow, at.stake, at.rewards];
    if ours.contains(&event.from) || ours.contains(&event.to) || event.from == event.to {
        return None;
    }
    match event.to == account {
        true => Some((Kind::Received, event.value, Some(event.from))),
        false => Some((Kind::Sent, event.value, Some(event.to))),
    }
}

fn escrow_line(account: Address, entry: &LogEntry) -> Line {
    if let Some(event) = decoded::<Escrow::Deposited>(entry) {
        return Some(match event.account == account {
            true => (Kind::Deposited, event.amount, Some(event.from)),
            false => (Kind::Sent, event.amount, Some(event.account)),
        });
    }
    if let Some(event) = decoded::<Escrow::Withdrawn>(entry) {
        return Some(match event.account == account {
            true => (Kind::Withdrawn, event.amount, Some(event.to)),
            false => (Kind::Received, event.amount, Some(event.account)),
        });
    }
    if let Some(event) = decoded::<Escrow::Locked>(entry) {
        return (event.requester == account).then_some((Kind::Locked, event.cap + event.bond, Some(event.hub)));
    }
    let event = decoded::<Escrow::Paid>(entry)?;
    Some((Kind::Earned, event.gross - event.fee, None))
}

/// Free money that the court or a channel moved.
fn moved_line(account: Address, entry: &LogEntry, at: &crate::deploy::Deployment) -> Line {
    let event: Escrow::Moved = decoded(entry)?;
    let kind = match (event.from, event.to) {
        (from, to) if from == account && to == at.vouchers => Kind::IntoChannel,
        (from, to) if from == account && to == at.court => Kind::Pledged,
        (from, to) if from == at.vouchers && to == account => Kind::OutOfChannel,
        (from, to) if from == at.court && to == account => Kind::Awarded,
        _ => return None,
    };
    Some((kind, event.amount, None))
}

fn stake_line(account: Address, entry: &LogEntry) -> Line {
    if let Some(event) = decoded::<Stake::Staked>(entry) {
        return Some(match event.account == account {
            true => (Kind::Staked, event.amount, Some(event.from)),
            false => (Kind::Sent, event.amount, Some(event.account)),
        });
    }
    if let Some(event) = decoded::<Stake::Unbonding>(entry) {
        return Some((Kind::Unbonding, event.amount, None));
    }
    if let Some(event) = decoded::<Stake::Claimed>(entry) {
        return Some((Kind::Unstaked, event.amount, None));
    }
    let event = decoded::<Stake::Slashed>(entry)?;
    Some((Kind::Slashed, event.amount, None))
}

fn reward_line(entry: &LogEntry) -> Line {
    let event = decoded::<Rewards::Claimed>(entry)?;
    Some((Kind::Reward, event.amount, None))
}
