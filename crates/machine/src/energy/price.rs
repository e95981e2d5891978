//! What to ask for a second of a device, and why.
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

use super::{Milliwatts, Source, TariffError, power};
use crate::inventory::Device;
use crate::preferences::{Preferences, Price};

/// The price below which a device would work at a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floor {
    /// For a second, rounded up.
    pub per_second: Amount,
    /// The draw that it pays for.
    pub power: Milliwatts,
    /// Where that figure comes from.
    pub source: Source,
}

/// A price, and why it is that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// For a second.
    pub per_second: Amount,
    /// Why.
    pub because: Because,
}

/// Why a price is that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// The owner wrote it.
    Owner,
    /// It is the market's.
    Market,
    /// Anything lower would be at a loss.
    Floor,
}

/// The floor of a device; `None` without a tariff. `measured` is its draw under load ([`super::Meter::under_load`]), and
/// `keeps` what its owner keeps of a price, in hundredths of a percent.
///
/// A slot may run alone and the device then draws what it draws, so each slot has the floor of the whole device.
pub fn floor(
    device: &Device,
    preferences: &Preferences,
    measured: Option<Milliwatts>,
    keeps: u32,
) -> Result<Option<Floor>, TariffError> {
    let Some(tariff) = preferences.tariff()? else { return Ok(None) };
    let (power, source) = power(device, preferences.power(), measured);
    Ok(Some(Floor { per_second: tariff.floor_per_second(power, keeps), power, source }))
}

/// The price to ask: the owner's or the market's, but never below the floor. `None` if the owner follows a market that
/// has no price yet, and there is no floor either.
pub fn ask(price: Price, market: Option<Amount>, floor: Option<Amount>) -> Option<Ask> {
    let wanted = match price {
        Price::PerSecond(price) => Some(Ask { per_second: price, because: Because::Owner }),
        Price::Market => market.map(|price| Ask { per_second: price, because: Because::Market }),
    };
    let least = floor.map(|price| Ask { per_second: price, because: Because::Floor });
    match (wanted, least) {
        (Some(wanted), Some(least)) if wanted.per_second < least.per_second => Some(least),
        (Some(wanted), Some(_) | None) => Some(wanted),
        (None, least) => least,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::tests::card;
    use proptest::prelude::*;

    fn told(price: Price, market: Option<u64>, floor: Option<u64>) -> Option<(u64, Because)> {
        ask(price, market.map(Amount), floor.map(Amount)).map(|ask| (ask.per_second.0, ask.because))
    }

    #[test]
    fn the_owner_s_price_holds_above_the_floor() {
        let owner = Price::PerSecond(Amount(400));
        assert_eq!(told(owner, Some(900), Some(300)), Some((400, Because::Owner)));
        assert_eq!(told(owner, None, Some(500)), Some((500, Because::Floor)));
        assert_eq!(told(owner, None, None), Some((400, Because::Owner)));
    }

    #[test]
    fn the_market_is_followed_down_to_the_floor() {
        assert_eq!(told(Price::Market, Some(900), Some(300)), Some((900, Because::Market)));
        assert_eq!(told(Price::Market, Some(300), Some(300)), Some((300, Because::Market)));
        assert_eq!(told(Price::Market, Some(299), Some(300)), Some((300, Because::Floor)));
    }

    #[test]
    fn without_a_market_the_floor_is_asked_and_without_both_nothing() {
        assert_eq!(told(Price::Market, None, Some(300)), Some((300, Because::Floor)));
        assert_eq!(told(Price::Market, None, None), None);
    }

    #[test]
    fn a_floor_needs_a_tariff_and_tells_its_draw() {
        assert_eq!(floor(&card(), &Preferences::default(), None, 8500), Ok(None));
        let preferences = Preferences::parse("tariff = \"0.36 EUR\"\ngln_price = \"0.10 EUR\"").expect("right");
        let rated = floor(&card(), &preferences, None, 8500).expect("one currency").expect("a tariff");
        assert_eq!((rated.power, rated.source), (Milliwatts(450_000), Source::Rated));
        let measured = floor(&card(), &preferences, Some(Milliwatts(360_000)), 8500).expect("one").expect("a tariff");
        assert_eq!((measured.per_second, measured.source), (Amount(423_530), Source::Measured));
        assert!(measured.per_second < rated.per_second);
    }

    proptest! {
        #[test]
        fn nothing_is_ever_asked_below_the_floor(own: Option<u64>, market: Option<u64>, floor: u64) {
            let price = own.map_or(Price::Market, |price| Price::PerSecond(Amount(price)));
            let asked = ask(price, market.map(Amount), Some(Amount(floor)));
            prop_assert!(asked.is_some_and(|asked| asked.per_second >= Amount(floor)));
        }
    }
}
