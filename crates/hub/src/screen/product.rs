//! The matrix test: products of square matrices, modulo 2³². An element of a product is cheap to compute again, so the
//! hub looks at some of them, on machines that are a thousand times as fast as it.
use super::kernel::{FOLDED, Kernel, fold, mix};

/// The kernel.
pub(super) const SOURCE: &str = include_str!("wgsl/product.wgsl");
/// The two matrices, and what has come out so far.
const SCRATCH_BYTES: u32 = 12;
/// Drivers that count loops to 65,535 only count to this too.
const SIDE_MAX: u32 = 1024;
const SIDE_MIN: u32 = 64;

/// Products of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Product {
    seed: u32,
    side: u32,
    times: u32,
}

impl Product {
    /// About as many multiplications as `size`.
    pub(super) fn new(seed: u32, size: u64) -> Self {
        let mut side = SIDE_MIN;
        while side < SIDE_MAX && u64::from(side * 2).pow(3) <= size {
            side *= 2;
        }
        let times = (size / u64::from(side).pow(3)).clamp(1, 1 << 16) as u32;
        Self { seed, side, times }
    }

    /// How many multiplications it has.
    pub(super) fn steps(self) -> u64 {
        u64::from(self.side).pow(3) * u64::from(self.times)
    }

    /// How it is dispatched.
    pub(super) fn kernel(self) -> Kernel {
        Kernel { seed: self.seed, side: self.side, passes: 2 * self.times, scratch_bytes_per_item: SCRATCH_BYTES }
    }

    /// What one number of the answer is. All of its items are in one row.
    pub(super) fn fold(self, at: u32) -> u32 {
        let (row, column) = (at * FOLDED / self.side, at * FOLDED % self.side);
        let mut so_far = [0_u32; FOLDED as usize];
        for time in 0..self.times {
            let (first, second) = (mix(self.seed ^ (2 * time)), mix(self.seed ^ (2 * time + 1)));
            let mut sums = [0_u32; FOLDED as usize];
            for along in 0..self.side {
                let left = mix(first.wrapping_add(row * self.side + along));
                for (sum, beside) in sums.iter_mut().zip(0..) {
                    let right = mix(second.wrapping_add(along * self.side + column + beside));
                    *sum = sum.wrapping_add(left.wrapping_mul(right));
                }
            }
            so_far.iter_mut().zip(sums).for_each(|(so_far, sum)| *so_far = mix(*so_far ^ sum));
        }
        fold(so_far)
    }

    /// Whether an answer is right.
    pub(super) fn is_right(self, answer: &[u8], seed: u64) -> bool {
        self.kernel().is_right(answer, seed, |at| self.fold(at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::device::run;
    use super::*;

    #[test]
    fn sizes_are_kept_to_within_a_factor_of_eight_and_loops_stay_short() {
        for bits in 18..40 {
            let product = Product::new(1, 1 << bits);
            assert!((1 << bits) / 8 <= product.steps() && product.steps() <= 1 << bits, "{product:?}");
            assert!(product.side <= SIDE_MAX);
        }
    }

    #[test]
    fn a_device_computes_what_the_hub_does() {
        for product in [Product::new(0xdead_beef, 1 << 18), Product { seed: 7, side: 128, times: 3 }] {
            let Some(answer) = run(SOURCE, product.kernel()) else { return };
            assert!(product.is_right(&answer, 99));
            let all = (0..product.kernel().folds()).map(|at| product.fold(at));
            let words = answer.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
            assert!(all.eq(words.take(product.kernel().folds() as usize)));
            assert!(!Product { seed: 8, ..product }.is_right(&answer, 99), "another seed has another answer");
        }
    }

    #[test]
    fn what_was_left_out_or_added_is_seen() {
        let product = Product::new(3, 1 << 18);
        let folds = product.kernel().folds();
        let mut answer: Vec<u8> = (0..folds).flat_map(|at| product.fold(at).to_le_bytes()).collect();
        answer.resize((product.side * product.side) as usize, 0);
        assert!(product.is_right(&answer, 5));
        assert!(!product.is_right(&answer[1..], 5));
        let mut half = answer.clone();
        half[..folds as usize * 2].fill(0);
        assert!((0..20).all(|seed| !product.is_right(&half, seed)), "half of it is missing");
        *answer.last_mut().expect("it is long") = 1;
        assert!(!product.is_right(&answer, 5), "nothing else may be sent along");
    }
}
