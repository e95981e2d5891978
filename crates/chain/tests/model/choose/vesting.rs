//! Schedules and licences: what vests month by month.
use gleaner_chain::model::{Action, MONTH, Schedule, Who};
use rand::Rng;

use super::World;

impl World {
    pub fn choose_vesting(&mut self) -> (Who, Action) {
        let count = self.model.schedules.len() as u64;
        let schedule = if self.rng.gen_bool(0.05) { count } else { self.rng.gen_range(0..count) };
        match self.rng.gen_range(0..8) {
            0..4 => (self.anyone(), Action::ReleaseVested { schedule }),
            4..6 => {
                let to = self.anyone();
                let beneficiary = self.model.schedules.get(schedule as usize).map(|entry| entry.beneficiary);
                let caller = match beneficiary {
                    Some(owner) if self.is_person(owner) => self.mostly(owner),
                    Some(_) | None => self.anyone(),
                };
                (caller, Action::Assign { schedule, to })
            }
            _ => self.choose_schedule(),
        }
    }

    fn choose_schedule(&mut self) -> (Who, Action) {
        let (who, beneficiary) = (self.anyone(), self.anyone());
        let tokens = self.model.tokens_of(who);
        let total = if self.rng.gen_bool(0.1) { tokens + 1 } else { self.rng.gen_range(0..=tokens / 20) };
        let at_launch = self.part_of(total);
        let (cliff, duration) = (self.rng.gen_range(0..4), self.rng.gen_range(0..7));
        let start = match self.rng.gen_range(0..3) {
            0 => self.nominal - self.rng.gen_range(0..4) * MONTH - 1_800,
            1 => self.nominal + self.rng.gen_range(0..4) * MONTH + 1_800,
            _ => self.nominal - 1_800,
        };
        let schedule = Schedule { beneficiary, start, total, at_launch, cliff, duration, released: 0 };
        (who, Action::CreateSchedule { schedule })
    }

    pub fn choose_licence(&mut self) -> (Who, Action) {
        let count = self.model.licences.len() as u64;
        let licence = self.rng.gen_range(0..count + 2).clamp(u64::from(self.rng.gen_bool(0.95)), count + 1);
        let holder = licence.checked_sub(1).and_then(|place| self.model.licences.get(place as usize));
        let holder = holder.map(|licence| licence.holder);
        if self.rng.gen_bool(0.5) {
            return (self.anyone(), Action::ReleaseLicence { licence });
        }
        let holder = match holder {
            Some(holder) => holder,
            None => self.anyone(),
        };
        let (caller, from, to) = (self.mostly(holder), self.mostly(holder), self.anyone());
        (caller, Action::TransferLicence { licence, from, to })
    }
}
