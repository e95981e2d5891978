//! Stake: bonded, locked, unbonding, slashed.
use super::{COURT, ESCROW, Economy, Moment, Refusal, STAKE, Subject, Who, refuse_if};

/// The stake of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// All of it, with what is locked.
    pub bonded: u64,
    /// What is locked of it.
    pub locked: u64,
    /// What is on its way out.
    pub exit: Exit,
}

/// Stake on its way out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// How much.
    pub amount: u64,
    /// Unix seconds from which it can be claimed.
    pub ready: u64,
}

impl Holding {
    /// What is not locked.
    pub fn free(&self) -> u64 {
        self.bonded - self.locked
    }

    pub(super) fn owed(&self) -> u128 {
        u128::from(self.bonded) + u128::from(self.exit.amount)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Consent {
    limit: u64,
    used: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    hub: Who,
    amount: u64,
    held: bool,
    ended: bool,
}

impl Economy {
    fn holding(&mut self, who: Who) -> &mut Holding {
        self.holdings.entry(who).or_default()
    }

    pub(super) fn bonded(&self, who: Who) -> u64 {
        self.holdings.get(&who).map_or(0, |holding| holding.bonded)
    }

    pub(super) fn free_stake(&self, who: Who) -> u64 {
        self.holdings.get(&who).map_or(0, Holding::free)
    }

    /// What a subject has locked of an account.
    pub fn lock_of(&self, subject: Subject, who: Who) -> u64 {
        self.locks.get(&(subject, who)).map_or(0, |lock| lock.amount)
    }

    pub(super) fn stake(&mut self, who: Who, amount: u64) -> Result<(), Refusal> {
        self.transfer(who, STAKE, amount)?;
        self.holding(who).bonded += amount;
        Ok(())
    }

    pub(super) fn unbond(&mut self, at: Moment, who: Who, amount: u64) -> Result<(), Refusal> {
        refuse_if(amount > self.free_stake(who), Refusal::NotFree)?;
        let ready = at.now + self.terms.unbonding_delay;
        let holding = self.holding(who);
        holding.bonded -= amount;
        holding.exit = Exit { amount: holding.exit.amount + amount, ready };
        Ok(())
    }

    pub(super) fn cancel_unbond(&mut self, who: Who) -> Result<(), Refusal> {
        let holding = self.holding(who);
        refuse_if(holding.exit.amount == 0, Refusal::NothingUnbonding)?;
        holding.bonded += holding.exit.amount;
        holding.exit = Exit::default();
        Ok(())
    }

    pub(super) fn claim_stake(&mut self, at: Moment, who: Who) -> Result<(), Refusal> {
        let exit = self.holding(who).exit;
        refuse_if(exit.amount == 0, Refusal::NothingUnbonding)?;
        refuse_if(at.now < exit.ready, Refusal::NotReady)?;
        self.holding(who).exit = Exit::default();
        self.transfer(STAKE, who, exit.amount)
    }

    pub(super) fn allow(&mut self, who: Who, hub: Who, limit: u64) -> Result<(), Refusal> {
        self.consents.entry((who, hub)).or_default().limit = limit;
        Ok(())
    }

    /// Locks stake, unless there is not enough of it or the account does not let the hub.
    pub(super) fn lock_for(&mut self, subject: Subject, hub: Who, who: Who, amount: u64) -> bool {
        if amount == 0 || self.locks.contains_key(&(subject, who)) {
            return true;
        }
        if amount > self.free_stake(who) {
            return false;
        }
        if who != hub {
            let consent = self.consents.entry((who, hub)).or_default();
            if consent.used + amount > consent.limit {
                return false;
            }
            consent.used += amount;
        }
        self.holding(who).locked += amount;
        self.locks.insert((subject, who), Lock { hub, amount, held: false, ended: false });
        true
    }

    /// Ends a lock, or remembers to do so when nobody is accused any more.
    pub(super) fn unlock(&mut self, subject: Subject, who: Who) {
        match self.locks.get_mut(&(subject, who)) {
            Some(lock) if lock.held => lock.ended = true,
            Some(_) | None => drop(self.delete_lock(subject, who)),
        }
    }

    pub(super) fn hold(&mut self, subject: Subject, who: Who) -> u64 {
        self.locks.get_mut(&(subject, who)).map_or(0, |lock| {
            lock.held = true;
            lock.amount
        })
    }

    pub(super) fn let_go(&mut self, subject: Subject, who: Who) {
        let Some(lock) = self.locks.get_mut(&(subject, who)) else { return };
        lock.held = false;
        if lock.ended {
            self.delete_lock(subject, who);
        }
    }

    /// Takes the court's share of a lock into the court's free money; the lock is over.
    pub(super) fn slash(&mut self, subject: Subject, who: Who) -> u64 {
        let taken = super::share(self.delete_lock(subject, who), self.terms.slash_share);
        self.holding(who).bonded -= taken;
        self.transfer(STAKE, ESCROW, taken).expect("what is bonded is there");
        self.give(COURT, taken);
        taken
    }

    fn delete_lock(&mut self, subject: Subject, who: Who) -> u64 {
        let Some(lock) = self.locks.remove(&(subject, who)) else { return 0 };
        self.holding(who).locked -= lock.amount;
        if who != lock.hub {
            self.consents.entry((who, lock.hub)).or_default().used -= lock.amount;
        }
        lock.amount
    }
}
