//! Orders whose money is not locked yet.
use super::Trouble;
use super::clerk::Clerk;
use super::desk::Kind;
use gleaner_chain::market::{ReadError, State};
use gleaner_chain::order::Order;
use gleaner_chain::primitives::Bytes;
use gleaner_core::Event;
use gleaner_wire::JobId;

/// Orders that one transaction locks.
const ORDERS_PER_CALL: usize = 50;

impl Clerk {
    /// Has waiting orders locked, and tells the core of those that are, or cannot be. While a batch is on its way, the
    /// next one gathers.
    pub(super) async fn lock(&mut self) -> Result<(), Trouble> {
        if self.money.desk.is_busy(Kind::Lock)? {
            self.busy = true;
            return Ok(());
        }
        let waiting = self.keeper.ask(|core| core.orders_unlocked()).await?;
        let mut ready = Vec::new();
        for (job, signed) in waiting {
            let order = Order::from(&signed.order);
            let found = self.money.market.order_state(order.id(&self.money.domain)).await?;
            match found.state {
                State::Locked => {
                    let share_points = found.share_points;
                    self.keeper.tell(Event::OrderLocked { job, share_points }).await?;
                }
                State::None if ready.len() >= ORDERS_PER_CALL => self.busy = true,
                State::None => {
                    let signature = Bytes::from(signed.signature);
                    if self.would_lock(job, &order, signature.clone()).await? {
                        ready.push((order, signature));
                    }
                }
                State::Proposed | State::Disputed | State::Settled | State::Released => {
                    self.refuse(job, "its order was used before; submit the job again".to_owned()).await?;
                }
            }
        }
        if !ready.is_empty() {
            self.busy = true;
            self.money.desk.send(Kind::Lock, &self.money.market.lock_many(&ready))?;
        }
        Ok(())
    }

    /// Whether the chain would lock the order now. If not, the job ends with the reason.
    async fn would_lock(&self, job: JobId, order: &Order, signature: Bytes) -> Result<bool, Trouble> {
        let call = self.money.market.lock(order, signature);
        match self.money.market.preflight(self.money.account.address(), &call).await {
            Ok(()) => Ok(true),
            Err(ReadError::Refused(reason)) => {
                let advice = "`gleaner wallet show` shows your money, `gleaner wallet deposit` adds to it";
                self.refuse(job, format!("its money cannot be locked: {reason}. {advice}")).await?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn refuse(&self, job: JobId, reason: String) -> Result<(), Trouble> {
        Ok(self.keeper.tell(Event::OrderRefused { job, reason }).await?)
    }
}
