//! Results that are known already: equal key, equal work.
use alloc::collections::VecDeque;
use core::hash::{BuildHasherDefault, Hasher};
use gleaner_wire::{Hash, Output};
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

/// The keys are hashes already, so their first bytes will do.
#[derive(Clone, Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = self.0.rotate_left(5) ^ u64::from_le_bytes(word);
        }
    }
}

/// A bounded table of known results; the oldest goes first. Only looked up, never walked, so its order cannot leak.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Memo {
    known: HashMap<Hash, Output, BuildHasherDefault<FirstBytes>>,
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
