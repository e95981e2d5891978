//! Orders whose money has not been paid out or given back.
use alloy_primitives::{Address, B256};
use gleaner_wire::Amount;

use super::{Market, OrderState, ReadError, State};

/// The newest orders of an account that are looked at.
const ORDERS_MAX: usize = 1_000;

impl Market {
    /// The open orders of a requester, oldest first. Of one that placed very many, the newest thousand are looked at.
    pub async fn open_orders(&self, requester: Address) -> Result<Vec<(B256, OrderState)>, ReadError> {
        let orders = self.orders_of(requester, self.node.height().await?).await?;
        let mut open = Vec::new();
        for id in orders.iter().skip(orders.len().saturating_sub(ORDERS_MAX)).copied() {
            let order = self.order_state(id).await?;
            match order.state {
                State::Locked | State::Proposed | State::Disputed => open.push((id, order)),
                State::None | State::Settled | State::Released => {}
            }
        }
        Ok(open)
    }
}

impl OrderState {
    /// What is locked of the requester's money. A bond that went into a dispute is not part of the order any more.
    pub fn locked(&self) -> Amount {
        match self.state {
            State::Locked | State::Proposed | State::Disputed => Amount(self.cap.0.saturating_add(self.bond.0)),
            State::None | State::Settled | State::Released => Amount::ZERO,
        }
    }
}
