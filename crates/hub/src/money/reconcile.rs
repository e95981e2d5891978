//! Whether the hub's books and the chain agree, to the last unit.
use super::{Money, Trouble};
use crate::journal::EndedOrder;
use crate::keeper::Handle;
use gleaner_chain::market::{PaidEvent, State};
use gleaner_chain::order::Order;
use gleaner_chain::primitives::B256;
use gleaner_wire::{Amount, JobId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Ended orders that are read at a time.
const PAGE: u32 = 1000;
/// Differences that are listed.
const LISTED_MAX: usize = 1000;

/// What comparing the books with the chain gave.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ReconcileView {
    /// Whether everything agrees.
    pub agrees: bool,
    /// The chain's newest block when it was asked.
    pub height: u64,
    /// Orders that were compared.
    pub orders: u64,
    /// Of those, orders that are open on the chain.
    pub open: u64,
    /// What the books hold for open orders.
    pub booked: Amount,
    /// What the chain holds locked for this hub's orders, without bonds.
    pub locked: Amount,
    /// What was paid to providers, by the chain.
    pub paid: Amount,
    /// What the platform took, by the chain.
    pub fees: Amount,
    /// What does not agree, in words.
    pub differences: Vec<String>,
}

impl ReconcileView {
    fn differ(&mut self, what: String) {
        if self.differences.len() < LISTED_MAX {
            self.differences.push(what);
        }
    }
}

impl Money {
    /// Compares every order that this hub knows, or that the chain knows of this hub.
    pub(crate) async fn reconcile(&self, keeper: &Handle) -> Result<ReconcileView, Trouble> {
        let mut view = ReconcileView { height: self.market.node.height().await?, ..ReconcileView::default() };
        let books =
            |core: &gleaner_core::Core| (core.orders_running(), core.orders_unlocked(), core.ledger_view().issued);
        let (running, waiting, issued) = keeper.ask(books).await?;
        let mut payments: BTreeMap<B256, Vec<PaidEvent>> = BTreeMap::new();
        for payment in self.market.paid_events(self.market.deployment.block, view.height).await? {
            payments.entry(payment.order).or_default().push(payment);
        }
        let mut known = BTreeSet::new();
        for (job, signed) in &waiting {
            let id = Order::from(&signed.order).id(&self.domain);
            known.insert(id);
            let found = self.market.order_state(id).await?;
            if found.state != State::None {
                let text = format!("job {job} has {} GLN locked on the chain, and not in the books yet", found.cap);
                view.differ(text);
            }
        }
        for (job, signed, _) in &running {
            let id = Order::from(&signed.order).id(&self.domain);
            known.insert(id);
            self.compare_running(&mut view, *job, id, signed.order.cap).await?;
        }
        self.compare_ended(&mut view, &mut known, &payments).await?;
        for (id, cap) in self.market.locked_by(self.account.address()).await? {
            if !known.contains(&id) {
                view.differ(format!("the chain has locked {cap} GLN for order {id}, of which this hub knows nothing"));
            }
        }
        view.booked = issued;
        if view.booked != view.locked {
            let text = format!("the books hold {} GLN for open orders, the chain {} GLN", view.booked, view.locked);
            view.differ(text);
        }
        view.agrees = view.differences.is_empty();
        Ok(view)
    }

    async fn compare_running(
        &self,
        view: &mut ReconcileView,
        job: JobId,
        id: B256,
        cap: Amount,
    ) -> Result<(), Trouble> {
        let found = self.market.order_state(id).await?;
        (view.orders, view.open) = (view.orders + 1, view.open + 1);
        if found.state == State::Locked && found.cap == cap {
            view.locked = Amount(view.locked.0 + cap.0);
        } else {
            view.differ(format!(
                "job {job} runs on {cap} GLN, and its order is {:?} with {} GLN",
                found.state, found.cap
            ));
        }
        Ok(())
    }

    async fn compare_ended(
        &self,
        view: &mut ReconcileView,
        known: &mut BTreeSet<B256>,
        payments: &BTreeMap<B256, Vec<PaidEvent>>,
    ) -> Result<(), Trouble> {
        for closed in [false, true] {
            let mut from = JobId(0);
            loop {
                let orders = match closed {
                    false => self.archive.open_orders(from, PAGE).await?,
                    true => self.archive.closed_orders(from, PAGE).await?,
                };
                let Some(last) = orders.last().map(|order| order.job) else { break };
                for ended in &orders {
                    let id = self.id_of(ended);
                    known.insert(id);
                    let paid = payments.get(&id).map(Vec::as_slice).unwrap_or_default();
                    self.compare_one(view, ended, id, closed, paid).await?;
                }
                from = JobId(last.0 + 1);
            }
        }
        Ok(())
    }

    async fn compare_one(
        &self,
        view: &mut ReconcileView,
        ended: &EndedOrder,
        id: B256,
        closed: bool,
        paid: &[PaidEvent],
    ) -> Result<(), Trouble> {
        let found = self.market.order_state(id).await?;
        view.orders += 1;
        let gross: u64 = paid.iter().map(|payment| payment.gross.0).sum();
        let fees: u64 = paid.iter().map(|payment| payment.fee.0).sum();
        view.paid = Amount(view.paid.0 + gross - fees);
        view.fees = Amount(view.fees.0 + fees);
        let job = ended.job;
        match (found.state, closed) {
            (State::Locked | State::Proposed | State::Disputed, false) => {
                view.open += 1;
                if !ended.locked {
                    return Ok(());
                }
                if found.cap != ended.signed.order.cap {
                    view.differ(format!("job {job}: {} GLN are locked, not {}", found.cap, ended.signed.order.cap));
                }
                view.locked = Amount(view.locked.0 + found.cap.0);
            }
            // Closed on the chain a moment ago: the books follow with the clerk's next round.
            (State::Settled | State::Released, false) if ended.locked => {
                view.locked = Amount(view.locked.0 + ended.signed.order.cap.0);
            }
            (State::Settled | State::Released | State::None, false) => {}
            (State::Settled, true) => {
                if gross != ended.gross().0 || fees != ended.fee().0 {
                    let (ours, our_fees) = (ended.gross(), ended.fee());
                    view.differ(format!(
                        "job {job}: the chain paid {} GLN with {} GLN of fees, the books say {ours} and {our_fees}",
                        Amount(gross),
                        Amount(fees)
                    ));
                }
            }
            (State::Released, true) => {
                if ended.gross() > Amount::ZERO {
                    let text = format!("job {job}: {} GLN were earned and the order was released", ended.gross());
                    view.differ(text);
                }
            }
            (State::None, true) if !ended.locked => {}
            (State::None | State::Locked | State::Proposed | State::Disputed, true) => {
                view.differ(format!("job {job} is closed in the books and {:?} on the chain", found.state));
            }
        }
        Ok(())
    }
}
