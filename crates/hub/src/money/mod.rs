//! Money on a chain: orders are locked before their jobs run, and settled when they have ended.
//!
//! The books of the core say what is owed; the contracts hold the money. This room moves between the two and decides
//! nothing about either: what an order pays was decided by the core, whether that is right by the contracts.
mod accuse;
mod anchor;
mod bell;
mod clerk;
pub(crate) mod convert;
mod desk;
mod disputes;
mod docket;
mod draw;
mod engage;
mod faucet;
mod fiat;
mod lock;
mod nudge;
mod open;
mod reconcile;
mod rewards;
mod settle;
mod stakes;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use bell::Bell;
pub use disputes::DisputeView;
pub(crate) use disputes::Voted;
pub use docket::Error as DocketError;
pub(crate) use faucet::Gift;
pub use fiat::FiatConfig;
pub use gleaner_chain::views::{ApprovalView, ChainView, ReceiptsPage, SettlementView};
pub(crate) use open::open;
pub use open::{ChainConfig, Error as OpenError};
pub use reconcile::ReconcileView;
pub(crate) use view::Approved;

use clerk::Clerk;
use desk::Desk;
use docket::Docket;
use faucet::Faucet;
use fiat::Till;
use gleaner_chain::Account;
use gleaner_chain::market::{Market, ReadError};
use gleaner_chain::order::{Domain, Order};
use gleaner_chain::primitives::Bytes;
use gleaner_wire::{JobId, SignedOrder};
use nudge::Stillness;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

use crate::journal::{self, Archive};
use crate::keeper::{Handle, Unavailable};
use crate::proof::Receipts;
use crate::traces::Traces;

/// The hub's money: what requests ask of it, and what the clerk works with.
pub(crate) struct Money {
    market: Market,
    account: Account,
    domain: Domain,
    desk: Desk,
    bell: Bell,
    archive: Archive,
    faucet: Option<Faucet>,
    /// Where credits are sold, if they are.
    till: Option<Till>,
    /// Whose workers are, beacons, convictions and votes.
    docket: Docket,
    /// Open disputes as the clerk has last seen them.
    disputes: Mutex<Vec<DisputeView>>,
    /// Blocks that must have come after the one that gives a seed.
    confirmations: u64,
    /// Whether the chain makes blocks for transactions only.
    stands_still: bool,
    /// How long the chain has been at its height, on one that may do so as well.
    stillness: Stillness,
    /// Where clients reach the chain.
    url: String,
    /// How often the chain may be asked while something is on its way.
    pace: Duration,
    /// Requesters' signatures under settlements; one that is lost in a crash can be sent again.
    approvals: Mutex<BTreeMap<JobId, Bytes>>,
    /// Why the last round failed, if it did.
    trouble: Mutex<Option<String>>,
}

/// Why a round, or an answer, did not come about; the next one may.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// The chain did not answer, or not as it should.
    #[error(transparent)]
    Chain(#[from] ReadError),
    /// The chain's node did not answer.
    #[error(transparent)]
    Node(#[from] gleaner_chain::node::Error),
    /// The outbox could not be read or written.
    #[error(transparent)]
    Outbox(#[from] gleaner_chain::outbox::Error),
    /// The shares of node rewards could not be reckoned.
    #[error(transparent)]
    Rewards(#[from] gleaner_chain::rewards::Error),
    /// The books of the sale of credits failed.
    #[error(transparent)]
    Fiat(#[from] gleaner_chain::fiat::Error),
    /// The docket of proofs could not be read or written.
    #[error(transparent)]
    Docket(#[from] DocketError),
    /// A round could not be anchored.
    #[error("round {round} could not be anchored: {reason}")]
    Anchor {
        /// Which.
        round: u64,
        /// Why.
        reason: String,
    },
    /// The archive could not be read.
    #[error("the archive of ended jobs could not be read: {0}")]
    Archive(#[from] journal::Error),
    /// The keeper did not answer.
    #[error(transparent)]
    Keeper(#[from] Unavailable),
    /// A transaction failed.
    #[error(transparent)]
    Send(#[from] gleaner_chain::sender::Failure),
}

impl Money {
    /// Sets the clerk to work, until the hub stops.
    pub(crate) fn start(
        self: &Arc<Self>,
        keeper: Handle,
        receipts: Receipts,
        traces: Traces,
        stopping: watch::Receiver<bool>,
    ) {
        self.desk.start(stopping.clone());
        tokio::spawn(Clerk::new(Arc::clone(self), keeper, receipts, traces).run(stopping));
    }

    /// Refuses an order that is for another hub, or that its requester did not sign. Signatures of contract wallets are
    /// left to the chain.
    pub(crate) fn check_signature(&self, signed: &SignedOrder) -> Result<(), String> {
        let order = Order::from(&signed.order);
        if order.hub != self.account.address() {
            return Err(format!("the order is for another hub: this one is {}", self.account.address()));
        }
        if signed.signature.len() == 65 && !order.is_signed_by_requester(&self.domain, &signed.signature) {
            return Err("the signature under the order is not its requester's".to_owned());
        }
        Ok(())
    }

    /// What keeps money from moving at the moment.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn report(&self, trouble: &Trouble) {
        let text = trouble.to_string();
        let before = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).replace(text.clone());
        if before.as_ref() != Some(&text) {
            tracing::warn!(reason = text, "money does not move; it is tried again until it does");
        }
    }

    fn well(&self) {
        if self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            tracing::info!("money moves again");
        }
    }
}
