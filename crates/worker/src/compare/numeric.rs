//! Number for number. Two agree if they differ by at most what is tolerated absolutely, or for their size.
//!
//! What is no number agrees with what is no number, whatever its bits; an infinity with the same one only.
use gleaner_wire::check::{Compared, Number, Tolerance};

use super::Trouble;
use super::pairs::by_pieces;
use crate::content::Content;
use crate::watch::Watch;

/// A number as it is compared: whole ones never lose a digit.
#[derive(Clone, Copy)]
enum Value {
    Whole(i128),
    Real(f64),
}

/// What is tolerated, both as it is written and for doubles.
#[derive(Clone, Copy)]
pub struct Tolerated {
    whole: [u128; 2],
    real: [f64; 2],
}

impl Tolerated {
    /// Absolute and relative.
    pub fn new([absolute, relative]: [Tolerance; 2]) -> Self {
        let real = |tolerance: Tolerance| tolerance.0 as f64 / Tolerance::UNITS_PER_ONE as f64;
        Self { whole: [absolute.0.into(), relative.0.into()], real: [real(absolute), real(relative)] }
    }

    /// The same fraction absolutely and relatively.
    pub fn fraction(part: u32, of: u32) -> Self {
        let fraction = f64::from(part) / f64::from(of);
        Self { whole: [0; 2], real: [fraction; 2] }
    }

    /// How far two doubles are apart, in millionths of what is tolerated.
    pub fn real(&self, one: f64, other: f64) -> u64 {
        if one == other || one.is_nan() && other.is_nan() {
            return 0;
        }
        if !one.is_finite() || !other.is_finite() {
            return u64::MAX;
        }
        let apart = (one - other).abs();
        let tolerated = self.real[0].max(self.real[1] * one.abs().max(other.abs()));
        // What the cast leaves of a number beyond the largest is the largest, and of a division by zero too.
        let millionths = (apart / tolerated * Compared::TOLERATED as f64) as u64;
        if apart <= tolerated { millionths.min(Compared::TOLERATED) } else { millionths.max(Compared::TOLERATED + 1) }
    }

    /// How far two whole numbers of at most 64 bits are apart, in millionths of what is tolerated.
    fn whole(&self, one: i128, other: i128) -> u64 {
        let apart = one.abs_diff(other) * u128::from(Tolerance::UNITS_PER_ONE);
        let size = one.unsigned_abs().max(other.unsigned_abs());
        let tolerated = self.whole[0].max(self.whole[1] * size);
        match (apart, tolerated) {
            (0, _) => 0,
            (_, 0) => u64::MAX,
            (apart, tolerated) => {
                let millionths = (apart * u128::from(Compared::TOLERATED)).div_ceil(tolerated);
                u64::try_from(millionths).unwrap_or(u64::MAX)
            }
        }
    }

    fn distance(&self, one: Value, other: Value) -> u64 {
        match (one, other) {
            (Value::Whole(one), Value::Whole(other)) => self.whole(one, other),
            (Value::Real(one), Value::Real(other)) => self.real(one, other),
            (Value::Whole(_), Value::Real(_)) | (Value::Real(_), Value::Whole(_)) => u64::MAX,
        }
    }
}

/// Compares two files of numbers.
pub fn compare(
    pair: &[Content; 2],
    number: Number,
    tolerances: [Tolerance; 2],
    watch: &Watch,
) -> Result<Compared, Trouble> {
    let tolerated = Tolerated::new(tolerances);
    by_pieces(pair, watch, |ours, theirs| compare_piece(ours, theirs, number, &tolerated))
}

fn compare_piece(ours: &[u8], theirs: &[u8], number: Number, tolerated: &Tolerated) -> Compared {
    let (ours, theirs) = (ours.chunks(number.bytes()), theirs.chunks(number.bytes()));
    let differing = ours.zip(theirs).filter(|(one, other)| one != other);
    let distance = differing.map(|(one, other)| match (value(one, number), value(other, number)) {
        (Some(one), Some(other)) => tolerated.distance(one, other),
        // The rest of a file that is no whole number of numbers.
        (Some(_), None) | (None, Some(_)) | (None, None) => u64::MAX,
    });
    Compared::at(distance.max().unwrap_or(0))
}

