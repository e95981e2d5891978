//! Tokens that become somebody's month by month.
use super::{Economy, Moment, Refusal, VESTING, Who, refuse_if};

/// A twelfth of 365.25 days.
pub const MONTH: u64 = 2_629_800;

/// What is remembered of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Who receives what vests.
    pub beneficiary: Who,
    /// From when months are counted.
    pub start: u64,
    /// Everything.
    pub total: u64,
    /// What of it vests at the start.
    pub at_launch: u64,
    /// Months in which nothing more vests.
    pub cliff: u16,
    /// Months after the cliff in which the rest vests.
    pub duration: u16,
    /// What was paid.
    pub released: u64,
}

impl Schedule {
    fn vested(&self, now: u64) -> u64 {
        match now.checked_sub(self.start) {
            None => 0,
            Some(passed) => {
                let rest = self.total - self.at_launch;
                self.at_launch + due(rest, passed / MONTH, self.cliff.into(), self.duration.into())
            }
        }
    }
}

/// Nothing during the cliff, then equal steps rounded down; the last one brings what is left.
pub(super) fn due(amount: u64, months: u64, cliff: u64, duration: u64) -> u64 {
    match months.checked_sub(cliff) {
        None => 0,
        Some(steps) if steps >= duration => amount,
        Some(steps) => amount / duration * steps,
    }
}

impl Economy {
    pub(super) fn create_schedule(&mut self, caller: Who, schedule: Schedule) -> Result<(), Refusal> {
        refuse_if(schedule.at_launch > schedule.total, Refusal::LaunchAboveTotal)?;
        self.schedules.push(Schedule { released: 0, ..schedule });
        self.transfer(caller, VESTING, schedule.total)
    }

    pub(super) fn release_vested(&mut self, at: Moment, id: u64) -> Result<(), Refusal> {
        let schedule = self.schedule(id)?;
        let vested = schedule.vested(at.now);
        let (to, amount) = (schedule.beneficiary, vested - schedule.released);
        schedule.released = vested;
        self.transfer(VESTING, to, amount)
    }

    pub(super) fn assign(&mut self, caller: Who, id: u64, to: Who) -> Result<(), Refusal> {
        let schedule = self.schedule(id)?;
        refuse_if(caller != schedule.beneficiary, Refusal::NotBeneficiary)?;
        schedule.beneficiary = to;
        Ok(())
    }

    fn schedule(&mut self, id: u64) -> Result<&mut Schedule, Refusal> {
        self.schedules.get_mut(id as usize).ok_or(Refusal::UnknownSchedule)
    }
}
