//! What a worker loses that wins an auction and does not start.
//!
//! The bond is a tenth of what the award would have brought by its prediction. In this hub's books it is taken at once, of what
//! the worker has earned, and goes to the requester, who has to wait again. Where money is on a chain, what was earned is the
//! worker's already, and an order's money can go to nobody but its own workers: there the bond is withheld from the
//! worker's next pays, a tenth of each at most, and stays with the requesters of those orders.
use alloc::vec::Vec;
use gleaner_wire::{Amount, Cause, Micros, WorkerId};

use super::mode::Ended;
use crate::attempt::{Attempt, Why};
use crate::effect::Effect;
use crate::ledger::Account;
use crate::state::Core;

/// The bond, in hundredths of a percent of what the award would have brought.
const BOND_POINTS: u32 = 1000;
/// The most that is withheld of one pay, in hundredths of a percent of it: a bond is a hub's word, and bounded.
pub const WITHHELD_POINTS: u32 = 1000;
/// What an award of unknown length is taken for.
const UNKNOWN: Micros = Micros(1_000_000);
/// A run that the worker alone speaks of counts from this length on: saying that it ran for a moment costs nothing.
const STARTED: Micros = Micros(1_000_000);
/// Trouble points for an award that was not started.
const NOT_STARTED: u32 = 2;

impl Core {
    /// Takes the bond of a worker whose awarded attempt ended before it began, by its own doing.
    pub(crate) fn forfeit(&mut self, attempt: &Attempt, end: Ended, effects: &mut Vec<Effect>) {
        let own_doing = matches!(end.cause, Cause::WorkerLeft | Cause::RefusedByOwner | Cause::DeviceFault);
        let started = attempt.begun || end.ran >= STARTED;
        if attempt.why != Why::Won || started || !own_doing {
            return;
        }
        let worth = attempt.price.per_second_over(attempt.predicted.unwrap_or(UNKNOWN));
        let bond = worth.basis_points(BOND_POINTS);
        match self.params.orders {
            true => {
                let worker = &mut self.workers[attempt.worker.0 as usize];
                worker.bond_due = Amount(worker.bond_due.0.saturating_add(bond.0));
            }
            false => {
                let account = Account::Worker(attempt.worker);
                let bond = bond.min(self.ledger.balance(&account));
                let requester = self.share.name(self.jobs[&attempt.job].requester).into();
                let moved = self.ledger.transfer(&account, &Account::Requester(requester), bond);
                moved.expect("no more is taken than the worker has");
                self.book_bond(attempt.worker, bond);
            }
        }
        self.add_trouble(attempt.worker, NOT_STARTED, effects);
    }

    /// What is withheld of a worker's pay.
    pub(crate) fn bond_of(&self, worker: WorkerId, pay: Amount) -> Amount {
        self.workers[worker.0 as usize].bond_due.min(pay.basis_points(WITHHELD_POINTS))
    }

    /// Withholds it. Says what.
    pub(crate) fn withhold_bond(&mut self, worker: WorkerId, pay: Amount) -> Amount {
        let bond = self.bond_of(worker, pay);
        let due = &mut self.workers[worker.0 as usize].bond_due;
        *due = Amount(due.0 - bond.0);
        self.book_bond(worker, bond);
        bond
    }

    fn book_bond(&mut self, worker: WorkerId, bond: Amount) {
        let worker = &mut self.workers[worker.0 as usize];
        worker.forfeited = Amount(worker.forfeited.0.saturating_add(bond.0));
        self.totals.bonds_lost += bond.0;
    }
}