fn value(bytes: &[u8], number: Number) -> Option<Value> {
    let whole = match number {
        Number::U8 => i128::from(u8::from_le_bytes(bytes.try_into().ok()?)),
        Number::I8 => i128::from(i8::from_le_bytes(bytes.try_into().ok()?)),
        Number::U16 => i128::from(u16::from_le_bytes(bytes.try_into().ok()?)),
        Number::I16 => i128::from(i16::from_le_bytes(bytes.try_into().ok()?)),
        Number::U32 => i128::from(u32::from_le_bytes(bytes.try_into().ok()?)),
        Number::I32 => i128::from(i32::from_le_bytes(bytes.try_into().ok()?)),
        Number::U64 => i128::from(u64::from_le_bytes(bytes.try_into().ok()?)),
        Number::I64 => i128::from(i64::from_le_bytes(bytes.try_into().ok()?)),
        Number::F16 => return Some(Value::Real(half(u16::from_le_bytes(bytes.try_into().ok()?)))),
        Number::Bf16 => {
            let upper = u16::from_le_bytes(bytes.try_into().ok()?);
            return Some(Value::Real(f32::from_bits(u32::from(upper) << 16).into()));
        }
        Number::F32 => return Some(Value::Real(f32::from_le_bytes(bytes.try_into().ok()?).into())),
        Number::F64 => return Some(Value::Real(f64::from_le_bytes(bytes.try_into().ok()?))),
    };
    Some(Value::Whole(whole))
}

