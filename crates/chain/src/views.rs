//! What a hub and its requesters tell each other of money, as JSON.
use alloy_primitives::{Address, Bytes};
use gleaner_wire::{Amount, JobId};
use serde::{Deserialize, Serialize};

use crate::deploy::Deployment;
use crate::market::{OrderState, Terms};
use crate::order::Settlement;
use crate::receipt::Receipt;

/// Where money is, and what must be known to sign an order for a hub.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChainView {
    /// The JSON-RPC address.
    pub url: String,
    /// Where the contracts are.
    pub deployment: Deployment,
    /// The account that locks and settles orders.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub hub: Address,
    /// What holds for new orders.
    pub terms: Terms,
    /// The price cap of a job that names none.
    pub price_max_default: Amount,
    /// Whether newcomers are given tokens.
    pub faucet: bool,
    /// What keeps money from moving at the moment.
    pub trouble: Option<String>,
}

/// How an ended job is paid for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettlementView {
    /// The job.
    pub job: JobId,
    /// Who pays whom how much.
    pub settlement: Settlement,
    /// How many receipts there are.
    pub receipts: u64,
    /// Where the order stands on the chain.
    pub order: OrderState,
    /// Whether the hub's books have followed the chain.
    pub closed: bool,
}

/// Some receipts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReceiptsPage {
    /// The receipts.
    pub receipts: Vec<Receipt>,
    /// Where the next page starts.
    pub next: Option<u64>,
}

/// A requester's signature under a settlement.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalView {
    /// The signature.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x([0-9a-fA-F]{2})*$"))]
    pub signature: Bytes,
}
