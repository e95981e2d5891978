//! Two sums of every block of a chunk: a weak one that rolls along a stream, and a strong one that decides.
//!
//! The strong one is a secret linear function modulo the prime 2⁶¹−1: two different blocks have the same sum for one
//! in 2⁶¹ of all keys, whoever chose the blocks, and it costs a fraction of a cryptographic hash.
use std::fmt;

use crate::seal::Keys;

/// How long blocks are. An edit costs about one of them; each costs some bytes of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grain {
    /// For files of which there may be many.
    Fine,
    /// For files that are large by themselves.
    Coarse,
}

/// The longest block.
const BLOCK_BYTES_MAX: usize = 4096;
const PRIME: u64 = (1 << 61) - 1;
const WORDS: usize = BLOCK_BYTES_MAX / 4;
const ENCODED_BYTES: usize = 12;

impl Grain {
    /// Larger files are cut into long blocks.
    const FINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

    /// The grain for files of this size.
    pub fn of(file_bytes: u64) -> Self {
        if file_bytes < Self::FINE_BYTES_MAX { Self::Fine } else { Self::Coarse }
    }

    /// The size of a block.
    pub fn bytes(self) -> usize {
        match self {
            Self::Fine => 512,
            Self::Coarse => BLOCK_BYTES_MAX,
        }
    }

    /// How many blocks a chunk has.
    pub(super) fn blocks(self, chunk_bytes: usize) -> usize {
        if chunk_bytes < self.bytes() { 0 } else { chunk_bytes.div_ceil(self.bytes()) }
    }

    /// Where a block begins in its chunk.
    pub(super) fn place(self, block: usize, chunk_bytes: usize) -> usize {
        (block * self.bytes()).min(chunk_bytes - self.bytes())
    }
}

/// What is kept of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Rolls.
    pub weak: u32,
    /// Decides.
    pub strong: u64,
}

/// Makes the sums of one account.
pub struct Summer {
    factors: Box<[u64; WORDS]>,
    weak: [Rolling; 2],
}

impl fmt::Debug for Summer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Summer {
    /// The sums of this account.
    pub fn new(keys: &Keys) -> Self {
        let mut stream = blake3::Hasher::new_keyed(&keys.sums).finalize_xof();
        let mut draw = || {
            let mut bytes = [0; 8];
            stream.fill(&mut bytes);
            u64::from_le_bytes(bytes)
        };
        let weak = [Rolling::new(draw()), Rolling::new(draw())];
        let mut factors = Box::new([0; WORDS]);
        factors.iter_mut().for_each(|factor| *factor = draw() % PRIME);
        Self { factors, weak }
    }

    /// The weak sum of a block.
    pub fn weak(&self, block: &[u8]) -> u32 {
        let [high, low] = &self.weak;
        u32::from(high.sum(block)) << 16 | u32::from(low.sum(block))
    }

    /// The weak sum of the block that begins one byte later.
    #[inline]
    pub fn roll(&self, grain: Grain, weak: u32, leaves: u8, enters: u8) -> u32 {
        let [high, low] = &self.weak;
        let halves = ((weak >> 16) as u16, (weak & 0xffff) as u16);
        u32::from(high.roll(grain, halves.0, leaves, enters)) << 16
            | u32::from(low.roll(grain, halves.1, leaves, enters))
    }

    /// The strong sum of a block.
    pub fn strong(&self, block: &[u8]) -> u64 {
        let words = block.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
        let terms = words.zip(self.factors.iter());
        // 1024 products of 32 by 61 bits do not overflow.
        let sum = terms.fold(0_u128, |sum, (word, factor)| sum + u128::from(word) * u128::from(*factor));
        let folded = (sum & u128::from(PRIME)) + (sum >> 61);
        u64::try_from(folded).expect("a little more than the prime") % PRIME
    }

    /// Both sums of a block.
    pub fn sum(&self, block: &[u8]) -> Sum {
        Sum { weak: self.weak(block), strong: self.strong(block) }
    }

    /// The sums of all blocks of a chunk. If the last one would be shorter, there is one more that ends with the chunk.
    pub fn sums(&self, grain: Grain, chunk: &[u8]) -> Vec<Sum> {
        let block = |number| &chunk[grain.place(number, chunk.len())..][..grain.bytes()];
        (0..grain.blocks(chunk.len())).map(|number| self.sum(block(number))).collect()
    }
}

/// Half of a weak sum: a polynomial with the bytes as its factors. In 16 bits a processor adds up many at a time.
struct Rolling {
    /// The last is that of the last byte of a block.
    powers: Box<[u16; BLOCK_BYTES_MAX]>,
    base: u16,
}