/// A number of half precision: a sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (u64::from(bits >> 10 & 31), f64::from(bits & 1023));
    // A double's exponent is 1023 more than it says: these are exact powers of two.
    let power = |exponent: u64| f64::from_bits((exponent + 1023 - 25) << 52);
    let size = match exponent {
        0 => fraction * power(1),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * power(exponent),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{file, watch};
    use super::*;
    use proptest::prelude::*;

    const NUMBERS: [Number; 12] = [
        Number::U8,
        Number::I8,
        Number::U16,
        Number::I16,
        Number::U32,
        Number::I32,
        Number::U64,
        Number::I64,
        Number::F16,
        Number::Bf16,
        Number::F32,
        Number::F64,
    ];

    fn tolerances(absolute: &str, relative: &str) -> [Tolerance; 2] {
        [absolute, relative].map(|text| text.parse().expect("a tolerance"))
    }

    fn compared(one: &[u8], other: &[u8], number: Number, tolerances: [Tolerance; 2]) -> Compared {
        compare(&[file(one), file(other)], number, tolerances, &watch()).expect("compares")
    }

    fn floats(one: &[f32], other: &[f32], tolerances: [Tolerance; 2]) -> Compared {
        let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
        compared(&bytes(one), &bytes(other), Number::F32, tolerances)
    }

    #[test]
    fn what_is_tolerated_is_told_from_what_is_just_not() {
        let half = tolerances("0.5", "0");
        assert_eq!(floats(&[1.0, 2.0], &[1.0, 2.5], half), Compared::at(1_000_000));
        assert!(!floats(&[2.0], &[2.5000002], half).agrees);
        assert_eq!(floats(&[2.0], &[2.25], half), Compared::at(500_000));
        let relative = tolerances("0", "0.25");
        assert!(floats(&[3.0], &[4.0], relative).agrees, "a quarter of the larger one");
        assert!(!floats(&[3.0], &[4.0000005], relative).agrees);
        assert_eq!(floats(&[1.0], &[1.0000001], tolerances("0", "0")), Compared::APART);
    }

    #[test]
    fn whole_numbers_lose_no_digit() {
        let one = u64::MAX.to_le_bytes();
        let other = (u64::MAX - 1).to_le_bytes();
        assert_eq!(compared(&one, &other, Number::U64, tolerances("0", "0")), Compared::APART);
        assert_eq!(compared(&one, &other, Number::U64, tolerances("1", "0")), Compared::at(1_000_000));
        assert!(compared(&one, &0_u64.to_le_bytes(), Number::U64, tolerances("0", "1")).agrees);
        let (low, high) = (i64::MIN.to_le_bytes(), i64::MAX.to_le_bytes());
        assert!(!compared(&low, &high, Number::I64, tolerances("10000000", "1")).agrees);
        assert!(compared(&[255], &[0], Number::I8, tolerances("1", "0")).agrees, "they are -1 and 0");
    }

    #[test]
    fn what_is_no_number_agrees_with_its_like_only() {
        let wide = tolerances("10000000", "1");
        let other_nan = f32::from_bits(f32::NAN.to_bits() | 1);
        assert_eq!(floats(&[f32::NAN], &[other_nan], wide), Compared::SAME);
        assert_eq!(floats(&[f32::NAN], &[0.0], wide), Compared::APART);
        assert_eq!(floats(&[f32::INFINITY], &[f32::MAX], wide), Compared::APART);
        assert_eq!(floats(&[f32::INFINITY], &[f32::NEG_INFINITY], wide), Compared::APART);
        assert_eq!(floats(&[0.0], &[-0.0], tolerances("0", "0")), Compared::SAME);
    }

    #[test]
    fn other_lengths_and_other_ends_are_apart() {
        let wide = tolerances("10000000", "1");
        assert_eq!(floats(&[1.0], &[1.0, 1.0], wide), Compared::APART);
        assert_eq!(compared(&[0, 0, 0, 0, 1], &[0, 0, 0, 0, 2], Number::F32, wide), Compared::APART);
        assert_eq!(compared(&[0, 0, 0, 1, 1], &[0, 0, 0, 0, 1], Number::F32, wide), Compared::at(0));
    }

    #[test]
    fn halves_are_read_as_they_are() {
        for (bits, value) in [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (1, 5.960464477539063e-8), (0, 0.0)] {
            assert_eq!(half(bits), value);
        }
        assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
    }

    #[test]
    fn the_largest_error_of_a_long_file_counts() {
        let mut values = vec![1.0_f32; 200_000];
        let one = values.clone();
        values[3] = 1.25;
        values[150_000] = 1.5;
        assert_eq!(floats(&one, &values, tolerances("1", "0")), Compared::at(500_000));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn any_bytes_compare_alike_in_both_orders(
            one in prop::collection::vec(any::<u8>(), 0..40), other in prop::collection::vec(any::<u8>(), 0..40),
            kind in 0..NUMBERS.len(), absolute in 0..=Tolerance::MAX.0, relative in 0..=Tolerance::UNITS_PER_ONE,
        ) {
            let tolerated = Tolerated::new([Tolerance(absolute), Tolerance(relative)]);
            let length = one.len().min(other.len());
            let (one, other) = (&one[..length], &other[..length]);
            let forth = compare_piece(one, other, NUMBERS[kind], &tolerated);
            prop_assert_eq!(forth, compare_piece(other, one, NUMBERS[kind], &tolerated));
            prop_assert_eq!(forth.agrees, forth.distance <= Compared::TOLERATED);
            prop_assert_eq!(compare_piece(one, one, NUMBERS[kind], &tolerated), Compared::SAME);
        }

        #[test]
        fn more_tolerance_never_makes_a_difference(one in any::<f64>(), other in any::<f64>(), units in any::<(u32, u32)>()) {
            let tight = Tolerated::new([Tolerance(units.0.into()), Tolerance(units.1.into())]);
            let loose = Tolerated::new([Tolerance(u64::from(units.0) * 2), Tolerance(u64::from(units.1) * 2)]);
            prop_assert!(loose.real(one, other) <= tight.real(one, other));
        }
    }
}
