//! What work costs in electricity, and the price below which it would be done at a loss. Whole numbers only; floors are
//! rounded up and what is left over is rounded down, so that rounding never hides a loss.
use std::fmt;
use std::str::FromStr;

use gleaner_wire::{Amount, DeviceKind, Micros};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::inventory::{Device, Memory};

mod meter;
mod price;

pub use meter::Meter;
pub use price::{Ask, Because, Floor, ask, floor};

/// Hundredths of a percent in a whole.
const WHOLE: u32 = 10_000;
/// Millijoules in a kilowatt hour.
const KWH_MJ: u128 = 3_600_000_000;
const DECIMALS_MAX: usize = 6;

/// Money of the outside world: millionths of a unit of some currency. Written as `0.32 EUR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Money {
    /// Millionths of the unit.
    pub micros: u64,
    /// Three capital letters.
    pub currency: [u8; 3],
}

/// Why a text is not an amount of money.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount of money: write a number with at most 6 decimals and a currency, such as \"0.32 EUR\"")]
pub struct MoneyError(String);

impl FromStr for Money {
    type Err = MoneyError;

    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let read = || {
            let (number, currency) = text.trim().split_once(' ')?;
            let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
            let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
            if whole.is_empty() || decimals.len() > DECIMALS_MAX || !digits(whole) || !digits(decimals) {
                return None;
            }
            let fraction = format!("{decimals:0<6}").parse::<u64>().ok()?;
            let micros = whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction)?;
            let currency: [u8; 3] = currency.trim().as_bytes().try_into().ok()?;
            currency.iter().all(u8::is_ascii_uppercase).then_some(Self { micros, currency })
        };
        read().ok_or_else(|| MoneyError(text.chars().take(64).collect()))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let currency = String::from_utf8_lossy(&self.currency);
        let (whole, rest) = (self.micros / 1_000_000, format!("{:06}", self.micros % 1_000_000));
        match rest.trim_end_matches('0') {
            "" => write!(f, "{whole} {currency}"),
            decimals => write!(f, "{whole}.{decimals} {currency}"),
        }
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// What electricity costs here, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tariff {
    /// Millionths of the currency for a kilowatt hour.
    per_kwh: u64,
    /// Millionths of the same currency for one GLN.
    per_gln: u64,
}

/// Why no tariff can be made of two prices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TariffError {
    /// They are not of one currency.
    #[error("`tariff` is in {0} and `gln_price` in {1}: write both in one currency")]
    Currencies(String, String),
    /// A token is worth nothing.
    #[error("`gln_price` is zero: no price in GLN could ever pay for electricity")]
    Worthless,
}

impl Tariff {
    /// From the price of a kilowatt hour and of one GLN.
    pub fn new(per_kwh: Money, per_gln: Money) -> Result<Self, TariffError> {
        if per_kwh.currency != per_gln.currency {
            let name = |money: Money| String::from_utf8_lossy(&money.currency).into_owned();
            return Err(TariffError::Currencies(name(per_kwh), name(per_gln)));
        }
        if per_gln.micros == 0 {
            return Err(TariffError::Worthless);
        }
        Ok(Self { per_kwh: per_kwh.micros, per_gln: per_gln.micros })
    }

    /// What this much energy costs, rounded up.
    pub fn cost(&self, energy: Millijoules) -> Amount {
        // Two steps, because all in one could pass 128 bits: first millionths of the currency times 10⁹, then tokens.
        let paid = u128::from(energy.0) * u128::from(self.per_kwh);
        let units = u128::from(Amount::UNITS_PER_GLN);
        let exact = paid.checked_mul(units).map(|scaled| scaled.div_ceil(KWH_MJ * u128::from(self.per_gln)));
        let rough = || paid.div_ceil(KWH_MJ).saturating_mul(units).div_ceil(u128::from(self.per_gln));
        Amount(u64::try_from(exact.unwrap_or_else(rough)).unwrap_or(u64::MAX))
    }

    /// The lowest price for a second at which a device that draws this power earns its electricity, if its owner keeps
    /// `keeps` hundredths of a percent of the price.
    pub fn floor_per_second(&self, power: Milliwatts, keeps: u32) -> Amount {
        if keeps == 0 {
            return Amount(u64::MAX);
        }
        let cost = u128::from(self.cost(power.over(Micros(1_000_000))).0);
        // The owner's part is rounded down where it is paid; this is the least price of which that part is the cost.
        let floor = (cost * u128::from(WHOLE)).div_ceil(u128::from(keeps));
        Amount(u64::try_from(floor).unwrap_or(u64::MAX))
    }
}

/// Power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Milliwatts(pub u64);

/// Energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millijoules(pub u64);

impl Milliwatts {
    /// The energy that this power is over a time, rounded up.
    pub fn over(self, time: Micros) -> Millijoules {
        let energy = (u128::from(self.0) * u128::from(time.0)).div_ceil(1_000_000);
        Millijoules(u64::try_from(energy).unwrap_or(u64::MAX))
    }
}

/// Where a figure of power comes from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The owner wrote it.
    Owner,
    /// It was measured under load.
    Measured,
    /// It is the device's limit.
    Rated,
    /// Nothing says so; it is what such a device mostly draws at most.
    Assumed,
}

/// What a device draws while it works.
pub fn power(device: &Device, owner: Option<Milliwatts>, measured: Option<Milliwatts>) -> (Milliwatts, Source) {
    let rated = device.power_mw_max.map(Milliwatts);
    let known = [(owner, Source::Owner), (measured, Source::Measured), (rated, Source::Rated)];
    let best = known.into_iter().find_map(|(power, source)| Some((power?, source)));
    best.unwrap_or((assumed(device), Source::Assumed))
}

