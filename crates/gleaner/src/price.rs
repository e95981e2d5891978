//! A worker's price as its owner writes it.
use std::str::FromStr;

use gleaner_wire::Amount;

const SECONDS_PER_HOUR: u64 = 3600;

/// A price by the hour, such as `0.36 GLN/h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HourlyPrice(Amount);

impl HourlyPrice {
    /// The same by the second, rounded up so that it is never lower than what was asked.
    pub fn per_second(self) -> Amount {
        Amount(self.0.0.div_ceil(SECONDS_PER_HOUR))
    }
}

impl FromStr for HourlyPrice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("`{text}` is not a price: write GLN an hour, such as \"0.36 GLN/h\"");
        let amount = text.trim().strip_suffix("/h").ok_or_else(refuse)?;
        amount.trim().parse().map(Self).map_err(|_| refuse())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hourly_price_is_never_rounded_down() {
        let price: HourlyPrice = "0.36 GLN/h".parse().expect("a price");
        assert_eq!(price.per_second(), Amount(100_000));
        let price: HourlyPrice = "0.000000001 GLN/h".parse().expect("a price");
        assert_eq!(price.per_second(), Amount(1));
    }

    #[test]
    fn text_that_is_no_price_is_refused() {
        for text in ["", "0.36", "0.36 GLN", "GLN/h", "-1 GLN/h", "1 GLN/s"] {
            assert!(text.parse::<HourlyPrice>().is_err(), "{text}");
        }
    }
}
