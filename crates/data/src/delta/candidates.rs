//! The old chunks that changed bytes are looked up in.
use super::sums::{Grain, Sum, Summer};
use crate::index::Number;

/// How many blocks with the same slot are looked at: blocks made to collide must not cost more.
const PROBES_MAX: usize = 16;

/// A chunk that was pushed before.
#[derive(Clone, Debug)]
pub struct Old {
    /// Which.
    pub number: Number,
    /// Its size.
    pub bytes: u32,
    /// How long its blocks are.
    pub grain: Grain,
    /// The sums of its blocks.
    pub sums: Vec<Sum>,
}

/// A stretch of new bytes: part of an old chunk, or to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins in the new bytes.
    pub start: usize,
    /// How long it is.
    pub bytes: usize,
    /// Which old chunk it is in, and where; none if it has to be sent.
    pub from: Option<(Number, u32)>,
}

/// Old chunks, ready to be searched.
#[derive(Debug)]
pub struct Candidates<'a> {
    summer: &'a Summer,
    grain: Grain,
    olds: Vec<Old>,
    /// Old chunk and block for each slot, with open addressing; none are `EMPTY`.
    slots: Vec<(u32, u32)>,
    shift: u32,
}

const EMPTY: (u32, u32) = (u32::MAX, u32::MAX);

impl<'a> Candidates<'a> {
    /// Makes these chunks searchable. If some have longer blocks than others, only those are.
    pub fn new(summer: &'a Summer, mut olds: Vec<Old>) -> Self {
        let grain = olds.iter().map(|old| old.grain).max().unwrap_or(Grain::Fine);
        olds.retain(|old| old.grain == grain && old.sums.len() == grain.blocks(old.bytes as usize));
        let count: usize = olds.iter().map(|old| old.sums.len()).sum();
        let bits = (count * 4).next_power_of_two().trailing_zeros().max(4);
        let (slots, shift) = (vec![EMPTY; 1 << bits], u32::BITS - bits.min(31));
        let mut candidates = Self { summer, grain, olds, slots, shift };
        for old in 0..candidates.olds.len() {
            for block in 0..candidates.olds[old].sums.len() {
                candidates.insert(old, block);
            }
        }
        candidates
    }

    fn sum(&self, slot: (u32, u32)) -> Sum {
        self.olds[slot.0 as usize].sums[slot.1 as usize]
    }

    #[inline]
    fn slot_of(&self, weak: u32) -> usize {
        (weak.wrapping_mul(0x9E37_79B1) >> self.shift) as usize
    }

    fn insert(&mut self, old: usize, block: usize) {
        let sum = self.olds[old].sums[block];
        let (mut at, mask) = (self.slot_of(sum.weak), self.slots.len() - 1);
        for _ in 0..PROBES_MAX {
            if self.slots[at] == EMPTY {
                let number = |index: usize| u32::try_from(index).expect("few chunks and blocks");
                self.slots[at] = (number(old), number(block));
                return;
            }
            if self.sum(self.slots[at]) == sum {
                return;
            }
            at = (at + 1) & mask;
        }
    }

