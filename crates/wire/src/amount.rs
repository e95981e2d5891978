//! Money. One GLN is 1,000,000,000 units; every amount is a whole number of units.
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Micros;

/// An amount of money in units of 10⁻⁹ GLN. Shown and read as a decimal number of GLN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, pattern = "^[0-9]+(\\.[0-9]{1,9})?$", example = "1.25"))]
pub struct Amount(pub u64);

/// Why a text is not an amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount: write a number of GLN with at most 9 decimals, such as \"1.25 GLN\"")]
pub struct AmountError(String);

impl Amount {
    /// No money.
    pub const ZERO: Self = Self(0);
    /// Units in one GLN.
    pub const UNITS_PER_GLN: u64 = 1_000_000_000;

    /// A whole number of GLN.
    pub const fn gln(whole: u64) -> Self {
        Self(whole * Self::UNITS_PER_GLN)
    }

    /// The price of `time` at this amount a second, rounded up, so that work is never free by rounding.
    pub fn per_second_over(self, time: Micros) -> Self {
        // Prices are reckoned for every placement, and wide division is slow.
        if let Some(product) = self.0.checked_mul(time.0) {
            return Self(product.div_ceil(1_000_000));
        }
        let units = (u128::from(self.0) * u128::from(time.0)).div_ceil(1_000_000);
        Self(u64::try_from(units).unwrap_or(u64::MAX))
    }

    /// How long this amount lasts at `rate` a second; for ever if the rate is zero.
    pub fn lasts_at(self, rate: Self) -> Micros {
        let micros = (u128::from(self.0) * 1_000_000).checked_div(u128::from(rate.0));
        Micros(micros.and_then(|value| u64::try_from(value).ok()).unwrap_or(u64::MAX))
    }

    /// The sum, or `None` past the largest amount.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference, or `None` below zero.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// This many hundredths of a percent of the amount, rounded down.
    pub fn basis_points(self, points: u32) -> Self {
        let share = u128::from(self.0) * u128::from(points) / 10_000;
        Self(u64::try_from(share).expect("a share of at most 100 % fits where the whole did"))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / Self::UNITS_PER_GLN, self.0 % Self::UNITS_PER_GLN);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let digits = alloc::format!("{rest:09}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let refuse = || AmountError(text.into());
        let number = text.trim().strip_suffix("GLN").unwrap_or(text).trim();
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || decimals.len() > 9 || !digits(whole) || !digits(decimals) {
            return Err(refuse());
        }
        let units = alloc::format!("{decimals:0<9}").parse::<u64>().map_err(|_| refuse())?;
        let whole = whole.parse::<u64>().map_err(|_| refuse())?;
        let total = whole.checked_mul(Self::UNITS_PER_GLN).and_then(|sum| sum.checked_add(units));
        total.map(Self).ok_or_else(refuse)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
        } else {
            u64::deserialize(deserializer).map(Self)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn amounts_read_back_what_they_print() {
        for units in [0, 1, 999_999_999, 1_000_000_000, 1_250_000_000, u64::MAX] {
            assert_eq!(Amount(units).to_string().parse(), Ok(Amount(units)));
        }
        assert_eq!("2 GLN".parse(), Ok(Amount::gln(2)));
    }

    #[test]
    fn text_that_is_no_amount_is_refused() {
        for text in ["", "GLN", "-1", "1e3", "1.0000000001", "18446744073.709551616", "1..2", "1 2"] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
    }

    #[test]
    fn work_is_never_free_by_rounding() {
        assert_eq!(Amount(1).per_second_over(Micros(1)), Amount(1));
        assert_eq!(Amount(1).per_second_over(Micros(0)), Amount::ZERO);
        assert_eq!(Amount(u64::MAX).per_second_over(Micros(u64::MAX)), Amount(u64::MAX));
        assert_eq!(Amount(1 << 40).per_second_over(Micros(1 << 30)), Amount((1_u128 << 70).div_ceil(1_000_000) as u64));
    }
}
