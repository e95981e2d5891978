use crate::network::{Network, offer};
use gleaner_core::{Core, Event, Found, Params, SortedCursor};
use gleaner_wire::api::WorkerView;
use gleaner_wire::query::{Operator, Query, Sort, SortBy, Term, Value};
use gleaner_wire::{Address, Amount, ByteSize, DeviceKind, Offer, Runtime, RuntimeOffer, WorkerId, WorkerKey};
use proptest::prelude::*;

const KINDS: [DeviceKind; 3] = [DeviceKind::Nvidia, DeviceKind::Amd, DeviceKind::Cpu];
const REGIONS: [&str; 3] = ["eu", "us", "asia"];

/// A worker that differs from its neighbours.
fn worker(number: u32) -> Offer {
    let mut one = offer(&format!("w{number}"), 1 + number * 37 % 900, u64::from(number % 7) * 50_000 + 10_000);
    one.region = REGIONS[number as usize % 3].into();
    one.provider = number.is_multiple_of(2).then_some(Address([number as u8 % 5; 20]));
    let device = &mut one.devices[0];
    device.kind = KINDS[number as usize / 3 % 3];
    device.memory = ByteSize::mib(1024 * u64::from(number % 50 + 1));
    device.slots = number as u16 % 4 + 1;
    if number.is_multiple_of(4) {
        let runtimes = vec![RuntimeOffer { runtime: Runtime::Container, score: 5, loops_max: None, engine: None }];
        let mut second = device.clone();
        second.runtimes.extend(runtimes);
        second.price_per_second = Amount(device.price_per_second.0 / 2);
        one.devices.push(second);
    }
    one
}

fn crowd(workers: u32) -> Network {
    let mut network = Network::new();
    for number in 0..workers {
        let id = network.join(worker(number));
        if number.is_multiple_of(5) {
            let key = network.core.worker_view(id).expect("it joined").key;
            network.apply(Event::WorkerManaged { key, managed: true });
        }
        if number.is_multiple_of(11) {
            network.leave(id);
        }
    }
    network
}

fn query(text: &str) -> Query {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// What a query finds by looking at everybody.
fn scan(core: &Core, query: &Query) -> Vec<WorkerId> {
    let mut found = Vec::new();
    for view in core.workers() {
        let devices = view.offer.devices.iter().zip(0_u32..);
        let matching = devices.filter(|(device, _)| {
            let by_device = |Term { operator, value }: &Term| match value {
                Value::Memory(asked) => operator.holds(&device.memory, asked),
                Value::Device(kinds) => kinds.has(device.kind) == (*operator == Operator::Is),
                Value::Price(hourly) => operator.holds(&Amount(device.price_per_second.0 * 3600), hourly),
                Value::Slots(asked) => operator.holds(&u32::from(device.slots), asked),
                Value::Runtime(runtime) => {
                    device.runtimes.iter().any(|of| of.runtime == *runtime) == (*operator == Operator::Is)
                }
                Value::Managed(managed) => operator.holds(&view.managed, managed),
                Value::Region(name) => operator.holds(&view.offer.region, name),
                Value::State(state) => operator.holds(&view.state, state),
                Value::Name(name) => operator.holds(&view.offer.name, name),
                Value::Owner(owner) => operator.holds(&view.offer.provider, &Some(*owner)),
                Value::Score(_) => true,
            };
            let named = query.terms.iter().filter(|term| term.operator == Operator::Is);
            let named: Vec<_> = named.filter(|term| matches!(term.value, Value::Runtime(_))).collect();
            let by_score = device.runtimes.iter().any(|of| {
                let counts = named.is_empty() || named.iter().any(|term| term.value == Value::Runtime(of.runtime));
                counts
                    && query.terms.iter().all(|Term { operator, value }| match value {
                        Value::Score(asked) => operator.holds(&of.score, asked),
                        _ => true,
                    })
            });
            query.terms.iter().all(by_device) && by_score
        });
        if let Some(price) = matching.map(|(device, _)| device.price_per_second).min() {
            found.push((price, view.id));
        }
    }
    found.sort();
    found.into_iter().map(|(_, id)| id).collect()
}

/// All pages of a query.
fn all(core: &Core, query: &Query, limit: usize) -> Vec<WorkerId> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let Found { workers, next, matches, exact } = core.search(query, limit, after);
        assert!(workers.len() <= limit && matches >= workers.len() as u64);
        assert!(!exact || after.is_none() && matches == workers.len() as u64);
        found.extend(workers);
        match next {
            Some(next) => after = Some(next),
            None => return found,
        }
    }
}

