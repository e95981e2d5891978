//! How much the structure of two pictures differs: the mean structural similarity of their brightness over blocks of 8 × 8
//! pixels, reckoned in whole numbers.
//!
//! A block's similarity looks at its mean, its contrast and whether both pictures vary alike there. So noise that the eye
//! does not see counts little, and a shape that is missing or was moved counts much.

/// Pixels along a side of a block.
const SIDE: usize = 8;
/// One of a similarity.
const ONE: i128 = 1_000_000;
/// Keeps dark blocks from being divided by nothing: the squares of a hundredth and of three hundredths of full brightness.
const STEADY: [i128; 2] = [655 * 655, 1966 * 1966];

/// The sums over one block of both pictures.
#[derive(Clone, Copy, Default)]
struct Block {
    pixels: i64,
    ours: i64,
    theirs: i64,
    ours_squared: i64,
    theirs_squared: i64,
    product: i64,
}

/// The pictures so far, row by row.
pub struct Structure {
    band: Vec<Block>,
    rows: usize,
    distances: u64,
    blocks: u64,
}

impl Structure {
    /// For pictures of this width.
    pub fn new(width: usize) -> Self {
        Self { band: vec![Block::default(); width.div_ceil(SIDE)], rows: 0, distances: 0, blocks: 0 }
    }

    /// The next row of both, in parts of 65,535 of full brightness.
    pub fn row(&mut self, ours: impl Iterator<Item = u16>, theirs: impl Iterator<Item = u16>) {
        for (at, (one, other)) in ours.zip(theirs).enumerate() {
            if let Some(block) = self.band.get_mut(at / SIDE) {
                block.add(one.into(), other.into());
            }
        }
        self.rows += 1;
        if self.rows == SIDE {
            self.end_band();
        }
    }

    /// The mean distance of all blocks in millionths, rounded up.
    pub fn mean(mut self) -> u32 {
        if self.rows > 0 {
            self.end_band();
        }
        let mean = self.distances.div_ceil(self.blocks.max(1));
        u32::try_from(mean).expect("a mean of millionths is at most a million")
    }

    fn end_band(&mut self) {
        for block in &mut self.band {
            self.distances += std::mem::take(block).distance();
            self.blocks += 1;
        }
        self.rows = 0;
    }
}

impl Block {
    fn add(&mut self, one: i64, other: i64) {
        self.pixels += 1;
        self.ours += one;
        self.theirs += other;
        self.ours_squared += one * one;
        self.theirs_squared += other * other;
        self.product += one * other;
    }

    /// One less its similarity, in millionths. Sums stand for means, and everything is multiplied by the number of pixels
    /// squared, so that nothing is divided before the end.
    fn distance(self) -> u64 {
        let squared = i128::from(self.pixels * self.pixels);
        let [light, contrast] = STEADY.map(|steady| steady * squared);
        let both = self.ours * self.theirs;
        let squares = self.ours * self.ours + self.theirs * self.theirs;
        let alike = self.pixels * self.product - both;
        let varies = self.pixels * (self.ours_squared + self.theirs_squared) - squares;
        let above = (2 * i128::from(both) + light) * (2 * i128::from(alike) + contrast);
        let below = (i128::from(squares) + light) * (i128::from(varies) + contrast);
        let similarity = if below == 0 { ONE } else { (above * ONE).div_euclid(below).clamp(0, ONE) };
        u64::try_from(ONE - similarity).expect("a similarity is at most one")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mean(width: usize, ours: &[u16], theirs: &[u16]) -> u32 {
        let mut structure = Structure::new(width);
        for (one, other) in ours.chunks(width).zip(theirs.chunks(width)) {
            structure.row(one.iter().copied(), other.iter().copied());
        }
        structure.mean()
    }

    /// Stripes of full brightness, moved by some pixels.
    fn stripes(moved: usize) -> Vec<u16> {
        (0..256).map(|at| if ((at % 16 + moved) / 4).is_multiple_of(2) { u16::MAX } else { 0 }).collect()
    }

    #[test]
    fn noise_counts_little_and_a_shape_that_moved_counts_much() {
        let noisy: Vec<u16> = (0..256).map(|at| stripes(0)[at] ^ ((at * 7 % 5) as u16 * 64)).collect();
        assert_eq!(mean(16, &stripes(0), &stripes(0)), 0);
        assert!(mean(16, &stripes(0), &noisy) < 1_000);
        assert_eq!(mean(16, &stripes(0), &stripes(4)), 1_000_000, "they are each other's opposite");
        assert!(mean(16, &stripes(0), &[0x8000; 256]) > 900_000);
    }

    #[test]
    fn one_altered_block_counts_for_its_share() {
        let mut altered = vec![0x4000; 64 * 64];
        let plain = altered.clone();
        for row in 0..8 {
            for column in 0..8 {
                altered[row * 64 + column] = if (row + column) % 2 == 0 { 0 } else { u16::MAX };
            }
        }
        let found = mean(64, &plain, &altered);
        assert!((10_000..=15_625).contains(&found), "one of 64 blocks: {found}");
    }

    proptest! {
        #[test]
        fn distances_are_symmetric_and_bounded(
            width in 1..20_usize, pixels in prop::collection::vec(any::<(u16, u16)>(), 0..400),
        ) {
            let (ours, theirs): (Vec<u16>, Vec<u16>) = pixels.into_iter().unzip();
            let found = mean(width, &ours, &theirs);
            prop_assert!(found <= 1_000_000);
            prop_assert_eq!(found, mean(width, &theirs, &ours));
            prop_assert_eq!(mean(width, &ours, &ours), 0);
        }
    }
}
