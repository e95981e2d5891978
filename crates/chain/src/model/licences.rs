//! Node licences: bound for a year, vesting for four.
use super::schedules::{MONTH, due};
use super::{Economy, LICENCES, Moment, Refusal, Who, refuse_if};

const BOUND_MONTHS: u64 = 12;
const VESTING_MONTHS: u64 = 48;

/// All licences there can ever be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// How many.
    pub count: u64,
    /// What each vests.
    pub share: u64,
}

/// What is remembered of a licence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Licence {
    /// Whose it is.
    pub holder: Who,
    /// Since when it exists.
    pub minted: u64,
    /// What it has paid.
    pub released: u64,
}

impl Economy {
    pub(super) fn mint(&mut self, at: Moment, to: Who) -> Result<(), Refusal> {
        refuse_if(self.licences.len() as u64 == self.pool.count, Refusal::AllMinted)?;
        self.licences.push(Licence { holder: to, minted: at.now, released: 0 });
        Ok(())
    }

    pub(super) fn release_licence(&mut self, at: Moment, number: u64) -> Result<(), Refusal> {
        let share = self.pool.share;
        let licence = self.licence(number)?;
        let vested = due(share, (at.now - licence.minted) / MONTH, 0, VESTING_MONTHS);
        let (holder, amount) = (licence.holder, vested - licence.released);
        licence.released = vested;
        self.transfer(LICENCES, holder, amount)
    }

    pub(super) fn transfer_licence(
        &mut self,
        at: Moment,
        caller: Who,
        number: u64,
        from: Who,
        to: Who,
    ) -> Result<(), Refusal> {
        let licence = self.licence(number)?;
        refuse_if(caller != licence.holder, Refusal::ERC721InsufficientApproval)?;
        refuse_if(at.now < licence.minted + BOUND_MONTHS * MONTH, Refusal::BoundUntil)?;
        refuse_if(from != licence.holder, Refusal::ERC721IncorrectOwner)?;
        licence.holder = to;
        Ok(())
    }

    /// Licences are numbered from 1.
    fn licence(&mut self, number: u64) -> Result<&mut Licence, Refusal> {
        let place = (number as usize).checked_sub(1).ok_or(Refusal::ERC721NonexistentToken)?;
        self.licences.get_mut(place).ok_or(Refusal::ERC721NonexistentToken)
    }
}
