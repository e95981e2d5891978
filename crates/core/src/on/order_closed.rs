//! The chain has closed an order: what was booked for it here leaves the books.
use crate::event::Closing;
use crate::ledger::Account;
use crate::state::Core;

impl Core {
    pub(crate) fn on_order_closed(&mut self, closing: &Closing) {
        let Closing { job, requester, booked, fee, rest, paid } = closing;
        self.convictions.retain(|conviction| conviction.job != *job);
        let workers = booked.iter().map(|(worker, amount)| (Account::Worker(*worker), *amount));
        let others = [(Account::Platform, *fee), (Account::Requester(requester.clone()), *rest)];
        for (account, amount) in workers.chain(others) {
            // What the books do not hold cannot leave them; comparing them with the chain shows it.
            if self.ledger.leave(&account, amount).is_err() {
                self.totals.closings_wrong += 1;
            }
        }
        for (worker, amount) in paid {
            self.ledger.note_paid(*worker, *amount);
        }
        self.totals.orders_closed += 1;
    }
}
