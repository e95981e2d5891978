//! What is asked for a second of each device: what its owner or the market says, but never less than its electricity costs.
use std::time::Duration;

use gleaner_client::{Client, Error, HubAddress, Token};
use gleaner_machine::energy::{self, Because, Milliwatts, TariffError};
use gleaner_machine::preferences::Price;
use gleaner_machine::{Device, Preferences};
use gleaner_wire::{Amount, Band, DeviceClass, DeviceOffer};
use tokio::sync::watch;
use tokio::time::sleep;

/// What a provider keeps of a price, in hundredths of a percent.
const KEPT_POINTS: u32 = 8500;
/// The price of a second where the owner follows a market that has none yet: 0.36 GLN an hour.
const PRICE_DEFAULT: Amount = Amount(100_000);
/// The least that is asked where the owner follows the market and names no tariff, 0.09 GLN an hour: an idle market sinks
/// until somebody asks a price of his own, and where all just follow it would sink to nothing.
const PRICE_LEAST: Amount = Amount(PRICE_DEFAULT.0 / 4);
/// How often the market is looked at, on average.
const MARKET_EVERY: Duration = Duration::from_secs(15 * 60);
/// How often while nothing is known of it.
const UNKNOWN_EVERY: Duration = Duration::from_secs(30);
/// The part of a price by which it has to change before anybody is told.
const NEWS_PART: u64 = 50;
/// The part that is asked over the cost of a measured draw, which is never quite the same.
const HEADROOM_PART: u64 = 100;

/// What the hub's index suggests for a second, by class of device.
pub type Market = Vec<(DeviceClass, Amount)>;

/// What is asked for a device that is made of these cards, each with its draw under load where that was measured.
pub fn price<'a>(
    preferences: &Preferences,
    market: &[(DeviceClass, Amount)],
    offer: &DeviceOffer,
    cards: impl IntoIterator<Item = (&'a Device, Option<Milliwatts>)>,
) -> Result<Amount, TariffError> {
    let suggested = suggested(market, offer);
    let mut sum = Amount::ZERO;
    for (card, measured) in cards {
        let floor = energy::floor(card, preferences, measured, KEPT_POINTS)?.map(|floor| floor.per_second);
        let others = if floor.is_none() { suggested.map(|price| price.max(PRICE_LEAST)) } else { suggested };
        let asked = energy::ask(preferences.price, others, floor).map_or(PRICE_DEFAULT, |asked| match asked.because {
            Because::Floor if measured.is_some() => with_headroom(asked.per_second),
            Because::Floor | Because::Owner | Because::Market => asked.per_second,
        });
        sum = Amount(sum.0.saturating_add(asked.0));
    }
    Ok(sum)
}

/// What such a device must earn in a second to pay for its electricity, if the owner named a tariff.
pub fn floor<'a>(
    preferences: &Preferences,
    cards: impl IntoIterator<Item = (&'a Device, Option<Milliwatts>)>,
) -> Result<Option<Amount>, TariffError> {
    let mut sum = None;
    for (card, measured) in cards {
        let floor = energy::floor(card, preferences, measured, KEPT_POINTS)?;
        sum = floor.map(|floor| Amount(sum.unwrap_or(Amount::ZERO).0.saturating_add(floor.per_second.0)));
    }
    Ok(sum)
}

/// What the index suggests for one card of a device. Of several runtimes the one that is worth most sets the price: nobody
/// gives it away for less.
fn suggested(market: &[(DeviceClass, Amount)], offer: &DeviceOffer) -> Option<Amount> {
    let band = Band::of(offer.memory);
    let is_offered = |class: &DeviceClass| {
        class.kind == offer.kind && class.band == band && offer.runtimes.iter().any(|of| of.runtime == class.runtime)
    };
    market.iter().filter(|(class, _)| is_offered(class)).map(|(_, price)| *price).max()
}

fn with_headroom(price: Amount) -> Amount {
    Amount(price.0.saturating_add(price.0.div_ceil(HEADROOM_PART)))
}