    fn find(&self, weak: u32, block: &[u8]) -> Option<(u32, u32)> {
        let (mut at, mask) = (self.slot_of(weak), self.slots.len() - 1);
        let mut strong = None;
        for _ in 0..PROBES_MAX {
            let slot = self.slots[at];
            if slot == EMPTY {
                return None;
            }
            let sum = self.sum(slot);
            if sum.weak == weak && sum.strong == *strong.get_or_insert_with(|| self.summer.strong(block)) {
                return Some(slot);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Covers new bytes with parts of the old chunks, as far as they are found there.
    pub fn cover(&self, new: &[u8], start: usize, pieces: &mut Vec<Piece>) {
        let (mut literal, mut at, length) = (0, 0, self.grain.bytes());
        let mut weak = None;
        while at + length <= new.len() {
            let sum = weak.unwrap_or_else(|| self.summer.weak(&new[at..at + length]));
            let Some((old, block)) = self.find(sum, &new[at..at + length]) else {
                let enters = new.get(at + length);
                weak = enters.map(|enters| self.summer.roll(self.grain, sum, new[at], *enters));
                at += 1;
                continue;
            };
            if literal < at {
                pieces.push(Piece { start: start + literal, bytes: at - literal, from: None });
            }
            let old = &self.olds[old as usize];
            let offset = self.grain.place(block as usize, old.bytes as usize);
            let bytes = self.follow(old, block as usize, &new[at..]);
            let from = Some((old.number, u32::try_from(offset).expect("chunks are small")));
            pieces.push(Piece { start: start + at, bytes, from });
            at += bytes;
            (literal, weak) = (at, None);
        }
        if literal < new.len() {
            pieces.push(Piece { start: start + literal, bytes: new.len() - literal, from: None });
        }
    }

    /// How far `new` goes on as the old chunk does, from a block that they have in common.
    fn follow(&self, old: &Old, first: usize, new: &[u8]) -> usize {
        let place = |block| self.grain.place(block, old.bytes as usize);
        let (begin, mut length) = (place(first), self.grain.bytes());
        for block in first + 1..old.sums.len() {
            let at = place(block) - begin;
            let Some(bytes) = new.get(at..at + self.grain.bytes()) else { break };
            if self.summer.sum(bytes) != old.sums[block] {
                break;
            }
            length = at + self.grain.bytes();
        }
        length
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::noise;
    use crate::seal::AccountSecret;

    fn summer() -> Summer {
        Summer::new(&AccountSecret::from_bytes([1; 32]).keys())
    }

    const GRAIN: Grain = Grain::Fine;
    const BLOCK_BYTES: usize = 512;

    fn olds(summer: &Summer, chunks: &[Vec<u8>]) -> Vec<Old> {
        let old = |(number, chunk): (usize, &Vec<u8>)| Old {
            number: Number(number as u64),
            bytes: chunk.len() as u32,
            grain: GRAIN,
            sums: summer.sums(GRAIN, chunk),
        };
        chunks.iter().enumerate().map(old).collect()
    }

    /// Covers `new` by chunks, checks that it comes out again, and says how many bytes had to be sent.
    fn sent(chunks: &[Vec<u8>], new: &[u8]) -> usize {
        let summer = summer();
        let mut pieces = Vec::new();
        Candidates::new(&summer, olds(&summer, chunks)).cover(new, 0, &mut pieces);
        let mut restored = Vec::new();
        for piece in &pieces {
            assert_eq!(piece.start, restored.len());
            assert!(piece.bytes > 0);
            match piece.from {
                None => restored.extend_from_slice(&new[piece.start..piece.start + piece.bytes]),
                Some((number, offset)) => {
                    restored.extend_from_slice(&chunks[number.0 as usize][offset as usize..][..piece.bytes]);
                }
            }
        }
        assert!(restored == new, "restored otherwise");
        pieces.iter().filter(|piece| piece.from.is_none()).map(|piece| piece.bytes).sum()
    }

    #[test]
    fn an_insertion_costs_itself_and_a_block() {
        let chunk = noise(1, 100_001);
        let mut new = chunk.clone();
        new.splice(50_000..50_000, noise(2, 100));
        assert_eq!(sent(&[chunk], &new), BLOCK_BYTES + 100);
    }

    #[test]
    fn the_end_of_a_chunk_is_found_too() {
        let chunk = noise(1, 100_001);
        let mut new = noise(2, 700);
        new.extend_from_slice(&chunk);
        assert_eq!(sent(&[chunk], &new), 700);
    }

    #[test]
    fn stretches_are_found_in_any_order_and_chunk() {
        let (one, other) = (noise(1, 50_000), noise(2, 50_000));
        let new = [&other[10_000..40_000], &one[..], &other[..5_000]].concat();
        assert!(sent(&[one, other], &new) < 4 * BLOCK_BYTES);
    }

    #[test]
    fn equal_blocks_cost_no_more_than_others() {
        assert_eq!(sent(&[vec![0; 262_144], vec![1; 262_144]], &vec![0; 1 << 20]), 0);
    }

    #[test]
    fn nothing_in_common_means_everything_is_sent() {
        assert_eq!(sent(&[noise(1, 70_000)], &noise(2, 70_000)), 70_000);
        assert_eq!(sent(&[], &noise(2, 1000)), 1000);
        assert_eq!(sent(&[noise(1, 70_000)], &[]), 0);
    }

    #[test]
    fn sums_that_do_not_fit_their_chunk_are_not_used() {
        let (summer, chunk) = (summer(), noise(1, 10_000));
        let mut lying = olds(&summer, std::slice::from_ref(&chunk));
        lying[0].bytes = 9_000;
        let mut pieces = Vec::new();
        Candidates::new(&summer, lying).cover(&chunk, 0, &mut pieces);
        assert_eq!(pieces, [Piece { start: 0, bytes: 10_000, from: None }]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_edit_restores_exactly(
            seed: u64,
            sizes in prop::collection::vec(1_usize..100_000, 1..5),
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..3000, 0_usize..3000), 0..12),
        ) {
            let chunks: Vec<_> = sizes.iter().enumerate().map(|(at, size)| noise(seed ^ at as u64, *size)).collect();
            let mut new = chunks.concat();
            for (place, removed, inserted) in &edits {
                let place = place.index(new.len() + 1);
                let end = (place + removed).min(new.len());
                new.splice(place..end, noise(*inserted as u64, *inserted));
            }
            let sent = sent(&chunks, &new);
            let inserted: usize = edits.iter().map(|(_, _, inserted)| inserted).sum();
            let blocks = (edits.len() + sizes.len()) * 2 * BLOCK_BYTES;
            prop_assert!(sent <= inserted + blocks + sizes.len() * BLOCK_BYTES, "{sent} of {}", new.len());
        }
    }
}
