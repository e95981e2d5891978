//! The books. Money only moves between accounts: every entry has an equal opposite entry, and no account goes below zero.
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use gleaner_wire::{Amount, JobId, WorkerId};
use serde::{Deserialize, Serialize};

/// Who holds money.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Account {
    /// A requester's free money.
    Requester(String),
    /// What is reserved for a job.
    Order(JobId),
    /// A provider's earnings, kept for each worker.
    Worker(WorkerId),
    /// The platform's share.
    Platform,
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requester(name) => write!(f, "requester:{name}"),
            Self::Order(job) => write!(f, "order:{job}"),
            Self::Worker(worker) => write!(f, "worker:{worker}"),
            Self::Platform => f.write_str("platform"),
        }
    }
}

/// An account holds less than was to be moved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{account} holds {holds} GLN, less than {wanted} GLN")]
pub struct Short {
    account: Account,
    holds: Amount,
    wanted: Amount,
}

/// All accounts. What came in from outside is booked as a debt of the outside world, so that everything sums to zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    requesters: BTreeMap<String, Amount>,
    orders: BTreeMap<JobId, Amount>,
    workers: Vec<Amount>,
    platform: Amount,
    issued: Amount,
    /// What each worker was paid on a chain, ever.
    paid: Vec<Amount>,
}

impl Ledger {
    /// Books money that came in from outside; refused past the largest amount.
    pub fn deposit(&mut self, account: &Account, amount: Amount) -> bool {
        let Some(issued) = self.issued.checked_add(amount) else { return false };
        self.issued = issued;
        self.credit(account, amount);
        true
    }

    /// Moves money, or nothing at all.
    pub fn transfer(&mut self, from: &Account, to: &Account, amount: Amount) -> Result<(), Short> {
        let holds = self.balance(from);
        let Some(rest) = holds.checked_sub(amount) else {
            return Err(Short { account: from.clone(), holds, wanted: amount });
        };
        if amount > Amount::ZERO {
            *self.slot(from) = rest;
            self.credit(to, amount);
        }
        Ok(())
    }

    /// Takes money out of the books: it is on the chain now, with whom it belongs to.
    pub fn leave(&mut self, account: &Account, amount: Amount) -> Result<(), Short> {
        let holds = self.balance(account);
        let Some(rest) = holds.checked_sub(amount) else {
            return Err(Short { account: account.clone(), holds, wanted: amount });
        };
        if amount > Amount::ZERO {
            *self.slot(account) = rest;
            self.issued = Amount(self.issued.0 - amount.0);
        }
        Ok(())
    }

    /// Remembers what a worker was paid on the chain.
    pub fn note_paid(&mut self, worker: WorkerId, amount: Amount) {
        let index = worker.0 as usize;
        if self.paid.len() <= index {
            self.paid.resize(index + 1, Amount::ZERO);
        }
        self.paid[index] = Amount(self.paid[index].0.saturating_add(amount.0));
    }

    /// What a worker was paid on the chain so far.
    pub fn paid(&self, worker: WorkerId) -> Amount {
        self.paid.get(worker.0 as usize).copied().unwrap_or_default()
    }

    /// Closes an order: what is left of it goes back to the requester.
    pub fn release(&mut self, job: JobId, requester: &str) -> Amount {
        let rest = self.orders.remove(&job).unwrap_or_default();
        self.credit(&Account::Requester(requester.into()), rest);
        rest
    }

    /// What an account holds.
    pub fn balance(&self, account: &Account) -> Amount {
        match account {
            Account::Requester(name) => self.requesters.get(name).copied(),
            Account::Order(job) => self.orders.get(job).copied(),
            Account::Worker(worker) => self.workers.get(worker.0 as usize).copied(),
            Account::Platform => Some(self.platform),
        }
        .unwrap_or_default()
    }

    /// Whether a requester has ever had money here.
    pub fn knows(&self, requester: &str) -> bool {
        self.requesters.contains_key(requester)
    }

    /// What came in from outside and has not left again.
    pub fn issued(&self) -> Amount {
        self.issued
    }

    /// Every account that holds money.
    pub fn accounts(&self) -> impl Iterator<Item = (Account, Amount)> + '_ {
        let requesters = self.requesters.iter().map(|(name, amount)| (Account::Requester(name.clone()), *amount));
        let orders = self.orders.iter().map(|(job, amount)| (Account::Order(*job), *amount));
        let workers = self.workers.iter().zip(0..).map(|(amount, id)| (Account::Worker(WorkerId(id)), *amount));
        let all = requesters.chain(orders).chain(workers).chain([(Account::Platform, self.platform)]);
        all.filter(|(_, amount)| *amount > Amount::ZERO)
    }

    /// Whether what all accounts hold equals what came in and has not left.
    pub fn balances(&self) -> bool {
        self.accounts().map(|(_, amount)| u128::from(amount.0)).sum::<u128>() == u128::from(self.issued().0)
    }

    fn credit(&mut self, account: &Account, amount: Amount) {
        let slot = self.slot(account);
        *slot = slot.checked_add(amount).expect("an account cannot hold more than was ever issued");
    }

    fn slot(&mut self, account: &Account) -> &mut Amount {
        match account {
            Account::Requester(name) => self.requesters.entry(name.clone()).or_default(),
            Account::Order(job) => self.orders.entry(*job).or_default(),
            Account::Worker(worker) => {
                let index = worker.0 as usize;
                if self.workers.len() <= index {
                    self.workers.resize(index + 1, Amount::ZERO);
                }
                &mut self.workers[index]
            }
            Account::Platform => &mut self.platform,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_moved_whole_or_not_at_all() {
        let (ada, job) = (Account::Requester("ada".into()), Account::Order(JobId(1)));
        let mut ledger = Ledger::default();
        assert!(ledger.deposit(&ada, Amount(10)));
        assert!(ledger.transfer(&ada, &job, Amount(11)).is_err());
        assert_eq!(ledger.balance(&ada), Amount(10));
        ledger.transfer(&ada, &job, Amount(7)).expect("covered");
        ledger.transfer(&job, &Account::Worker(WorkerId(3)), Amount(2)).expect("covered");
        assert_eq!(ledger.release(JobId(1), "ada"), Amount(5));
        assert_eq!(ledger.balance(&ada), Amount(8));
        assert!(ledger.balances());
    }

    #[test]
    fn more_money_than_fits_is_refused() {
        let mut ledger = Ledger::default();
        assert!(ledger.deposit(&Account::Platform, Amount(u64::MAX)));
        assert!(!ledger.deposit(&Account::Platform, Amount(1)));
        assert!(ledger.balances());
    }
}
