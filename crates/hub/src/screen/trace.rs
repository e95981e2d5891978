//! The path tracing test: light in a scene of a few spheres, in whole numbers, so that every device must agree to the
//! last bit. It is `trace.wgsl` line by line.
use super::kernel::{FOLDED, Kernel, fold, mix};
use std::num::Wrapping;

/// The kernel.
pub(super) const SOURCE: &str = include_str!("wgsl/trace.wgsl");
const SCRATCH_BYTES: u32 = 4;
const SPHERES: u32 = 5;
const BOUNCES: u32 = 4;
const SIDE_MAX: u32 = 1024;
const SIDE_MIN: u32 = 64;
/// Paths of each pixel, before a picture gets larger.
const PATHS_MIN: u64 = 4;

/// Whole numbers as devices have them.
type Number = Wrapping<i32>;
type Vector = [Number; 3];

/// A picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trace {
    seed: u32,
    side: u32,
    paths: u32,
}

impl Trace {
    /// About as many tests of a ray with a sphere as `size`, if no path ended early.
    pub(super) fn new(seed: u32, size: u64) -> Self {
        let paths = |side: u32| size / (u64::from(side).pow(2) * u64::from(SPHERES * BOUNCES));
        let mut side = SIDE_MIN;
        while side < SIDE_MAX && paths(side * 2) >= PATHS_MIN {
            side *= 2;
        }
        Self { seed, side, paths: paths(side).clamp(1, 1 << 16) as u32 }
    }

    /// How many tests of a ray with a sphere it has.
    pub(super) fn steps(self) -> u64 {
        u64::from(self.side).pow(2) * u64::from(self.paths) * u64::from(SPHERES * BOUNCES)
    }

    /// How it is dispatched.
    pub(super) fn kernel(self) -> Kernel {
        Kernel { seed: self.seed, side: self.side, passes: self.paths, scratch_bytes_per_item: SCRATCH_BYTES }
    }

    /// Whether an answer is right.
    pub(super) fn is_right(self, answer: &[u8], seed: u64) -> bool {
        self.kernel().is_right(answer, seed, |at| self.fold(at))
    }

    /// What one number of the answer is.
    fn fold(self, at: u32) -> u32 {
        fold((at * FOLDED..(at + 1) * FOLDED).map(|item| {
            (0..self.paths).fold(0, |so_far, path| {
                let first = mix(mix(self.seed ^ item).wrapping_add(path));
                mix(so_far ^ self.light([item % self.side, item / self.side], first))
            })
        }))
    }

    fn light(self, pixel: [u32; 2], first: u32) -> u32 {
        let mut drawn = first;
        let mut from_here = [0, 0, -3072].map(Wrapping);
        let jitter = [drawn & 7, drawn >> 3 & 7];
        let [x, y] = [0, 1].map(|axis| signed(pixel[axis] * 2048 / self.side) - Wrapping(1024) + signed(jitter[axis]));
        let mut way = unit([x, y, Wrapping(1536)]);
        let mut left = Wrapping(1024);
        for bounce in 0..BOUNCES {
            let Some((ball, radius, far)) = self.nearest(from_here, way) else {
                return drawn & 0xffff_0000 ^ (left * (way[1] + Wrapping(1024))).0 as u32;
            };
            let there = [0, 1, 2].map(|axis| from_here[axis] + ((way[axis] * far) >> 10));
            let outwards = [0, 1, 2].map(|axis| (there[axis] - ball[axis]) * Wrapping(1024) / radius);
            drawn = mix(drawn.wrapping_add(bounce));
            from_here = [0, 1, 2].map(|axis| there[axis] + (outwards[axis] >> 6));
            let aside = scattered(drawn);
            way = unit([0, 1, 2].map(|axis| outwards[axis] + aside[axis]));
            left = (left * signed(128 + (drawn >> 11 & 127))) >> 8;
        }
        drawn
    }

    /// The sphere that a ray meets first, and how far away that is.
    fn nearest(self, from_here: Vector, way: Vector) -> Option<(Vector, Number, Number)> {
        let mut nearest = None;
        for number in 0..SPHERES {
            let drawn = mix(self.seed.wrapping_add(number));
            let (ball, radius) = (scattered(drawn), signed(256 + (mix(!drawn) & 255)));
            let apart = [0, 1, 2].map(|axis| from_here[axis] - ball[axis]);
            let along = scalar(apart, way) >> 10;
            let inside = along * along - scalar(apart, apart) + radius * radius;
            if inside > Wrapping(0) {
                let far = -along - root(inside);
                if far > Wrapping(8) && far < nearest.map_or(Wrapping(1 << 20), |(_, _, far)| far) {
                    nearest = Some((ball, radius, far));
                }
            }
        }
        nearest
    }
}

fn signed(number: u32) -> Number {
    Wrapping(number as i32)
}

fn root(number: Number) -> Number {
    (0..15).rev().map(|bit| Wrapping(1 << bit)).fold(Wrapping(0), |found: Number, bit| {
        let next = found + bit;
        if next * next <= number { next } else { found }
    })
}

fn scalar(one: Vector, other: Vector) -> Number {
    one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
}

/// The same direction, 1024 long or a little less.
fn unit(way: Vector) -> Vector {
    let length = root(scalar(way, way)) + Wrapping(1);
    way.map(|part| part * Wrapping(1024) / length)
}

/// Three numbers from -1024 to 1023.
fn scattered(drawn: u32) -> Vector {
    [drawn, drawn >> 16, mix(drawn)].map(|bits| signed(bits & 2047) - Wrapping(1024))
}

#[cfg(test)]
mod tests {
    use super::super::kernel::device::run;
    use super::*;

    #[test]
    fn a_device_computes_what_the_hub_does() {
        for trace in [Trace::new(0xdead_beef, 1 << 20), Trace { seed: 12, side: 64, paths: 9 }] {
            let Some(answer) = run(SOURCE, trace.kernel()) else { return };
            let folds = trace.kernel().folds();
            let words = answer.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
            assert!((0..folds).map(|at| trace.fold(at)).eq(words.take(folds as usize)));
            assert!(trace.is_right(&answer, 99));
            assert!(!Trace { paths: trace.paths + 1, ..trace }.is_right(&answer, 99));
        }
    }

    #[test]
    fn paths_meet_spheres_and_leave_the_scene() {
        let trace = Trace { seed: 5, side: 64, paths: 1 };
        let middle = [0, 0, -3072].map(Wrapping);
        let met = (0..64).filter(|x| {
            let way = unit([Wrapping(x * 32 - 1024), Wrapping(0), Wrapping(1536)]);
            trace.nearest(middle, way).is_some()
        });
        assert!((5..60).contains(&met.count()), "the picture is neither empty nor full");
    }

    #[test]
    fn sizes_are_kept_to_within_a_factor_of_two() {
        for bits in 18..40 {
            let trace = Trace::new(1, 1 << bits);
            assert!((1 << bits) / 2 <= trace.steps() && trace.steps() <= 1 << bits, "{trace:?}");
        }
    }
}
