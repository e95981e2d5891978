//! Whose votes count when: tokens vote where they are delegated, as of a moment in the past.
use super::{Economy, Moment, NOBODY, Refusal, Who};
use std::collections::BTreeMap;

impl Economy {
    pub(super) fn delegate(&mut self, who: Who, to: Who) -> Result<(), Refusal> {
        self.delegates.insert(who, to);
        Ok(())
    }

    /// Counts all votes anew and remembers those that have changed.
    pub(super) fn count_votes(&mut self, at: Moment) {
        let mut votes = BTreeMap::<Who, u64>::new();
        for (who, to) in self.delegates.iter().filter(|(_, to)| **to != NOBODY) {
            *votes.entry(*to).or_default() += self.tokens_of(*who);
        }
        let known: Vec<Who> = self.counts.keys().chain(votes.keys()).copied().collect();
        for who in known {
            let now = votes.get(&who).copied().unwrap_or_default();
            if self.votes_of(who) != now {
                self.counts.entry(who).or_default().insert(at.now, now);
            }
        }
    }

    /// The votes that an account has now.
    pub fn votes_of(&self, who: Who) -> u64 {
        self.votes_at(who, u64::MAX)
    }

    pub(super) fn votes_at(&self, who: Who, time: u64) -> u64 {
        let counts = self.counts.get(&who);
        counts.and_then(|counts| counts.range(..=time).next_back()).map_or(0, |(_, votes)| *votes)
    }
}
