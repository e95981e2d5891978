//! What people put to the vote.
use gleaner_chain::model::{Deed, TREASURY};
use rand::Rng;

use super::World;
use crate::Committees;
use crate::world::GLN;

impl World {
    pub fn deed(&mut self) -> Deed {
        let to = self.anyone();
        match self.rng.gen_range(0..10) {
            0..5 => self.change(),
            5 => Deed::PayTokens { to, amount: self.part_of(self.model.tokens_of(TREASURY)) },
            6 => Deed::PayShare { to, amount: self.part_of(self.model.money_of(TREASURY)) },
            7 => {
                let owned =
                    (0..self.model.schedules.len()).filter(|id| self.model.schedules[*id].beneficiary == TREASURY);
                let owned: Vec<usize> = owned.collect();
                let place = if owned.is_empty() { 0 } else { owned[self.rng.gen_range(0..owned.len())] };
                Deed::Assign { schedule: place as u64, to }
            }
            _ => Deed::Mint { to },
        }
    }

    /// Something that needs a vote, by who has none.
    pub fn attempt(&mut self) -> Deed {
        if self.rng.gen_bool(0.5) { self.change() } else { Deed::Mint { to: self.anyone() } }
    }

    /// Another value of a parameter, now and then one that no vote can give it. Windows stay half an hour beside all
    /// steps of time.
    fn change(&mut self) -> Deed {
        let window = self.rng.gen_range(0..6) * 3_600 + 1_800;
        let gln = self.rng.gen_range(0..40 * GLN);
        let wrong = self.rng.gen_bool(0.1);
        let (parameter, value, beyond) = match self.rng.gen_range(0..17) {
            0..3 => ("platformShareBps", self.rng.gen_range(0..=3_000), 3_001),
            3 => ("slashShareBps", self.rng.gen_range(0..=10_000), 10_001),
            4 => ("bondShareBps", self.rng.gen_range(0..=1_000), 5_001),
            5 => ("rewardCapBps", self.rng.gen_range(0..=10_000), 10_001),
            6 => ("minimumStake", 5 * GLN + gln / 4, 1_000_000 * GLN + 1),
            7 => ("hubStake", gln, 1_000_000 * GLN + 1),
            8 => ("workLock", gln / 20, 10_000 * GLN + 1),
            9 => ("hubLock", gln / 20, 10_000 * GLN + 1),
            10 => ("challengeWindow", window, 0),
            11 => ("votingWindow", window, 2_592_001),
            12 => ("unbondingDelay", window, 5_184_001),
            13 => ("committeeSize", self.committee_size(), 23),
            14 => ("emissionPerEpoch", gln * if self.rng.gen_bool(0.5) { 1 } else { 1_000 }, 100_000_000 * GLN + 1),
            15 => ("epochLength", window, 7_776_001),
            _ => ("orderDurationMax", self.rng.gen_range(10..30) * 3_600, 59),
        };
        match self.rng.gen_bool(0.03) {
            true => Deed::Set { parameter: "noSuchNumber", value },
            false => Deed::Set { parameter, value: if wrong { beyond } else { value } },
        }
    }

    /// Where both chains must draw the same people, everybody or nobody sits. An even size is refused.
    fn committee_size(&mut self) -> u64 {
        if self.rng.gen_bool(0.3) {
            return 4;
        }
        match self.committees {
            Committees::Drawn => self.rng.gen_range(0..3) * 2 + 1,
            Committees::Everybody | Committees::Nobody => self.committees.size(),
        }
    }
}
