//! A requester's word on the settlement of an ended job, and what the chain made of it.
use std::time::Duration;

use gleaner_chain::order::Settlement;
use gleaner_chain::primitives::Address;
use gleaner_chain::views::{ApprovalView, SettlementView};
use gleaner_client::Client;
use gleaner_wire::{Amount, JobId};
use tokio::time::{Instant, sleep};

use crate::{Claimed, Error, Purse};

/// How long to wait for the chain to settle what was approved.
const SETTLED_WITHIN: Duration = Duration::from_secs(120);
/// How long an ended job may take to get into the archive.
const ARCHIVED_WITHIN: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How an order ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// What was paid.
    pub settlement: Settlement,
    /// What the platform took of it.
    pub fee: Amount,
}

/// Whether an ended job of this requester's is not settled yet.
pub async fn awaits_approval(client: &Client, job: JobId, requester: Address) -> Result<bool, Error> {
    match client.get::<SettlementView>(&format!("/jobs/{job}/settlement")).await {
        Ok(found) => Ok(!found.closed && found.order.requester == requester),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Checks what an ended job is to be paid for, approves it if it is right, and waits until the chain has paid. Done again,
/// it says the same.
pub async fn settle(client: &Client, purse: &Purse, job: JobId) -> Result<Settled, Error> {
    let claimed = Claimed::read(client, job).await?;
    if claimed.found.closed {
        return paid(purse, claimed.found.settlement).await;
    }
    if let Err(reason) = claimed.check() {
        return Err(Error::NotApproved { job, reason, window: purse.view.terms.challenge_window });
    }
    let settlement = claimed.found.settlement;
    let signature = settlement.approve(&purse.market.domain(), &purse.account);
    let _taken: () = client.put_in(&format!("/jobs/{job}/approval"), &ApprovalView { signature }).await?;
    let deadline = Instant::now() + SETTLED_WITHIN;
    while !self::settlement(client, job).await?.closed {
        if Instant::now() > deadline {
            return Err(Error::NotSettled(job));
        }
        sleep(LOOK_EVERY).await;
    }
    paid(purse, settlement).await
}

async fn paid(purse: &Purse, settlement: Settlement) -> Result<Settled, Error> {
    let paid = purse.market.payments_of(settlement.order).await?;
    let fee = Amount(paid.iter().map(|payment| payment.fee.0).sum());
    Ok(Settled { settlement, fee })
}

/// What the hub says that an ended job is to be paid for.
pub(crate) async fn settlement(client: &Client, job: JobId) -> Result<SettlementView, Error> {
    let deadline = Instant::now() + ARCHIVED_WITHIN;
    loop {
        match client.get(&format!("/jobs/{job}/settlement")).await {
            Ok(view) => return Ok(view),
            // An ended job is archived a moment later.
            Err(error) if error.is_not_found() && Instant::now() < deadline => sleep(LOOK_EVERY).await,
            Err(error) => return Err(error.into()),
        }
    }
}