#[test]
fn the_cheapest_that_match_come_first() {
    let network = crowd(200);
    let query = query("memory>=24GiB device=nvidia region=eu price<0.4 score>=80");
    let found = network.core.search_page(&query, 100, None);
    assert!(found.exact && !found.items.is_empty());
    let cheapest = |worker: &WorkerView| worker.offer.devices.iter().map(|device| device.price_per_second).min();
    let prices = found.items.iter().map(cheapest);
    assert!(prices.is_sorted());
    for worker in &found.items {
        let device = &worker.offer.devices[0];
        assert_eq!((device.kind, worker.offer.region.as_str()), (DeviceKind::Nvidia, "eu"));
        assert!(device.memory >= ByteSize::mib(24 * 1024));
        assert!(cheapest(worker).is_some_and(|price| price.0 * 3600 < 400_000_000));
    }
}

#[test]
fn a_query_finds_what_a_look_at_everybody_finds() {
    let network = crowd(200);
    for text in [
        "",
        "memory>=24GiB device=nvidia region=eu price<0.4 score>=80",
        "device=gpu",
        "device!=gpu",
        "price=0.036",
        "price>0.036 price<=0.5",
        "price>1000",
        "price<0.1 price>0.2",
        "region!=eu",
        "region=nowhere",
        "runtime=container",
        "runtime!=container",
        "runtime=container score<10",
        "score<10",
        "score>=700",
        "state=offline",
        "state!=offline managed=yes",
        "managed=no slots>=3",
        "name=w17",
        "name!=w17",
        "owner=0x0202020202020202020202020202020202020202",
        "memory=8GiB",
        "memory<8GiB",
        "memory!=8GiB",
    ] {
        let query = query(text);
        let mut wanted = scan(&network.core, &query);
        for limit in [1, 7, 1000] {
            let mut found = all(&network.core, &query, limit);
            found.sort();
            wanted.sort();
            assert_eq!(found, wanted, "`{text}` by pages of {limit}");
        }
    }
}

#[test]
fn other_orders_find_the_same_workers_page_by_page() {
    let network = crowd(200);
    for text in ["", "device=gpu", "region=eu score>=80", "price>1000"] {
        let query = query(text);
        let mut wanted = scan(&network.core, &query);
        wanted.sort();
        for sort in ["-price", "score", "-score", "memory", "-memory", "id", "-id"] {
            let sort: Sort = sort.parse().expect("an order");
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = network.core.search_sorted(&query, sort, 7, after).expect("few enough");
                assert_eq!((page.matches, page.exact), (wanted.len() as u64, true));
                found.extend(page.items);
                let Some(next) = page.next else { break };
                after = Some(next.parse::<SortedCursor>().expect("a place"));
            }
            let best = |worker: &WorkerView| -> u64 {
                let devices = worker.offer.devices.iter();
                match sort.by {
                    SortBy::Price => devices.map(|device| device.price_per_second.0).min().unwrap_or(0),
                    SortBy::Memory => devices.map(|device| device.memory.0).max().unwrap_or(0),
                    SortBy::Score => {
                        let scores = devices.flat_map(|device| device.runtimes.iter().map(|runtime| runtime.score));
                        scores.max().unwrap_or(0).into()
                    }
                    SortBy::Id => worker.id.0.into(),
                }
            };
            // With a condition on devices, the best one that matches counts, which is not told here.
            if text.is_empty() {
                let keys: Vec<u64> = found.iter().map(best).collect();
                assert!(if sort.falling { keys.is_sorted_by(|a, b| a >= b) } else { keys.is_sorted() }, "by {sort}");
            }
            let mut ids: Vec<WorkerId> = found.iter().map(|worker| worker.id).collect();
            ids.sort();
            assert_eq!(ids, wanted, "`{text}` by {sort}");
        }
    }
}

