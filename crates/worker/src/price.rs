//! What is asked for a second of each device: what its owner or the market says, but never less than its electricity costs.
use std::time::Duration;

use gleaner_client::{Client, Error, Token};
use gleaner_machine::energy::{self, Milliwatts, TariffError};
use gleaner_machine::{Device, Preferences};
use gleaner_wire::api::PriceView;
use gleaner_wire::{Amount, DeviceKind};
use tokio::sync::watch;
use tokio::time::sleep;

/// What a provider keeps of a price, in hundredths of a percent.
const KEPT_POINTS: u32 = 8500;
/// The price of a second where the owner follows a market that has none yet: 0.36 GLN an hour.
const PRICE_DEFAULT: Amount = Amount(100_000);
/// How often the market is looked at, on average.
const MARKET_EVERY: Duration = Duration::from_secs(15 * 60);
/// The part of a price by which it has to change before anybody is told.
const NEWS_PART: u64 = 50;

/// What others ask for a second, by kind of device.
pub type Market = Vec<(DeviceKind, Amount)>;

/// What is asked for a device that is made of these cards, each with its draw under load where that was measured.
pub fn price<'a>(
    preferences: &Preferences,
    market: &[(DeviceKind, Amount)],
    cards: impl IntoIterator<Item = (&'a Device, Option<Milliwatts>)>,
) -> Result<Amount, TariffError> {
    let mut sum = Amount::ZERO;
    for (card, measured) in cards {
        let others = market.iter().find(|(kind, _)| *kind == card.kind).map(|(_, price)| *price);
        let floor = energy::floor(card, preferences, measured, KEPT_POINTS)?.map(|floor| floor.per_second);
        let asked = energy::ask(preferences.price, others, floor).map_or(PRICE_DEFAULT, |asked| asked.per_second);
        sum = Amount(sum.0.saturating_add(asked.0));
    }
    Ok(sum)
}

/// Whether new prices are worth telling: a measured draw is never quite the same.
pub fn is_news(known: &[Amount], new: &[Amount]) -> bool {
    let differs = |(known, new): (&Amount, &Amount)| known.0.abs_diff(new.0) > known.0 / NEWS_PART;
    known.len() != new.len() || known.iter().zip(new).any(differs)
}

/// What others ask at a hub: the middle of the prices of those that are connected.
pub async fn market(hub: &str) -> Result<Market, Error> {
    let prices = Client::new(hub, Token::new(""), "provider")?.get::<Vec<PriceView>>("/prices").await?;
    Ok(prices.into_iter().map(|price| (price.kind, price.per_second)).collect())
}

/// Follows the market for as long as it is polled.
pub async fn follow(hub: &str, known: &watch::Sender<Market>) {
    loop {
        // Not all workers at once, not even those of a hub that came back.
        let chance = f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX);
        sleep(MARKET_EVERY / 2 + MARKET_EVERY.mul_f64(chance)).await;
        match market(hub).await {
            Ok(prices) => {
                known.send_if_modified(|known| std::mem::replace(known, prices.clone()) != prices);
            }
            Err(error) => tracing::debug!(%error, "the market was not looked at"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::self_test::unknown_device;
    use gleaner_machine::inventory::Memory;

    fn card() -> Device {
        Device { memory: Memory::Own(None), ..unknown_device(DeviceKind::Nvidia, "card") }
    }

    fn asked(preferences: &str, market: u64, measured: &[Option<u64>]) -> u64 {
        let preferences = Preferences::parse(preferences).expect("right");
        let card = card();
        let cards = measured.iter().map(|watts| (&card, watts.map(|watts| Milliwatts(watts * 1000))));
        price(&preferences, &[(DeviceKind::Nvidia, Amount(market))], cards).expect("one currency").0
    }

    const TARIFF: &str = "tariff = \"0.36 EUR\"\ngln_price = \"0.10 EUR\"\n";

    #[test]
    fn the_market_is_followed_and_a_measured_draw_moves_the_floor() {
        assert_eq!(asked("", 700, &[None]), 700);
        assert_eq!(asked("", 900, &[None]), 900);
        let rated = asked(TARIFF, 700, &[None]);
        let measured = asked(TARIFF, 700, &[Some(100)]);
        assert!(700 < measured && measured < rated, "{measured}, {rated}");
        assert_eq!(measured, 117_648, "100 W at 3.6 GLN a kilowatt hour, over the 85 % that are kept, rounded up");
        assert_eq!(asked(TARIFF, 500_000, &[Some(100)]), 500_000);
    }

    #[test]
    fn cards_that_are_offered_together_cost_what_each_of_them_costs() {
        assert_eq!(asked("", 700, &[None, None]), 1400);
        let (low, high) = (asked(TARIFF, 0, &[Some(100)]), asked(TARIFF, 0, &[Some(300)]));
        assert_eq!(asked(TARIFF, 0, &[Some(100), Some(300)]), low + high);
    }

    #[test]
    fn small_changes_are_no_news() {
        let news = |known: &[u64], new: &[u64]| {
            let amounts = |prices: &[u64]| prices.iter().map(|price| Amount(*price)).collect::<Vec<_>>();
            is_news(&amounts(known), &amounts(new))
        };
        assert!(!news(&[1000, 1000], &[1000, 1020]) && !news(&[1000], &[980]));
        assert!(news(&[1000, 1000], &[1000, 1021]) && news(&[1000], &[979]));
        assert!(news(&[0], &[1]) && news(&[], &[1]));
    }
}
