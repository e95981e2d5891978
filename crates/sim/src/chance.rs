//! Chance that repeats: a seed gives the same numbers on every machine. Whole numbers only, no clock, no entropy.

/// One step of splitmix64: a well-mixed number for each input.
pub(crate) fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Two numbers mixed into one.
pub(crate) fn mix_two(first: u64, second: u64) -> u64 {
    mix(mix(first) ^ second)
}

/// xoshiro256**, seeded by splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Chance([u64; 4]);

impl Chance {
    pub fn new(seed: u64) -> Self {
        let first = mix(seed);
        let second = mix(first);
        let third = mix(second);
        Self([first, second, third, mix(third) | 1])
    }

    pub fn next(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A number below `limit`, which must not be zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// A number between two others, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Yes in `per_mille` of a thousand cases.
    pub fn hits(&mut self, per_mille: u32) -> bool {
        self.below(1000) < u64::from(per_mille)
    }

    /// A number whose logarithm is even between those of `low` and `high`; straight lines between powers of two.
    pub fn log_uniform(&mut self, low: u64, high: u64) -> u64 {
        let log = |value: u64| {
            let whole = value.ilog2();
            (u64::from(whole) << 16) + (((value - (1 << whole)) << 16) >> whole)
        };
        let drawn = self.between(log(low), log(high));
        let (whole, fraction) = (drawn >> 16, drawn & 0xffff);
        ((1 << whole) + ((fraction << whole) >> 16)).clamp(low, high)
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_and_another_seed_others() {
        let draw = |seed| {
            let mut chance = Chance::new(seed);
            (0..8).map(|_| chance.next()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn log_uniform_numbers_are_as_often_in_each_octave() {
        let mut chance = Chance::new(3);
        let low = (0..10_000).filter(|_| chance.log_uniform(100, 10_000) < 1000).count();
        assert!((4700..5300).contains(&low), "{low}");
    }
}
