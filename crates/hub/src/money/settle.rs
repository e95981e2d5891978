//! Ended orders: reckoned from their receipts, settled in batches, booked when the chain has closed them.
use super::clerk::Clerk;
use super::desk::Kind;
use super::{Money, Trouble, convert};
use crate::journal::{EndedOrder, RECEIPTS_PER_ROW};
use gleaner_chain::market::{Call, DisputeStage, OrderState, PaidEvent, State};
use gleaner_chain::order::{Order, Settlement};
use gleaner_chain::primitives::{B256, Bytes};
use gleaner_chain::receipt::Receipt;
use gleaner_core::{Closing, Event};
use gleaner_wire::{Amount, JobId, WorkerId};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Orders that one transaction settles.
const ORDERS_PER_CALL: usize = 50;
/// Payouts that one transaction makes.
const PAYOUTS_PER_CALL: usize = 400;
/// Ended orders looked at in a round.
const ENDED_PER_ROUND: u32 = 500;
/// How long a requester may take to approve before the settlement is proposed without it.
const APPROVAL_WAIT: Duration = Duration::from_secs(10);
/// How often the wait between two tries doubles, from a second on.
const TRIES_DOUBLED_MAX: u32 = 9;

/// How often something was sent for an ended order, so that what the chain refuses is not sent again at once.
pub(super) struct Tries {
    first_seen: Instant,
    count: u32,
    next: Instant,
}

impl Default for Tries {
    fn default() -> Self {
        Self { first_seen: Instant::now(), count: 0, next: Instant::now() }
    }
}

impl Tries {
    /// Whether it may be tried now; each time the next one waits twice as long.
    pub(super) fn again(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        self.next = now + Duration::from_secs(1 << self.count.min(TRIES_DOUBLED_MAX));
        self.count += 1;
        true
    }

    /// How often it was tried.
    pub(super) fn count(&self) -> u32 {
        self.count
    }
}

/// What is to be done about an ended order.
enum Next {
    Settle(Settlement, Bytes),
    Finalize(Settlement),
    Call(Call),
    Wait,
    Close { paid: bool },
}

impl Clerk {
    /// Moves every ended order on by a step.
    pub(super) async fn settle(&mut self) -> Result<(), Trouble> {
        if self.money.desk.is_busy(Kind::Settle)? {
            self.busy = true;
            return Ok(());
        }
        let (mut settle, mut finalize, mut payouts) = (Vec::new(), Vec::new(), 0);
        let open = self.money.archive.open_orders(JobId(0), ENDED_PER_ROUND).await?;
        let now = if open.is_empty() { 0 } else { self.money.now().await? };
        for ended in open {
            match self.next(&ended, now).await? {
                Next::Settle(settlement, approval) => {
                    payouts += settlement.payouts.len();
                    if settle.is_empty() || (settle.len() < ORDERS_PER_CALL && payouts <= PAYOUTS_PER_CALL) {
                        settle.push((settlement, approval));
                    }
                }
                Next::Finalize(settlement) => {
                    payouts += settlement.payouts.len();
                    if finalize.is_empty() || (finalize.len() < ORDERS_PER_CALL && payouts <= PAYOUTS_PER_CALL) {
                        finalize.push(settlement);
                    }
                }
                Next::Call(call) => {
                    self.money.desk.send(Kind::Settle, &call)?;
                    self.busy = true;
                }
                Next::Wait => {}
                Next::Close { paid } => self.close(&ended, paid).await?,
            }
        }
        if !settle.is_empty() {
            self.busy = true;
            self.money.desk.send(Kind::Settle, &self.money.market.settle_many(&settle))?;
        }
        if !finalize.is_empty() {
            self.busy = true;
            self.money.desk.send(Kind::Settle, &self.money.market.finalize_many(&finalize))?;
        }
        Ok(())
    }

    async fn next(&mut self, ended: &EndedOrder, now: u64) -> Result<Next, Trouble> {
        let id = Order::from(&ended.signed.order).id(&self.money.domain);
        let found = self.money.market.order_state(id).await?;
        Ok(match found.state {
            // A lock may still be on its way; once it cannot come any more, there is nothing to settle.
            State::None if self.money.desk.is_busy(Kind::Lock)? => Next::Wait,
            State::None => Next::Close { paid: false },
            State::Locked | State::Proposed if self.money.docket.awaits_accusation(ended.job)? => Next::Wait,
            State::Locked => self.next_of_locked(id, ended, &found, now).await?,
            State::Proposed => self.next_of_proposed(ended, &found, now).await?,
            State::Disputed => self.next_of_disputed(id, ended, &found, now).await?,
            State::Settled => Next::Close { paid: true },
            State::Released => Next::Close { paid: false },
        })
    }

