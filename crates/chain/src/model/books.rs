//! Tokens, and the free money in Escrow.
use super::{ESCROW, Economy, Refusal, Who, refuse_if};

impl Economy {
    pub(super) fn transfer(&mut self, from: Who, to: Who, amount: u64) -> Result<(), Refusal> {
        let has = self.tokens_of(from);
        refuse_if(amount > has, Refusal::ERC20InsufficientBalance)?;
        self.tokens.insert(from, has - amount);
        *self.tokens.entry(to).or_default() += amount;
        Ok(())
    }

    pub(super) fn deposit(&mut self, from: Who, account: Who, amount: u64) -> Result<(), Refusal> {
        self.transfer(from, ESCROW, amount)?;
        self.give(account, amount);
        Ok(())
    }

    pub(super) fn withdraw(&mut self, from: Who, to: Who, amount: u64) -> Result<(), Refusal> {
        self.take(from, amount)?;
        self.transfer(ESCROW, to, amount)
    }

    pub(super) fn shift(&mut self, from: Who, to: Who, amount: u64) -> Result<(), Refusal> {
        self.take(from, amount)?;
        self.give(to, amount);
        Ok(())
    }

    pub(super) fn give(&mut self, who: Who, amount: u64) {
        *self.books.entry(who).or_default() += amount;
    }

    pub(super) fn take(&mut self, who: Who, amount: u64) -> Result<(), Refusal> {
        let has = self.money_of(who);
        refuse_if(amount > has, Refusal::NotCovered)?;
        self.books.insert(who, has - amount);
        Ok(())
    }
}
