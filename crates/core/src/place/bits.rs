//! A growing set of small numbers.
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub fn set(&mut self, bit: usize, value: bool) {
        let (word, mask) = (bit / 64, 1 << (bit % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if value {
            self.0[word] |= mask;
        } else {
            self.0[word] &= !mask;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The numbers in both sets, rising.
    pub fn both<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = usize> + 'a {
        let words = self.0.iter().zip(&other.0).map(|(ours, theirs)| ours & theirs);
        words.enumerate().flat_map(|(at, word)| ones(word).map(move |bit| at * 64 + bit))
    }

    /// The numbers from `first` on, rising.
    pub fn iter_from(&self, first: usize) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().skip(first / 64).flat_map(move |(at, word)| {
            let below = if at == first / 64 { u64::MAX << (first % 64) } else { u64::MAX };
            ones(word & below).map(move |bit| at * 64 + bit)
        })
    }

    /// The numbers, rising.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.both(self)
    }
}

fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_rising_from_anywhere() {
        let mut bits = Bits::default();
        [3, 63, 64, 130].into_iter().for_each(|bit| bits.set(bit, true));
        let from = |first| bits.iter_from(first).collect::<Vec<_>>();
        assert_eq!(from(0), bits.iter().collect::<Vec<_>>());
        assert_eq!((from(63), from(65), from(131)), (alloc::vec![63, 64, 130], alloc::vec![130], alloc::vec![]));
    }
}