#[test]
fn many_of_one_name_are_found_page_by_page() {
    let mut network = Network::new();
    for number in 0..3000_u32 {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.to_le_bytes());
        let (session, offer) = (gleaner_core::Session(u64::from(number)), offer("worker", 1000, u64::from(number % 9)));
        let event = Event::WorkerJoined { key: WorkerKey(key), session, offer, resting: vec![], held: vec![] };
        network.core.apply(network.now, event, &mut Vec::new());
    }
    assert_eq!(all(&network.core, &query("name=worker"), 700).len(), 3000);
}

#[test]
fn what_changes_is_found_as_it_is_now() {
    let mut network = Network::new();
    let id = network.join(offer("a", 1000, 100_000));
    let find = |network: &Network, text: &str| network.core.search(&query(text), 10, None).workers;
    assert_eq!(find(&network, "price<=0.36"), [id]);
    network.join(Offer { region: "moon".into(), ..offer("a", 1000, 500_000) });
    assert!(find(&network, "price<=0.36").is_empty());
    assert_eq!(find(&network, "price>1 region=moon"), [id]);
}

#[test]
fn a_runtime_is_found_once_the_hub_has_tested_it() {
    let mut network = Network::with(Params { screening: true, ..Params::default() });
    let id = network.join(offer("a", 1000, 100_000));
    let find = |network: &Network, text: &str| network.core.search(&query(text), 10, None).workers;
    assert_eq!(find(&network, "device=cpu"), [id]);
    assert!(find(&network, "runtime=wasm").is_empty());
    let test = network.tests()[0];
    network.screened(test, Ok(640));
    assert_eq!(find(&network, "runtime=wasm score=640"), [id]);
}

#[test]
fn one_page_looks_at_a_bounded_number_of_seats() {
    let mut network = Network::new();
    for number in 0..6000_u32 {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.to_le_bytes());
        let session = gleaner_core::Session(u64::from(number));
        let offer = offer(&format!("w{number}"), 1000, 100_000);
        let event = Event::WorkerJoined { key: WorkerKey(key), session, offer, resting: vec![], held: vec![] };
        network.core.apply(network.now, event, &mut Vec::new());
    }
    network.apply(Event::WorkerLeft { worker: WorkerId(5999), session: gleaner_core::Session(5999) });
    let first = network.core.search(&query("state=offline"), 10, None);
    assert!(first.workers.is_empty() && first.next.is_some() && !first.exact);
    assert_eq!(all(&network.core, &query("state=offline"), 10), [WorkerId(5999)]);
    let named = network.core.search(&query("name=w5999"), 10, None);
    assert!(named.exact && named.workers == [WorkerId(5999)], "a name is found at once");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_query_finds_what_a_look_at_everybody_finds(
        terms in proptest::collection::vec(
            "(memory(=|!=|<|<=|>|>=)(7|8|24|33)GiB|price(=|!=|<|<=|>|>=)(0\\.036|0\\.2|1)|score(<|>=|=|!=)(5|80|500)|device(=|!=)(gpu|cpu|amd)|region(=|!=)(eu|us|mars)|runtime(=|!=)(wasm|container|blender)|managed(=|!=)(yes|no)|slots(<|>=)3|state(=|!=)offline)",
            0..4,
        ),
        limit in 1_usize..40,
    ) {
        let network = crowd(60);
        let query = query(&terms.join(" "));
        let (mut found, mut wanted) = (all(&network.core, &query, limit), scan(&network.core, &query));
        found.sort();
        wanted.sort();
        prop_assert_eq!(found, wanted);
    }
}