/// Whether new prices are worth telling: small changes are not, unless the known price would be below the floor.
pub fn is_news(known: &[Amount], new: &[Amount], floors: &[Option<Amount>]) -> bool {
    let differs = |(known, new): (&Amount, &Amount)| known.0.abs_diff(new.0) > known.0 / NEWS_PART;
    let at_a_loss = |(known, floor): (&Amount, &Option<Amount>)| floor.is_some_and(|floor| *known < floor);
    known.len() != new.len() || known.iter().zip(new).any(differs) || known.iter().zip(floors).any(at_a_loss)
}

/// What a hub's index suggests.
pub async fn market(hub: &HubAddress) -> Result<Market, Error> {
    let prices = Client::at(hub, Token::new(""), "provider")?.prices().await?;
    Ok(prices.into_iter().map(|price| (price.class, price.per_second)).collect())
}

/// Follows the market for as long as it is polled, and while the owner wants to follow it.
pub async fn follow(hub: &HubAddress, known: &watch::Sender<Market>, mut in_force: watch::Receiver<Preferences>) {
    let follows = |preferences: &Preferences| preferences.price == Price::Market;
    loop {
        let follows_now = follows(&in_force.borrow_and_update());
        let changed = tokio::select! {
            changed = in_force.changed() => changed,
            () = follow_every(hub, known, MARKET_EVERY), if follows_now => Ok(()),
        };
        if changed.is_err() {
            return std::future::pending().await;
        }
        let follows_again = !follows_now && follows(&in_force.borrow());
        if follows_again {
            look(hub, known).await;
        }
    }
}

async fn look(hub: &HubAddress, known: &watch::Sender<Market>) {
    match market(hub).await {
        Ok(prices) => {
            known.send_if_modified(|known| std::mem::replace(known, prices.clone()) != prices);
        }
        Err(error) => tracing::debug!(%error, "the market was not looked at"),
    }
}

