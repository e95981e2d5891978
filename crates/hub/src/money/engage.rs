//! Stake that is locked while its provider works.
use super::clerk::Clerk;
use super::desk::Kind;
use super::{Trouble, convert};
use gleaner_chain::order::Order;

/// Providers that one transaction names.
const PROVIDERS_PER_CALL: usize = 100;

impl Clerk {
    /// Names on the chain who has begun to work on which order. Whoever has too little free stake is not named, and is
    /// paid all the same: what is locked bounds what can be taken from it, not what it earns.
    pub(super) async fn engage(&mut self) -> Result<(), Trouble> {
        for (order, providers) in self.money.bell.engaged() {
            let id = Order::from(&order).id(&self.money.domain);
            let providers: Vec<_> = providers.into_iter().map(convert::address).collect();
            for some in providers.chunks(PROVIDERS_PER_CALL) {
                self.money.desk.send(Kind::Engage, &self.money.market.engage(id, some.to_vec()))?;
            }
        }
        Ok(())
    }
}
