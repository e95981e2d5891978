//! How soon a query finds the cheapest hundred of a million workers, against a look at all of them.
use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use gleaner_wire::query::Query;
use gleaner_wire::{Address, Amount, DeviceKind, Millis, Offer};

use super::figure::Figure;
use super::placement::{crowd, offer, owner};
use super::process::thread_time;

/// How often each query is asked; the hub is not warm for any of them in particular, since they take turns.
const ROUNDS: usize = 2000;
/// Looks at all workers that are timed for the floor.
const SCANS: usize = 20;
/// Workers that are asked for.
const LIMIT: usize = 100;

/// A worker as a plain look at all of them compares it.
struct Plain {
    kind: DeviceKind,
    memory_gib: u64,
    region: String,
    score: u32,
    price: Amount,
    owner: Address,
}

impl Plain {
    fn new(offer: &Offer) -> Self {
        let device = &offer.devices[0];
        Self {
            kind: device.kind,
            memory_gib: device.memory.0 >> 30,
            region: offer.region.clone(),
            score: device.runtimes[0].score,
            price: device.price_per_second,
            owner: offer.provider.expect("the benchmark's workers have owners"),
        }
    }

    fn is_below(&self, hourly: u64) -> bool {
        self.price.0 * 3600 < hourly
    }
}

type Matches = fn(&Plain) -> bool;

/// Queries, and the same as code.
const QUERIES: [(&str, Matches); 9] = [
    ("memory>=24GiB device=nvidia region=eu price<0.4 score>=80", |one| {
        one.memory_gib >= 24
            && one.kind == DeviceKind::Nvidia
            && one.region == "eu"
            && one.is_below(400_000_000)
            && one.score >= 80
    }),
    ("device=gpu", |_| true),
    ("device=amd price<1", |one| one.kind == DeviceKind::Amd && one.is_below(1_000_000_000)),
    ("score>=7000 region=asia", |one| one.score >= 7000 && one.region == "asia"),
    ("memory>=80GiB price<0.0721", |one| one.memory_gib >= 80 && one.is_below(72_100_000)),
    ("region=nowhere", |one| one.region == "nowhere"),
    ("owner=0x0500000007070707070707070707070707070707", |one| one.owner == owner(320)),
    // Nobody is any of these, and only the first could be known without a look at workers.
    ("slots>=16", |_| false),
    ("state=probation", |_| false),
];

fn quantile(times: &mut [Duration], per_hundred: usize) -> f64 {
    times.sort();
    times[(times.len() - 1) * per_hundred / 100].as_secs_f64() * 1e3
}

/// The cheapest hundred by looking at everybody.
fn scan(all: &[Plain], matches: Matches) -> usize {
    let mut found: Vec<(Amount, usize)> =
        all.iter().enumerate().filter(|(_, one)| matches(one)).map(|(at, one)| (one.price, at)).collect();
    if found.len() > LIMIT {
        found.select_nth_unstable(LIMIT);
        found.truncate(LIMIT);
    }
    found.sort_unstable();
    found.len()
}

/// Times each query, and one reckoning of all prices.
pub fn measure(workers: u32) -> Result<Vec<Figure>> {
    let core = crowd(workers);
    let all: Vec<Plain> = (0..workers).map(|number| Plain::new(&offer(number))).collect();
    let mut figures = Vec::new();
    for (text, matches) in QUERIES {
        let query: Query = text.parse().context("the benchmark's own query makes sense")?;
        let timed = |what: &dyn Fn() -> usize, rounds: usize| {
            let times = (0..rounds).map(|_| {
                let start = thread_time();
                black_box(what());
                thread_time().saturating_sub(start)
            });
            times.collect::<Vec<Duration>>()
        };
        let page = core.search_page(&query, LIMIT, None);
        let wanted = scan(&all, matches);
        ensure!(page.items.len() == wanted, "`{text}` finds {} instead of {wanted}", page.items.len());
        let mut by_index = timed(&|| core.search_page(&query, LIMIT, None).items.len(), ROUNDS);
        let mut by_scan = timed(&|| scan(&all, matches), SCANS);
        for (name, per_hundred) in [("p50", 50), ("p99", 99)] {
            let (value, floor) = (quantile(&mut by_index, per_hundred), quantile(&mut by_scan, per_hundred));
            let name = format!("search, {workers} workers, {text}, {name}");
            figures.push(Figure::rate(name, value, "ms", "look at all workers, ms", floor).goal("< 1"));
        }
    }
    let start = thread_time();
    black_box(core.prices(Millis(2_000_000)).len());
    let took = thread_time().saturating_sub(start).as_secs_f64() * 1e3;
    let name = format!("prices of all classes reckoned, {workers} workers, once a minute");
    figures.push(Figure::rate(name, took, "ms", "a minute, ms", 60_000.0));
    Ok(figures)
}
