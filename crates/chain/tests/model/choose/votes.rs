//! Votes: delegated, proposed, cast, queued and carried out.
use gleaner_chain::model::{Action, NOBODY, Standing, Who};
use rand::Rng;

use super::World;
use crate::world::PEOPLE;

/// More proposals than these are seldom on their way at once.
const LIVE_MAX: usize = 3;
/// Votes that are enough.
const VOTERS: usize = 6;

impl World {
    pub fn choose_votes(&mut self) -> (Who, Action) {
        let count = self.proposals.len();
        let proposal = match count {
            0 => 0,
            _ => self.rng.gen_range(count.saturating_sub(4)..count) as u32,
        };
        let who = self.voter();
        match self.rng.gen_range(0..16) {
            0..4 => {
                let to = if self.rng.gen_bool(0.1) { NOBODY } else { self.mostly(who) };
                (who, Action::Delegate { to })
            }
            4..7 => (self.anyone(), Action::Do { deed: self.attempt() }),
            _ if count == 0 => self.choose_proposal(),
            7 => {
                let again = self.rng.gen_range(0..count) as u32;
                let deeds = self.proposals[again as usize].clone();
                (who, Action::Propose { number: again, deeds })
            }
            8 | 9 => (who, Action::Cast { proposal, support: self.rng.gen_range(0..4) }),
            10 => (who, Action::Queue { proposal }),
            11 | 12 => (who, Action::Execute { proposal }),
            _ => {
                let proposer = self.model.proposals.get(&proposal).map_or(who, |found| found.proposer);
                (self.mostly(proposer), Action::Cancel { proposal })
            }
        }
    }

    fn voter(&mut self) -> Who {
        Who(self.rng.gen_range(0..PEOPLE))
    }

    /// The next step of a proposal that can go on, or another proposal.
    pub fn choose_ballot(&mut self) -> Option<(Who, Action)> {
        let numbers: Vec<u32> = self.model.proposals.keys().copied().collect();
        let mut live = 0;
        for proposal in numbers {
            let who = self.voter();
            let next = match self.model.standing(self.at.now, proposal).expect("it was proposed") {
                Standing::Active if self.model.proposals[&proposal].voters.len() < VOTERS => {
                    let support = if self.rng.gen_bool(0.75) { 1 } else { self.rng.gen_range(0..4) };
                    Action::Cast { proposal, support }
                }
                Standing::Succeeded => Action::Queue { proposal },
                Standing::Queued => Action::Execute { proposal },
                Standing::Pending | Standing::Active => {
                    live += 1;
                    continue;
                }
                Standing::Canceled | Standing::Defeated | Standing::Executed => continue,
            };
            // What is refused for good would be tried for ever.
            if self.model.clone().apply(self.at, who, &next).is_ok() || self.rng.gen_bool(0.1) {
                return Some((who, next));
            }
            live += 1;
        }
        (live < LIVE_MAX && self.rng.gen_bool(0.3)).then(|| self.choose_proposal())
    }

    fn choose_proposal(&mut self) -> (Who, Action) {
        let count = self.rng.gen_range(1..4);
        let deeds: Vec<_> = (0..count).map(|_| self.deed()).collect();
        self.proposals.push(deeds.clone());
        (self.voter(), Action::Propose { number: self.proposals.len() as u32 - 1, deeds })
    }
}
