//! Time and sizes, with the units that people write.
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment (milliseconds since 1970) or a span of milliseconds. Written as `"90s"`, `"10m"`, `"2h"` by people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Millis(pub u64);

/// A span of microseconds, as metered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Micros(pub u64);

/// A number of bytes; `"512MiB"` or a plain number where people write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, example = "24GiB"))]
pub struct ByteSize(pub u64);

/// Why a text is not a duration or a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not a duration.
    #[error("`{0}` is not a duration: write a whole number with ms, s, m, h or d, such as \"90s\"")]
    Duration(String),
    /// Not a size.
    #[error("`{0}` is not a size: write a whole number with B, KiB, MiB, GiB or TiB, such as \"512MiB\"")]
    Size(String),
}

impl Millis {
    /// This moment moved by a span, never past the end of time.
    pub fn after(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The span since an earlier moment; zero if it is not earlier.
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// The same span in microseconds.
    pub fn micros(self) -> Micros {
        Micros(self.0.saturating_mul(1000))
    }

    /// Reads a span such as `90s`.
    pub fn parse_span(text: &str) -> Result<Self, QuantityError> {
        let refuse = || QuantityError::Duration(text.into());
        let (number, unit) = split_unit(text).ok_or_else(refuse)?;
        let scale = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(refuse()),
        };
        number.checked_mul(scale).map(Self).ok_or_else(refuse)
    }
}

impl Micros {
    /// The same span in milliseconds, rounded up.
    pub fn millis(self) -> Millis {
        Millis(self.0.div_ceil(1000))
    }
}

impl ByteSize {
    /// Mebibytes.
    pub const fn mib(count: u64) -> Self {
        Self(count * 1024 * 1024)
    }
}

const SIZES: [(&str, u64); 5] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl FromStr for ByteSize {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let refuse = || QuantityError::Size(text.into());
        let (number, unit) = split_unit(text).ok_or_else(refuse)?;
        let scale = SIZES.iter().find(|(name, _)| *name == unit || unit.is_empty() && *name == "B");
        let (_, scale) = scale.ok_or_else(refuse)?;
        number.checked_mul(*scale).map(Self).ok_or_else(refuse)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, scale): &&(&str, u64)| self.0 >= *scale && self.0.is_multiple_of(*scale);
        let (name, scale) = SIZES.iter().find(fits).unwrap_or(&SIZES[4]);
        write!(f, "{}{name}", self.0 / scale)
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
        } else {
            u64::deserialize(deserializer).map(Self)
        }
    }
}

fn split_unit(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn spans_are_read_with_their_unit() {
        assert_eq!(Millis::parse_span("90s"), Ok(Millis(90_000)));
        assert_eq!(Millis::parse_span(" 2 h "), Ok(Millis(7_200_000)));
        for text in ["", "5", "s", "-1s", "1.5s", "99999999999999999999s", "18446744073709551615d"] {
            assert!(Millis::parse_span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_read_back_what_they_print() {
        for bytes in [0, 1, 1023, 1024, 1025, 3 << 30, u64::MAX] {
            assert_eq!(ByteSize(bytes).to_string().parse(), Ok(ByteSize(bytes)));
        }
        assert!("1XB".parse::<ByteSize>().is_err());
    }
}
