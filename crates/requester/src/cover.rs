//! A signed order whose money is there, and its way to the hub.
use std::time::{SystemTime, UNIX_EPOCH};

use gleaner_chain::order;
use gleaner_chain::primitives::B256;
use gleaner_client::{Client, Package};
use gleaner_core::plan;
use gleaner_wire::api::Submitted;
use gleaner_wire::{Address, Amount, Hash, Order, SignedOrder};

use crate::pending::Pending;
use crate::{Error, Purse};

/// How long an order outlasts its job: the hub settles within it, and past it anyone can give the money back.
const SETTLE_SECONDS: u64 = 24 * 3600;

/// An order that its requester has signed and has the money for. While it lives, nobody else spends from the wallet.
#[derive(Debug)]
pub struct Covered {
    /// The order.
    pub signed: SignedOrder,
    /// Its name on the chain.
    pub id: B256,
    /// What was deposited for it just now.
    pub deposited: Amount,
    needs: Amount,
    pending: Pending,
}

impl Covered {
    /// Signs an order over a packed job's cap, and deposits what is missing for it. `waiting` is called if others use the
    /// wallet for a while.
    pub async fn by(purse: &Purse, package: &Package<'_>, waiting: impl FnOnce()) -> Result<Self, Error> {
        let signed = sign(purse, package).await?;
        let needs = signed.order.cap.checked_add(signed.order.bond).ok_or(Error::TooMuch)?;
        let id = order::Order::from(&signed.order).id(&purse.market.domain());
        let pending = Pending::read(purse, waiting).await?;
        let deposited = purse.cover(pending.and(needs)).await?;
        Ok(Self { signed, id, deposited, needs, pending })
    }

    /// Submits the job with it.
    pub async fn send(mut self, client: &Client, package: &Package<'_>) -> Result<Submitted, Error> {
        let submitted = client.send(package, Some(&self.signed)).await?;
        self.pending.add(self.id, self.needs)?;
        Ok(submitted)
    }
}

async fn sign(purse: &Purse, package: &Package<'_>) -> Result<SignedOrder, Error> {
    // Mistakes in the file are better told by the hub, which knows their lines.
    let time_max = plan::plan(&package.file).map_or(Default::default(), |graph| graph.time_max);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Error::Clock)?.as_secs();
    // The deadline is by the chain's clock, which may be ahead of ours.
    let now = now.max(purse.market.now().await?);
    let cap = package.file.budget.price_max.unwrap_or(purse.view.price_max_default);
    let order = Order {
        requester: Address(purse.account.address().into_array()),
        hub: Address(purse.view.hub.into_array()),
        job: package.job(),
        cap,
        bond: cap.basis_points(purse.view.terms.bond_points),
        deadline: now + time_max.0.div_ceil(1000) + SETTLE_SECONDS,
        policy: Hash([0; 32]),
        nonce: package.submission(),
    };
    let signature = order::Order::from(&order).sign(&purse.market.domain(), &purse.account).to_vec();
    Ok(SignedOrder { order, signature })
}
