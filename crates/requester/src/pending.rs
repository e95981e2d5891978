//! Orders of a wallet that were sent to a hub and are not locked yet: their money looks free, and is spoken for.
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use gleaner_chain::market::State;
use gleaner_chain::primitives::B256;
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

use crate::{Error, Purse, Turn};

/// An order that is not locked after so many seconds never will be.
const SECONDS_MAX: u64 = 600;

/// What is spoken for. While this lives, nobody else covers an order from the wallet.
#[derive(Debug)]
pub(crate) struct Pending {
    orders: Vec<Sent>,
    kept: Option<(PathBuf, Turn)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Sent {
    order: B256,
    needs: Amount,
    at: u64,
}

impl Pending {
    /// The orders of a purse that wait for their lock. Waits for others who spend from it.
    pub(crate) async fn read(purse: &Purse, waiting: impl FnOnce()) -> Result<Self, Error> {
        let Some(file) = &purse.file else { return Ok(Self { orders: Vec::new(), kept: None }) };
        let turn = Turn::take(file, waiting).await?;
        let path = file.with_extension("orders");
        // What cannot be read any more is forgotten: at worst an order has to be sent again.
        let text = std::fs::read(&path).unwrap_or_default();
        let sent: Vec<Sent> = serde_json::from_slice(&text).unwrap_or_default();
        let (mut orders, now) = (Vec::new(), now());
        for order in sent.into_iter().filter(|order| now.saturating_sub(order.at) < SECONDS_MAX) {
            if purse.market.order_state(order.order).await?.state == State::None {
                orders.push(order);
            }
        }
        Ok(Self { orders, kept: Some((path, turn)) })
    }

    /// What must be deposited for them and one more.
    pub(crate) fn and(&self, needs: Amount) -> Amount {
        Amount(self.orders.iter().fold(needs.0, |sum, order| sum.saturating_add(order.needs.0)))
    }

    /// Remembers one more.
    pub(crate) fn add(&mut self, order: B256, needs: Amount) -> Result<(), Error> {
        let Some((path, _turn)) = &self.kept else { return Ok(()) };
        self.orders.push(Sent { order, needs, at: now() });
        let text = serde_json::to_vec(&self.orders).expect("orders are plain data");
        std::fs::write(path, text).map_err(Error::file("write", path))
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