async fn follow_every(hub: &HubAddress, known: &watch::Sender<Market>, usually: Duration) {
    loop {
        let every = if known.borrow().is_empty() { usually.min(UNKNOWN_EVERY) } else { usually };
        // Not all workers at once, not even those of a hub that came back.
        let chance = f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX);
        sleep(every / 2 + every.mul_f64(chance)).await;
        look(hub, known).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::self_test::unknown_device;
    use gleaner_machine::inventory::Memory;
    use gleaner_wire::prices::PriceView;
    use gleaner_wire::{ByteSize, DeviceKind, Runtime, RuntimeOffer};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn card() -> Device {
        Device { memory: Memory::Own(None), ..unknown_device(DeviceKind::Nvidia, "card") }
    }

    fn offer() -> DeviceOffer {
        let runtime = |runtime| RuntimeOffer { runtime, score: 1, loops_max: None, engine: None };
        DeviceOffer {
            kind: DeviceKind::Nvidia,
            name: "card".to_owned(),
            memory: ByteSize(24 << 30),
            cards: 1,
            slots: 1,
            network: false,
            eevee: false,
            price_per_second: Amount::ZERO,
            runtimes: vec![runtime(Runtime::Wgsl), runtime(Runtime::Container)],
        }
    }

    fn class(runtime: Runtime, band: Band) -> DeviceClass {
        DeviceClass { kind: DeviceKind::Nvidia, runtime, band }
    }

    /// The price, and the floor below it.
    fn asked(preferences: &str, market: u64, measured: &[Option<u64>]) -> (u64, Option<u64>) {
        let preferences = Preferences::parse(preferences).expect("right");
        let card = card();
        let cards = || measured.iter().map(|watts| (&card, watts.map(|watts| Milliwatts(watts * 1000))));
        let market = [(class(Runtime::Container, Band::From20), Amount(market))];
        let price = price(&preferences, &market, &offer(), cards()).expect("one currency");
        (price.0, floor(&preferences, cards()).expect("one currency").map(|floor| floor.0))
    }

    const TARIFF: &str = "tariff = \"0.36 EUR\"\ngln_price = \"0.10 EUR\"\n";

    #[test]
    fn the_market_is_followed_and_a_measured_draw_moves_the_floor() {
        assert_eq!(asked("", 70_000, &[None]), (70_000, None));
        assert_eq!(asked("", 90_000, &[None]), (90_000, None));
        let (rated, _) = asked(TARIFF, 700, &[None]);
        let (measured, floor) = asked(TARIFF, 700, &[Some(100)]);
        assert_eq!(floor, Some(117_648), "100 W at 3.6 GLN a kilowatt hour, over the 85 % that are kept, rounded up");
        assert_eq!(measured, 117_648 + 1177, "and one in a hundred more");
        assert!(measured < rated, "{rated}");
        assert_eq!(asked(TARIFF, 500_000, &[Some(100)]).0, 500_000);
    }

    #[tokio::test]
    async fn a_market_that_moves_is_followed() {
        let asked = Arc::new(AtomicU64::new(0));
        let answer = move || {
            let price = Amount(50_000 + asked.fetch_add(1, Ordering::Relaxed));
            let class = class(Runtime::Wgsl, Band::From20);
            std::future::ready(axum::Json([PriceView {
                class,
                kind: class.kind,
                runtime: class.runtime,
                memory_min: class.band.least(),
                per_second: price,
                per_hour: price,
                lowest: None,
                median: None,
                slots: 1,
                busy: 0,
                waiting: 0,
                pressure: 0,
            }]))
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let hub = format!("http://{}", listener.local_addr().expect("an address"));
        let hub = HubAddress::parse(&hub, None).expect("an address");
        let router = axum::Router::new().route("/api/v1/prices", axum::routing::get(answer));
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        let known = watch::Sender::new(Market::new());
        let mut seen = known.subscribe();
        let looking = async {
            for price in [50_000, 50_001, 50_002] {
                seen.changed().await.expect("it is followed");
                assert_eq!(suggested(&seen.borrow_and_update(), &offer()), Some(Amount(price)));
            }
        };
        tokio::select! {
            () = looking => {}
            () = follow_every(&hub, &known, Duration::from_millis(10)) => unreachable!("it never ends"),
        }
        server.abort();
    }

    #[test]
    fn whoever_follows_and_names_no_tariff_does_not_sink_with_the_others() {
        assert_eq!(asked("", 3, &[None]).0, PRICE_LEAST.0);
        assert_eq!(asked("price = \"0.000001 GLN\"", 3, &[None]).0, 1000, "the owner's own price is his own affair");
        let cheap = "tariff = \"0.01 EUR\"\ngln_price = \"10 EUR\"\n";
        let (price, floor) = asked(cheap, 30, &[Some(100)]);
        assert!(floor.is_some_and(|floor| floor < 35) && price < 40, "a tariff says how low it may go: {price}");
    }

    #[test]
    fn the_dearest_runtime_of_the_class_sets_the_price() {
        let market = [
            (class(Runtime::Wgsl, Band::From20), Amount(50_000)),
            (class(Runtime::Container, Band::From20), Amount(60_000)),
            (class(Runtime::Blender, Band::From20), Amount(70_000)),
            (class(Runtime::Wgsl, Band::From40), Amount(80_000)),
        ];
        assert_eq!(suggested(&market, &offer()), Some(Amount(60_000)), "it renders nothing and has less memory");
        assert_eq!(suggested(&[], &offer()), None);
    }

    #[test]
    fn cards_that_are_offered_together_cost_what_each_of_them_costs() {
        assert_eq!(asked("", 70_000, &[None, None]).0, 140_000);
        let (low, high) = (asked(TARIFF, 0, &[Some(100)]), asked(TARIFF, 0, &[Some(300)]));
        let (price, floor) = asked(TARIFF, 0, &[Some(100), Some(300)]);
        assert_eq!(price, low.0 + high.0);
        assert_eq!(floor, low.1.zip(high.1).map(|(low, high)| low + high));
    }

    #[test]
    fn small_changes_are_no_news_unless_work_would_be_at_a_loss() {
        let amounts = |prices: &[u64]| prices.iter().map(|price| Amount(*price)).collect::<Vec<_>>();
        let news = |known: &[u64], new: &[u64]| is_news(&amounts(known), &amounts(new), &[]);
        assert!(!news(&[1000, 1000], &[1000, 1020]) && !news(&[1000], &[980]));
        assert!(news(&[1000, 1000], &[1000, 1021]) && news(&[1000], &[979]));
        assert!(news(&[0], &[1]) && news(&[], &[1]));
        let floor = |floor| is_news(&[Amount(1000)], &[Amount(1001)], &[Some(Amount(floor))]);
        assert!(!floor(1000) && floor(1001));
    }
}
