//! What a hub wants to be paid for an ended job, beside what it delivered.
use std::collections::{BTreeMap, BTreeSet};

use gleaner_chain::market;
use gleaner_chain::order::Settlement;
use gleaner_chain::primitives::B256;
use gleaner_chain::receipt::{self, Mismatch, Receipt};
use gleaner_chain::views::{ReceiptsPage, SettlementView};
use gleaner_client::Client;
use gleaner_wire::{Amount, JobId, TaskId};

use crate::Error;
use crate::settle::settlement;

/// What a hub wants to be paid for an ended job, and what it delivered.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// Its settlement.
    pub found: SettlementView,
    receipts: Vec<Receipt>,
    /// The hash of every output, by group and element.
    outputs: BTreeMap<(u16, u32), B256>,
}

/// What is wrong with a settlement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The receipts do not make it up.
    #[error(transparent)]
    Receipts(#[from] Mismatch),
    /// It pays more than there can be.
    #[error("the payouts add up to more than there can be")]
    Overflow,
    /// It pays more than was agreed.
    #[error("it pays {gross} GLN, more than the cap of {cap} GLN")]
    OverCap {
        /// What it pays.
        gross: Amount,
        /// What was agreed.
        cap: Amount,
    },
    /// It pays for something that nobody delivered.
    #[error("task {0} is paid for with another output than was delivered")]
    OtherOutput(TaskId),
}

impl Claimed {
    /// Asks the hub.
    pub async fn read(client: &Client, job: JobId) -> Result<Self, Error> {
        let found = settlement(client, job).await?;
        Ok(Self { found, receipts: receipts(client, job).await?, outputs: outputs(client, job).await? })
    }

    /// Whether every unit is accounted for: the receipts make up the settlement, it stays within the cap, and every
    /// output that is paid for is the one that was delivered.
    pub fn check(&self) -> Result<(), Wrong> {
        let settlement = &self.found.settlement;
        receipt::verify(settlement, &self.receipts)?;
        let gross = settlement.gross().ok_or(Wrong::Overflow)?;
        let (order, locked) = (&self.found.order, [market::State::Locked, market::State::Proposed]);
        if locked.contains(&order.state) && gross > order.cap {
            return Err(Wrong::OverCap { gross, cap: order.cap });
        }
        match self.receipts.iter().find(|receipt| !self.is_delivered(receipt)) {
            Some(receipt) => Err(Wrong::OtherOutput(receipt.task)),
            None => Ok(()),
        }
    }

    fn is_delivered(&self, receipt: &Receipt) -> bool {
        let place = (receipt.task.group, receipt.task.index);
        receipt.output == B256::ZERO || self.outputs.get(&place) == Some(&receipt.output)
    }

    /// The settlement that is right: it pays each attempt once, and only for what was delivered.
    pub fn counter(&self) -> Result<Settlement, Error> {
        let order = self.found.settlement.order;
        let mut attempts = BTreeSet::new();
        let is_right = |receipt: &&Receipt| {
            receipt.order == order && attempts.insert(receipt.attempt) && self.is_delivered(receipt)
        };
        let receipts: Vec<Receipt> = self.receipts.iter().filter(is_right).cloned().collect();
        if receipt::verify(&self.found.settlement, &receipts).is_ok() {
            return Ok(self.found.settlement.clone());
        }
        let payouts = receipt::payouts(&receipts).ok_or(Error::Overflow)?;
        Ok(Settlement { order, receipts_root: receipt::tree(&receipts).root(), payouts })
    }
}

async fn receipts(client: &Client, job: JobId) -> Result<Vec<Receipt>, Error> {
    let (mut receipts, mut from) = (Vec::new(), Some(0));
    while let Some(at) = from {
        let page: ReceiptsPage = client.get(&format!("/jobs/{job}/receipts?from={at}")).await?;
        receipts.extend(page.receipts);
        from = page.next;
    }
    Ok(receipts)
}

/// The hash of every output of a job, by group and element.
async fn outputs(client: &Client, job: JobId) -> Result<BTreeMap<(u16, u32), B256>, Error> {
    let view = client.job(job).await?;
    let mut outputs = BTreeMap::new();
    for (number, group) in (0_u16..).zip(&view.groups) {
        let mut from = Some(u64::from(number) << 32);
        while let Some(at) = from {
            let page = client.results(job, Some(&group.name), at).await?;
            let found = page.results.iter().map(|result| ((number, result.index), B256::from(result.output.hash().0)));
            outputs.extend(found);
            from = page.next;
        }
    }
    Ok(outputs)
}
