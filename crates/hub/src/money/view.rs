//! What requests are told of money, and what they may say.
use super::{Money, Trouble, convert};
use crate::journal::EndedOrder;
use gleaner_chain::order::Order;
use gleaner_chain::primitives::{B256, Bytes};
use gleaner_chain::views::{ChainView, ReceiptsPage, SettlementView};
use gleaner_wire::{Amount, JobId};
use std::sync::PoisonError;

/// What became of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approved {
    /// It is used as soon as possible.
    Taken,
    /// There is nothing to approve.
    NoOrder,
    /// It is not the requester's.
    WrongSignature,
}

impl Money {
    /// Which chain its money is on.
    pub(crate) fn chain_id(&self) -> u64 {
        self.market.deployment.chain_id
    }

    /// Where money is.
    pub(crate) async fn view(&self, price_max_default: Amount) -> Result<ChainView, Trouble> {
        Ok(ChainView {
            url: self.url.clone(),
            deployment: self.market.deployment.clone(),
            hub: self.account.address(),
            terms: self.market.terms().await?,
            price_max_default,
            faucet: self.faucet.is_some(),
            trouble: self.trouble(),
        })
    }

    /// How an ended job is paid for.
    pub(crate) async fn settlement(&self, job: JobId) -> Result<Option<SettlementView>, Trouble> {
        let Some((ended, closed)) = self.archive.ended_order(job).await? else { return Ok(None) };
        let settlement = self.reckon(&ended).await?;
        let order = self.market.order_state(settlement.order).await?;
        Ok(Some(SettlementView { job, settlement, receipts: ended.receipts, order, closed }))
    }

    /// Some receipts of an ended job.
    pub(crate) async fn receipts_page(&self, job: JobId, from: u64) -> Result<Option<ReceiptsPage>, Trouble> {
        let Some((ended, _)) = self.archive.ended_order(job).await? else { return Ok(None) };
        let receipts = self.receipts(self.id_of(&ended), job, from).await?;
        let next = from + receipts.len() as u64;
        Ok(Some(ReceiptsPage { next: (next < ended.receipts && !receipts.is_empty()).then_some(next), receipts }))
    }

    /// Takes a requester's approval.
    pub(crate) async fn approve(&self, job: JobId, signature: Bytes) -> Result<Approved, Trouble> {
        let Some((ended, false)) = self.archive.ended_order(job).await? else { return Ok(Approved::NoOrder) };
        let settlement = self.reckon(&ended).await?;
        let requester = convert::address(ended.signed.order.requester);
        let is_signed = signature.len() == 65 && settlement.is_approved_by(&self.domain, requester, &signature);
        // What a contract wallet signs is left to the chain.
        if !is_signed && self.market.node.code(requester).await?.is_empty() {
            return Ok(Approved::WrongSignature);
        }
        let mut approvals = self.approvals.lock().unwrap_or_else(PoisonError::into_inner);
        if is_signed {
            approvals.insert(job, signature);
        } else {
            approvals.entry(job).or_insert(signature);
        }
        drop(approvals);
        self.bell.ring();
        Ok(Approved::Taken)
    }

    pub(super) fn approval(&self, job: JobId) -> Option<Bytes> {
        self.approvals.lock().unwrap_or_else(PoisonError::into_inner).get(&job).cloned()
    }

    pub(super) fn forget_approval(&self, job: JobId) {
        self.approvals.lock().unwrap_or_else(PoisonError::into_inner).remove(&job);
    }

    pub(super) fn id_of(&self, ended: &EndedOrder) -> B256 {
        Order::from(&ended.signed.order).id(&self.domain)
    }
}
