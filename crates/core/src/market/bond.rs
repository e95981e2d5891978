//! What a worker loses that wins an auction and does not start.
//!
//! The bond is a tenth of what the award would have brought by its prediction, at most what the worker has earned in this hub's
//! books; it goes to the requester, who has to wait again. Where money is on a chain the books owe every unit to
//! somebody's order, so there the worker loses its standing only.
use alloc::vec::Vec;
use gleaner_wire::{Amount, Cause, Micros};

use super::record::counts;
use crate::attempt::{Attempt, Why};
use crate::effect::Effect;
use crate::ledger::Account;
use crate::state::Core;

/// The bond, in hundredths of a percent of what the award would have brought.
const BOND_POINTS: u32 = 1000;
/// What an award of unknown length is taken for.
const UNKNOWN: Micros = Micros(1_000_000);
/// Trouble points for an award that was not started.
const NOT_STARTED: u32 = 2;

impl Core {
    /// A failed attempt: it counts against its worker's reliability where that is to blame, and may cost its bond.
    pub(crate) fn note_unreliable(&mut self, attempt: &Attempt, cause: Cause, ran: Micros, effects: &mut Vec<Effect>) {
        if counts(cause) {
            self.workers[attempt.worker.0 as usize].reliability.failed();
        }
        self.forfeit(attempt, cause, ran, effects);
    }

    /// Takes the bond of a worker whose awarded attempt ended before it began, by its own doing.
    fn forfeit(&mut self, attempt: &Attempt, cause: Cause, ran: Micros, effects: &mut Vec<Effect>) {
        let own_doing = matches!(cause, Cause::WorkerLeft | Cause::RefusedByOwner);
        if attempt.why != Why::Won || attempt.begun || ran.0 > 0 || !own_doing {
            return;
        }
        if !self.params.orders {
            let worth = attempt.price.per_second_over(attempt.predicted.unwrap_or(UNKNOWN));
            let account = Account::Worker(attempt.worker);
            let bond = worth.basis_points(BOND_POINTS).min(self.ledger.balance(&account));
            let requester = self.share.name(self.jobs[&attempt.job].requester).into();
            let moved = self.ledger.transfer(&account, &Account::Requester(requester), bond);
            moved.expect("no more is taken than the worker has");
            let worker = &mut self.workers[attempt.worker.0 as usize];
            worker.forfeited = Amount(worker.forfeited.0.saturating_add(bond.0));
            self.totals.bonds_lost += bond.0;
        }
        self.add_trouble(attempt.worker, NOT_STARTED, effects);
    }
}
