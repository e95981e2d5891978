//! How the keeper tells the clerk of the money that there is something to look at.
use gleaner_wire::{Address, Order};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Orders whose workers wait to be named on the chain. A provider is named once for an order, so this is bounded by the
/// work that runs.
type Engagements = BTreeMap<u128, (Order, BTreeSet<Address>)>;

/// The keeper's way to the clerk. It never waits.
#[derive(Clone, Default)]
pub(crate) struct Bell {
    rung: Arc<Notify>,
    engagements: Arc<Mutex<Engagements>>,
}

impl Bell {
    /// Something has changed that the clerk finds by itself.
    pub(crate) fn ring(&self) {
        self.rung.notify_one();
    }

    /// A provider has begun to work on an order.
    pub(crate) fn engage(&self, order: &Order, provider: Address) {
        let mut engagements = self.engagements.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = engagements.entry(order.nonce).or_insert_with(|| (order.clone(), BTreeSet::new()));
        entry.1.insert(provider);
        self.rung.notify_one();
    }

    /// Takes what is to be named on the chain.
    pub(super) fn engaged(&self) -> Vec<(Order, Vec<Address>)> {
        let taken = std::mem::take(&mut *self.engagements.lock().unwrap_or_else(PoisonError::into_inner));
        taken.into_values().map(|(order, providers)| (order, providers.into_iter().collect())).collect()
    }

    /// Waits until it is rung.
    pub(super) async fn heard(&self) {
        self.rung.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::{Amount, Hash};

    #[test]
    fn a_provider_is_named_once_for_an_order() {
        let bell = Bell::default();
        let order = Order {
            requester: Address([1; 20]),
            hub: Address([2; 20]),
            job: Hash([3; 32]),
            cap: Amount(1),
            bond: Amount(0),
            deadline: 9,
            policy: Hash([0; 32]),
            nonce: 4,
        };
        for provider in [7, 8, 7] {
            bell.engage(&order, Address([provider; 20]));
        }
        let engaged = bell.engaged();
        assert_eq!(engaged, [(order, vec![Address([7; 20]), Address([8; 20])])]);
        assert!(bell.engaged().is_empty(), "what was taken is gone");
    }
}
