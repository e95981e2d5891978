//! What the two kernel tests have in common: each item ends in a number, 64 of them are folded into one, and the hub
//! computes again what a few of these should be. A machine that leaves out enough to gain by it is found out.
use gleaner_wire::{DataRef, Work};

/// Items that are folded into one number.
pub(super) const FOLDED: u32 = 64;
/// Numbers that are computed again: half of them left out goes unseen once in 65,536 times.
const LOOKED_AT: usize = 16;

/// A kernel and what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kernel {
    pub(super) seed: u32,
    /// Items across and down.
    pub(super) side: u32,
    pub(super) passes: u32,
    pub(super) scratch_bytes_per_item: u32,
}

impl Kernel {
    /// As a task.
    pub(super) fn work(self, kernel: DataRef) -> Work {
        Work::Wgsl {
            kernel,
            entry: "main".to_owned(),
            finish: Some("finish".to_owned()),
            passes: self.passes,
            output_bytes_per_item: 1,
            scratch_bytes_per_item: self.scratch_bytes_per_item,
            items: self.side * self.side,
            values: vec![self.seed, self.side],
        }
    }

    /// Numbers of the answer that are not zero.
    pub(super) fn folds(self) -> u32 {
        self.side * self.side / FOLDED
    }

    /// Whether an answer is right wherever it is looked at. `seed` chooses where, after the answer has come.
    pub(super) fn is_right(self, answer: &[u8], seed: u64, fold: impl Fn(u32) -> u32) -> bool {
        let (words, []) = answer.as_chunks::<4>() else { return false };
        let folds = self.folds() as usize;
        if answer.len() != (self.side * self.side) as usize || words[folds..].iter().any(|word| *word != [0; 4]) {
            return false;
        }
        let mut drawn = seed;
        (0..LOOKED_AT).all(|_| {
            drawn = super::walk::Walk { first: drawn, steps: 1 }.end();
            let at = (drawn >> 33) as u32 % self.folds();
            u32::from_le_bytes(words[at as usize]) == fold(at)
        })
    }
}

/// Scatters the bits of a number.
pub(super) fn mix(number: u32) -> u32 {
    let mixed = (number ^ number >> 16).wrapping_mul(0x9e37_79b1);
    let mixed = (mixed ^ mixed >> 13).wrapping_mul(0x85eb_ca77);
    mixed ^ mixed >> 16
}

/// Folds numbers into one.
pub(super) fn fold(numbers: impl IntoIterator<Item = u32>) -> u32 {
    numbers.into_iter().fold(0, |mixed, number| mix(mixed ^ number))
}

#[cfg(test)]
pub(super) mod device;