impl Rolling {
    fn new(chance: u64) -> Self {
        // An odd base loses nothing of what it multiplies, and 5 modulo 8 makes its powers many.
        let base = (chance >> 48) as u16 & !7 | 5;
        let mut powers = Box::new([1; BLOCK_BYTES_MAX]);
        for place in (0..BLOCK_BYTES_MAX - 1).rev() {
            powers[place] = base.wrapping_mul(powers[place + 1]);
        }
        Self { powers, base }
    }

    fn sum(&self, block: &[u8]) -> u16 {
        let terms = block.iter().zip(&self.powers[BLOCK_BYTES_MAX - block.len()..]);
        terms.fold(0, |sum: u16, (byte, power)| sum.wrapping_add(power.wrapping_mul(u16::from(*byte) + 1)))
    }

    #[inline]
    fn roll(&self, grain: Grain, sum: u16, leaves: u8, enters: u8) -> u16 {
        let first = self.powers[BLOCK_BYTES_MAX - grain.bytes()];
        let without = sum.wrapping_sub(first.wrapping_mul(u16::from(leaves) + 1));
        without.wrapping_mul(self.base).wrapping_add(u16::from(enters) + 1)
    }
}

impl Sum {
    /// As they are kept in the index.
    pub fn encode_all(sums: &[Self]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(sums.len() * ENCODED_BYTES);
        for sum in sums {
            bytes.extend_from_slice(&sum.weak.to_le_bytes());
            bytes.extend_from_slice(&sum.strong.to_le_bytes());
        }
        bytes
    }

    /// What was kept. Bytes that are no sums give none.
    pub fn decode_all(bytes: &[u8]) -> Vec<Self> {
        let sums = bytes.chunks_exact(ENCODED_BYTES).map(|sum| Self {
            weak: u32::from_le_bytes(sum[..4].try_into().expect("four bytes")),
            strong: u64::from_le_bytes(sum[4..].try_into().expect("eight bytes")),
        });
        sums.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::noise;
    use crate::seal::AccountSecret;

    fn summer() -> Summer {
        Summer::new(&AccountSecret::from_bytes([1; 32]).keys())
    }

    #[test]
    fn the_weak_sum_rolls() {
        for grain in [Grain::Fine, Grain::Coarse] {
            let (summer, bytes, length) = (summer(), noise(1, 9000), grain.bytes());
            let mut weak = summer.weak(&bytes[..length]);
            for start in 1..=bytes.len() - length {
                weak = summer.roll(grain, weak, bytes[start - 1], bytes[start + length - 1]);
                assert_eq!(weak, summer.weak(&bytes[start..start + length]), "at {start}");
            }
        }
    }

    #[test]
    fn any_changed_byte_changes_the_strong_sum() {
        let (summer, mut block) = (summer(), noise(1, Grain::Coarse.bytes()));
        let before = summer.strong(&block);
        for place in 0..block.len() {
            block[place] ^= 0x10;
            assert_ne!(summer.strong(&block), before);
            block[place] ^= 0x10;
        }
    }

    #[test]
    fn blocks_cover_a_chunk_to_its_end() {
        let summer = summer();
        for (size, fine, coarse) in [(0, 0, 0), (511, 0, 0), (512, 1, 0), (4096, 8, 1), (4097, 9, 2), (65_537, 129, 17)]
        {
            let chunk = noise(2, size);
            for (grain, count) in [(Grain::Fine, fine), (Grain::Coarse, coarse)] {
                let sums = summer.sums(grain, &chunk);
                assert_eq!(sums.len(), count, "{size}");
                if let Some(last) = sums.last() {
                    assert_eq!(*last, summer.sum(&chunk[size - grain.bytes()..]));
                }
            }
        }
    }

    #[test]
    fn sums_are_kept_and_found() {
        let sums = summer().sums(Grain::Fine, &noise(3, 10_000));
        assert_eq!(Sum::decode_all(&Sum::encode_all(&sums)), sums);
    }

    #[test]
    fn sums_are_pinned() {
        let pinned = [Grain::Fine, Grain::Coarse].map(|grain| summer().sum(&noise(4, grain.bytes())));
        assert_eq!(pinned.map(|sum| (sum.weak, sum.strong)), PINNED);
    }

    const PINNED: [(u32, u64); 2] =
        [(2_696_170_036, 1_257_514_692_830_898_484), (1_853_334_679, 1_640_501_056_809_322_542)];
}
