//! How an order ended: what it paid and gave back, and the transaction that anybody can look up.
use alloy_primitives::{B256, U256};
use alloy_sol_types::SolEvent;
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

use super::history::decoded;
use super::{Market, ReadError, amount};
use crate::contracts::Escrow;
use crate::node::LogEntry;

/// The end of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderEnd {
    /// The transaction.
    pub transaction: B256,
    /// Its block.
    pub block: u64,
    /// What was paid, the platform's share included.
    pub gross: Amount,
    /// The platform's share.
    pub fee: Amount,
    /// What went back to the requester, bond included.
    pub refunded: Amount,
}

impl Market {
    /// How an order ended; none while it has not.
    pub async fn order_end(&self, order: B256) -> Result<Option<OrderEnd>, ReadError> {
        let ends = vec![Escrow::Settled::SIGNATURE_HASH, Escrow::Released::SIGNATURE_HASH];
        let newest = self.node.height().await?;
        let topics = [ends, vec![order], vec![], vec![]];
        let logs = self.all_logs(self.deployment.block, newest, vec![self.deployment.escrow], topics).await?;
        logs.last().map(end).transpose()
    }
}

fn end(entry: &LogEntry) -> Result<OrderEnd, ReadError> {
    let settled = decoded::<Escrow::Settled>(entry).map(|event| (event.gross, event.fee, event.refunded));
    let released = || decoded::<Escrow::Released>(entry).map(|event| (U256::ZERO, U256::ZERO, event.refunded));
    let found = settled.or_else(released).ok_or_else(|| ReadError::Answer("not the end of an order".into()))?;
    let (gross, fee, refunded) = (amount(found.0)?, amount(found.1)?, amount(found.2)?);
    Ok(OrderEnd { transaction: entry.transaction, block: entry.block_number, gross, fee, refunded })
}
