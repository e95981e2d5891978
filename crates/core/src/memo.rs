//! Results that are known already: equal key, equal work.
use alloc::collections::{BTreeMap, VecDeque};
use gleaner_wire::{Hash, Output};
use serde::{Deserialize, Serialize};

/// A bounded table of known results; the oldest goes first.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Memo {
    known: BTreeMap<Hash, Output>,
    order: VecDeque<Hash>,
}

impl Memo {
    /// The known result of this work.
    pub fn find(&self, key: &Hash) -> Option<Output> {
        self.known.get(key).copied()
    }

    /// Whether nothing is known, so that keys need not be computed.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Remembers a result.
    pub fn remember(&mut self, key: Hash, output: Output, entries_max: u32) {
        if self.known.insert(key, output).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > entries_max as usize {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_result_is_forgotten_first() {
        let mut memo = Memo::default();
        let output = Output::inline(b"42").expect("short");
        for number in 0..5_u8 {
            memo.remember(Hash::of(&[number]), output, 3);
        }
        assert_eq!(memo.find(&Hash::of(&[1])), None);
        assert_eq!(memo.find(&Hash::of(&[4])), Some(output));
    }
}
