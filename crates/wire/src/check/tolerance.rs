//! A small number that people write as a decimal, kept whole.
use alloc::string::{String, ToString};
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How much two numbers may differ, in units of 10⁻¹². Written as a decimal, such as `1e-6` or `0.02`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, example = "1e-6"))]
pub struct Tolerance(pub u64);

/// Why a text is not a tolerance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tolerance: write a number from 0 to 10,000,000 in steps of 1e-12, such as \"1e-6\"")]
pub struct ToleranceError(String);

/// The decimals that are kept.
const DECIMALS: i32 = 12;
/// The longest text that is read.
const CHARS_MAX: usize = 40;

impl Tolerance {
    /// Units in one.
    pub const UNITS_PER_ONE: u64 = 1_000_000_000_000;
    /// The largest that is read.
    pub const MAX: Self = Self(10_000_000 * Self::UNITS_PER_ONE);
}

impl FromStr for Tolerance {
    type Err = ToleranceError;

    fn from_str(text: &str) -> Result<Self, ToleranceError> {
        units(text.trim()).filter(|units| *units <= Self::MAX.0).map(Self).ok_or_else(|| ToleranceError(text.into()))
    }
}

/// The units of a decimal, or `None` if it is none or falls between two of them.
fn units(text: &str) -> Option<u64> {
    if text.len() > CHARS_MAX {
        return None;
    }
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || !whole.bytes().chain(decimals.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = [whole, decimals].concat();
    let significant = digits.trim_end_matches('0');
    if significant.trim_start_matches('0').is_empty() {
        return exponent.parse::<i32>().ok().map(|_| 0);
    }
    let dropped = i32::try_from(digits.len() - significant.len()).ok()?;
    let decimals = i32::try_from(decimals.len()).ok()?;
    let scale = exponent.parse::<i32>().ok()?.checked_add(DECIMALS + dropped - decimals)?;
    let scale = 10_u64.checked_pow(u32::try_from(scale).ok()?)?;
    significant.parse::<u64>().ok()?.checked_mul(scale)
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / Self::UNITS_PER_ONE, self.0 % Self::UNITS_PER_ONE);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let digits = alloc::format!("{rest:012}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

impl Serialize for Tolerance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(Written)
        } else {
            u64::deserialize(deserializer).map(Self)
        }
    }
}

/// People write it as a text or as a number.
struct Written;

impl de::Visitor<'_> for Written {
    type Value = Tolerance;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tolerance such as \"1e-6\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Tolerance, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Tolerance, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Tolerance, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Tolerance, E> {
        // The shortest text that reads back as the same number is what was written.
        self.visit_str(&alloc::format!("{number:e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_read_in_every_form() {
        for (text, units) in [
            ("0", 0),
            ("0.000e-99", 0),
            ("1e-12", 1),
            ("1E-6", 1_000_000),
            ("0.000001", 1_000_000),
            ("2.5", 2_500_000_000_000),
            ("10000000", 10_000_000_000_000_000_000),
            ("1.0000000000000000000000000000000000", 1_000_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Tolerance(units)), "{text}");
        }
    }

    #[test]
    fn text_that_is_no_tolerance_is_refused() {
        for text in
            ["", ".5", "-1", "1e-13", "1e99", "10000001", "1e", "1e1.5", "0x1", "nan", "inf", "1 2", "0e2147483648"]
        {
            assert!(text.parse::<Tolerance>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn tolerances_read_back_what_they_print(units in 0..=Tolerance::MAX.0) {
            prop_assert_eq!(Tolerance(units).to_string().parse(), Ok(Tolerance(units)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9.eE+-]{0,48}") {
            let _ = text.parse::<Tolerance>();
        }
    }
}