    async fn next_of_locked(
        &mut self,
        id: B256,
        ended: &EndedOrder,
        found: &OrderState,
        now: u64,
    ) -> Result<Next, Trouble> {
        let approval = self.money.approval(ended.job);
        let tries = self.tries.entry(ended.job).or_default();
        if approval.is_none() && found.deadline < now {
            return Ok(if tries.again() { Next::Call(self.money.market.release(id)) } else { Next::Wait });
        }
        if approval.is_none() && tries.first_seen.elapsed() < APPROVAL_WAIT {
            return Ok(Next::Wait);
        }
        if !tries.again() {
            // Sent, and still locked: the chain did not take the approval.
            self.money.forget_approval(ended.job);
            return Ok(Next::Wait);
        }
        Ok(Next::Settle(self.reckon(ended).await?, approval.unwrap_or_default()))
    }

    async fn next_of_proposed(&mut self, ended: &EndedOrder, found: &OrderState, now: u64) -> Result<Next, Trouble> {
        let settlement = self.reckon(ended).await?;
        let again = self.tries.entry(ended.job).or_default().again();
        if let Some(approval) = self.money.approval(ended.job).filter(|_| again) {
            return Ok(Next::Settle(settlement, approval));
        }
        let due = found.proposal == settlement.hash() && found.final_at <= now;
        Ok(if due && again { Next::Finalize(settlement) } else { Next::Wait })
    }

    /// A dispute that is over is carried out: by us if we have won it or nobody has; who wins against us does it.
    async fn next_of_disputed(
        &mut self,
        id: B256,
        ended: &EndedOrder,
        found: &OrderState,
        now: u64,
    ) -> Result<Next, Trouble> {
        let market = &self.money.market;
        let dispute = market.dispute_state(found.dispute).await?;
        let call = match dispute.stage {
            DisputeStage::ForDefendant => {
                let settlement = self.reckon(ended).await?;
                self.money.market.conclude(&settlement)
            }
            DisputeStage::Expired => market.release(id),
            DisputeStage::Open if dispute.ends < now => market.expire(found.dispute),
            DisputeStage::Open | DisputeStage::ForClaimant | DisputeStage::None => return Ok(Next::Wait),
        };
        Ok(if self.tries.entry(ended.job).or_default().again() { Next::Call(call) } else { Next::Wait })
    }

    async fn reckon(&mut self, ended: &EndedOrder) -> Result<Settlement, Trouble> {
        if let Some(settlement) = self.reckoned.get(&ended.job) {
            return Ok(settlement.clone());
        }
        let settlement = self.money.reckon(ended).await?;
        self.reckoned.insert(ended.job, settlement.clone());
        Ok(settlement)
    }

    /// Books what the chain has done.
    async fn close(&mut self, ended: &EndedOrder, paid: bool) -> Result<(), Trouble> {
        let id = Order::from(&ended.signed.order).id(&self.money.domain);
        let payments = if paid { self.money.market.payments_of(id).await? } else { Vec::new() };
        let (booked, fee, rest) = match ended.locked {
            true => (ended.dues.iter().map(|due| (due.worker, due.net)).collect(), ended.fee(), ended.rest()),
            false => (Vec::new(), Amount::ZERO, Amount::ZERO),
        };
        let requester = ended.signed.order.requester.to_string();
        let is_paid = paid;
        let paid = paid_to(ended, &payments);
        let closing = Closing { job: ended.job, requester, booked, fee, rest, paid };
        self.keeper.tell(Event::OrderClosed(closing)).await?;
        if let Some(summary) = self.money.archive.summary(ended.job).await? {
            self.traces.settled(&summary, is_paid, payments.len());
        }
        self.tries.remove(&ended.job);
        self.reckoned.remove(&ended.job);
        self.money.forget_approval(ended.job);
        Ok(())
    }
}

impl Money {
    /// The time that the next block will have, as far as can be known: the newest block's, or ours if that is later, since
    /// a chain without transactions may stand still.
    pub(super) async fn now(&self) -> Result<u64, Trouble> {
        let ours = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Ok(self.market.now().await?.max(ours))
    }

    /// How an ended order is to be split.
    pub(super) async fn reckon(&self, ended: &EndedOrder) -> Result<Settlement, Trouble> {
        let id = Order::from(&ended.signed.order).id(&self.domain);
        let mut receipts = Vec::new();
        for first in (0..ended.receipts).step_by(RECEIPTS_PER_ROW) {
            receipts.extend(self.receipts(id, ended.job, first).await?);
        }
        Ok(convert::settlement(id, ended, &receipts))
    }

    /// Some receipts of an ended order, as the chain writes them.
    pub(super) async fn receipts(&self, id: B256, job: JobId, first: u64) -> Result<Vec<Receipt>, Trouble> {
        let receipts = self.archive.receipts(job, first).await?;
        Ok(receipts.iter().map(|receipt| convert::receipt(id, receipt)).collect())
    }
}

/// Which worker each payment was for. Payments of our own settlement come in the order of its dues.
fn paid_to(ended: &EndedOrder, payments: &[PaidEvent]) -> Vec<(WorkerId, Amount)> {
    let mut dues: Vec<_> = ended.dues.iter().collect();
    let paid = payments.iter().filter_map(|payment| {
        let of = dues.iter().position(|due| convert::address(due.provider) == payment.provider);
        // A dispute may have been won by somebody that this hub has not booked anything for.
        let due = dues.remove(of?);
        Some((due.worker, Amount(payment.gross.0 - payment.fee.0)))
    });
    paid.collect()
}
