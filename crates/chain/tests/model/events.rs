//! Events without what differs from chain to chain: a moment that follows from the block's time becomes its distance.
use alloy_primitives::{B256, Log, U256, hex};

use super::world::World;

impl World {
    /// Everything that the contracts announced, word by word.
    pub fn events(&self, logs: &[Log]) -> Vec<String> {
        let (terms, rules) = (&self.model.terms, &self.model.rules);
        let distances = [
            0,
            terms.challenge_window,
            terms.voting_window,
            terms.unbonding_delay,
            rules.delay,
            rules.delay + rules.period,
            rules.timelock,
        ];
        logs.iter().map(|log| self.event(log, &distances)).collect()
    }

    fn event(&self, log: &Log, distances: &[u64]) -> String {
        let word = |bytes: &[u8]| {
            let is = |distance: &&u64| B256::from(U256::from(self.at.now + **distance)).as_slice() == bytes;
            match distances.iter().find(is) {
                Some(distance) => format!("now+{distance}"),
                None => hex::encode(bytes),
            }
        };
        let topics = log.data.topics().iter().map(|topic| word(topic.as_slice()));
        let words = topics.chain(log.data.data.chunks(32).map(word));
        format!("{} {}", log.address, words.collect::<Vec<_>>().join(" "))
    }
}