fn assumed(device: &Device) -> Milliwatts {
    let watts = match (device.kind, device.memory) {
        (DeviceKind::Cpu | DeviceKind::Software, _) => 95,
        (DeviceKind::Apple, _) => 45,
        (DeviceKind::Nvidia | DeviceKind::Amd | DeviceKind::Intel | DeviceKind::Other, Memory::Shared) => 45,
        (DeviceKind::Nvidia | DeviceKind::Amd | DeviceKind::Intel | DeviceKind::Other, Memory::Own(_)) => 300,
    };
    Milliwatts(watts * 1000)
}

/// What the owner has of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earnings {
    /// What was paid to the owner.
    pub earned: Amount,
    /// What the electricity for it cost.
    pub energy: Amount,
}

impl Earnings {
    /// What is left, in units of 10⁻⁹ GLN; below zero if electricity cost more.
    pub fn net(&self) -> i128 {
        i128::from(self.earned.0) - i128::from(self.energy.0)
    }

    /// Adds one attempt. Sums that could not be shown stay at the largest that can.
    pub fn add(&mut self, paid: Amount, used: Millijoules, tariff: &Tariff) {
        self.earned = Amount(self.earned.0.saturating_add(paid.0));
        self.energy = Amount(self.energy.0.saturating_add(tariff.cost(used).0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tariff(per_kwh: &str, per_gln: &str) -> Tariff {
        Tariff::new(per_kwh.parse().expect("money"), per_gln.parse().expect("money")).expect("a tariff")
    }

    pub(super) fn card() -> Device {
        Device {
            kind: DeviceKind::Nvidia,
            name: "card".to_owned(),
            address: None,
            memory: Memory::Own(None),
            module: None,
            driver: None,
            display: crate::inventory::Display::None,
            ways: crate::inventory::Ways::default(),
            power_mw_max: Some(450_000),
        }
    }

    #[test]
    fn a_kilowatt_for_an_hour_costs_one_kilowatt_hour() {
        let tariff = tariff("0.30 EUR", "0.05 EUR");
        assert_eq!(tariff.cost(Milliwatts(1_000_000).over(Micros(3_600_000_000))), Amount::gln(6));
    }

    #[test]
    fn the_floor_is_what_is_left_after_the_platform_s_share() {
        // 360 W at 0.36 EUR are 0.000036 EUR a second, 0.00036 GLN at 0.10 EUR; 85 % of the floor are that.
        let floor = tariff("0.36 EUR", "0.10 EUR").floor_per_second(Milliwatts(360_000), 8500);
        assert_eq!(floor, Amount(423_530));
        assert!(floor.basis_points(8500) >= Amount(360_000));
    }

    #[test]
    fn currencies_are_not_mixed_and_worthless_tokens_refused() {
        let money = |text: &str| text.parse::<Money>().expect("money");
        assert!(matches!(Tariff::new(money("1 EUR"), money("1 USD")), Err(TariffError::Currencies(..))));
        assert_eq!(Tariff::new(money("1 EUR"), money("0 EUR")), Err(TariffError::Worthless));
    }

    #[test]
    fn money_reads_back_what_it_prints() {
        for text in ["0 EUR", "0.32 EUR", "12.000001 USD", "18446744073709.551615 JPY"] {
            assert_eq!(text.parse::<Money>().map(|money| money.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "0.32", "EUR", "0.3 eur", "-1 EUR", "0.1234567 EUR", "1 EURO", "18446744073710 JPY"] {
            assert!(text.parse::<Money>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_the_owner_writes_comes_before_what_is_measured() {
        let device = card();
        let (owner, measured) = (Some(Milliwatts(1)), Some(Milliwatts(2)));
        assert_eq!(power(&device, owner, measured), (Milliwatts(1), Source::Owner));
        assert_eq!(power(&device, None, measured), (Milliwatts(2), Source::Measured));
        assert_eq!(power(&device, None, None), (Milliwatts(450_000), Source::Rated));
        assert_eq!(power(&Device { power_mw_max: None, ..device }, None, None).1, Source::Assumed);
    }

    #[test]
    fn earnings_may_be_below_zero() {
        let mut earnings = Earnings::default();
        earnings.add(Amount(10), Millijoules(3_600_000_000), &tariff("1 EUR", "1 EUR"));
        assert_eq!(earnings.net(), 10 - i128::from(Amount::gln(1).0));
    }

    proptest! {
        #[test]
        fn work_at_the_floor_is_never_at_a_loss(
            power in 0..10_000_000_u64, per_kwh in 0..100_000_000_u64, per_gln in 1..1_000_000_000_u64, keeps in 1..=10_000_u32,
        ) {
            let tariff = Tariff { per_kwh, per_gln };
            let floor = tariff.floor_per_second(Milliwatts(power), keeps);
            let cost = tariff.cost(Milliwatts(power).over(Micros(1_000_000)));
            prop_assert!(floor == Amount(u64::MAX) || floor.basis_points(keeps) >= cost);
            // And it is no higher than it has to be.
            prop_assert!(floor.0 == 0 || Amount(floor.0 - 1).basis_points(keeps) < cost);
        }

        #[test]
        fn any_energy_has_a_cost_that_does_not_overflow(energy: u64, per_kwh: u64, per_gln in 1..u64::MAX) {
            let tariff = Tariff { per_kwh, per_gln };
            prop_assert!(tariff.cost(Millijoules(energy)) >= tariff.cost(Millijoules(energy / 2)));
        }
    }
}
