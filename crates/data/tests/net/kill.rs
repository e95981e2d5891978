//! kill -9 of each side at random moments, and going on afterwards: the bytes are the same, nothing is left over, and
//! less than 2 % was sent twice. Each side of each direction is killed 50 times; `GLEANER_NET_TEST_KILLS` asks for more or
//! less.
use super::actor::say;
use super::child::Actor;
use super::world::*;
use gleaner_data::net::{Fetch, Network, Peer, Push, Right, Server, Setup, Wish};
use gleaner_data::store::{Chunk, Store};
use gleaner_wire::{BlobRef, WorkerKey};
use iroh::EndpointAddr;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

const SEED: u64 = 60;
const CHUNK_BYTES: (usize, usize) = (2 * 1024, 14 * 1024);
/// How those are killed who serve.
const QUICK: Lives = Lives { lanes: 1, line: 20_000_000, ms_max: 160 };
/// How those are killed who fetch or push, several at a time so that it does not take long. A kill costs what is under way
/// and not stored, which is some hundredths of a second however fast the line is; so what share of all that is depends on how
/// long they live. Killed every few seconds, they are killed more often than any machine that somebody would lend.
const FETCHERS: Lives = Lives { lanes: 10, line: 2_000_000, ms_max: 8000 };
const PUSHERS: Lives = Lives { lanes: 5, line: 2_000_000, ms_max: 5000 };
/// The list of chunks, for children: making them takes longer than they live.
const LIST: &str = "list";
/// The first child, and who stays alive.
const ACTOR: u8 = 20;
const STAYS: u8 = 8;

/// Who is killed, and when.
#[derive(Clone, Copy)]
struct Lives {
    /// How many live side by side.
    lanes: u32,
    /// What the line of each allows, in bytes a second.
    line: u64,
    /// Each life ends within this time.
    ms_max: u64,
}

impl Lives {
    /// How often each lane is killed.
    fn kills(&self) -> u32 {
        let kills = std::env::var("GLEANER_NET_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(50);
        (kills / self.lanes).max(1)
    }

    /// More than can be moved in one lane before the last kill.
    fn chunks(&self) -> Vec<Chunk> {
        let bytes = self.line / 1000 * self.ms_max * u64::from(self.kills());
        let count = bytes / (CHUNK_BYTES.0 + CHUNK_BYTES.1 / 2) as u64;
        let length = |number: u64| CHUNK_BYTES.0 + usize::try_from(number).unwrap() * 40_503 % CHUNK_BYTES.1;
        (0..count).map(|number| Chunk::of(gleaner_data::measure::noise(SEED << 32 | number, length(number)))).collect()
    }

    fn moment(&self, chance: &mut u64) -> Duration {
        *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis((*chance >> 33) % self.ms_max)
    }
}

/// Fills a child's store and leaves it the list.
fn prepare(folder: &Path, chunks: &[Chunk], filled: bool) {
    let list: Vec<BlobRef> = wishes(chunks).into_iter().map(|wish| wish.blob).collect();
    std::fs::write(folder.join(LIST), postcard::to_allocvec(&list).unwrap()).unwrap();
    if filled {
        let store = Store::open(folder, LIMIT).unwrap();
        for batch in chunks.chunks(512) {
            store.put(batch.to_vec()).unwrap();
        }
    }
}

fn listed(folder: &Path) -> Vec<BlobRef> {
    postcard::from_bytes(&std::fs::read(folder.join(LIST)).unwrap()).unwrap()
}

fn address(number: u8, port: u16) -> EndpointAddr {
    let id = iroh::EndpointId::from_bytes(&key(number).verifying_key().to_bytes()).unwrap();
    EndpointAddr::new(id).with_ip_addr(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

async fn network(number: u8) -> Network {
    Network::open(Setup { key: key(number), listen: loopback(), relays: Vec::new() }).await.unwrap()
}

fn port(network: &Network) -> u16 {
    network.address().ip_addrs().find(|address| address.ip().is_loopback()).unwrap().port()
}

fn peer(network: &Network, number: u8, port: u16, right: Right) -> Arc<Peer> {
    network.learn(address(number, port));
    let key = WorkerKey(key(number).verifying_key().to_bytes());
    Arc::new(Peer::new(network.clone(), key, grant(network.key(), right)))
}

/// What a child does until it is killed, or has nothing more to do.
pub async fn play(role: &str, number: u8, folder: &Path, stays: u16) {
    let store = Arc::new(Store::open(folder, LIMIT).unwrap());
    let network = network(number).await;
    match role {
        "serve" => {
            let _server = Server::start(&network, store, authority());
            say(&port(&network).to_string());
            std::future::pending().await
        }
        "fetch" => {
            let wishes = (0..).zip(listed(folder)).map(|(position, blob)| Wish { position, blob });
            let (fetch, control) = Fetch::new(store, network.key(), wishes);
            control.set_limit(Some(FETCHERS.line));
            control.tell(joined(&peer(&network, STAYS, stays, Right::Fetch))).await;
            say("begins");
            fetch.run().await.unwrap();
            say("done");
        }
        "push" => {
            let (push, control) = Push::new(store, peer(&network, STAYS, stays, Right::Give));
            control.set_limit(Some(PUSHERS.line));
            say("begins");
            push.run(listed(folder).into_iter().map(|blob| blob.id)).await.unwrap();
            say("done");
        }
        other => panic!("no such role: {other}"),
    }
}

/// Runs a child over and over, kills it at random moments, and lets the last one finish.
async fn killed(role: &'static str, number: u8, folder: &Path, port: u16, lives: Lives) {
    let mut chance = u64::from(port) << 8 | u64::from(number);
    for kill in 0..lives.kills() {
        let (folder, wait) = (folder.to_owned(), lives.moment(&mut chance));
        let over = tokio::task::spawn_blocking(move || {
            let mut actor = Actor::start(role, number, &folder, port);
            assert_eq!(actor.hear().as_deref(), Some("begins"));
            // The moment is what the test is about, so there is no event to wait for.
            std::thread::sleep(wait);
            let over = !actor.is_running();
            actor.kill();
            over
        });
        assert!(!over.await.unwrap(), "nothing was left to do at kill {kill}");
    }
    let folder = folder.to_owned();
    let last = tokio::task::spawn_blocking(move || {
        let mut actor = Actor::start(role, number, &folder, port);
        while let Some(said) = actor.hear() {
            if said == "done" {
                return true;
            }
        }
        false
    });
    assert!(last.await.unwrap(), "the last one finishes");
}

/// Less than 2 % was sent twice.
#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn assert_little_twice(what: &str, wanted: u64, sent: u64, lives: Lives) {
    let twice = sent.saturating_sub(wanted) as f64;
    let kills = lives.kills() * lives.lanes;
    let (share, each) = (twice / wanted as f64, twice / f64::from(kills) / lives.line as f64);
    println!("{what}: {kills} kills, {:.2} % twice; each cost {each:.3} s of the line", share * 100.0);
    assert!(share < 0.02, "{what}: {:.2} % twice, {each:.3} s of the line for each of {kills} kills", share * 100.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_that_is_killed_again_and_again_goes_on() {
    let chunks = FETCHERS.chunks();
    let source = Machine::new(STAYS).await;
    source.fill(&chunks);
    let (server, port) = (source.serve(), port(&source.network));
    let mut lanes = JoinSet::new();
    for number in (ACTOR..).take(FETCHERS.lanes as usize) {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path(), &chunks, false);
        lanes.spawn(async move {
            killed("fetch", number, dir.path(), port, FETCHERS).await;
            dir
        });
    }
    while let Some(dir) = lanes.join_next().await {
        assert_sound(dir.unwrap().path(), &chunks);
    }
    assert_little_twice("fetch", bytes_of(&chunks) * u64::from(FETCHERS.lanes), server.sent_bytes(), FETCHERS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_is_killed_again_and_again_goes_on() {
    let chunks = PUSHERS.chunks();
    let mut lanes = JoinSet::new();
    for number in (ACTOR..).take(PUSHERS.lanes as usize) {
        // Each to a machine of its own: what one has brought the others would not.
        let (dir, hub) = (tempfile::tempdir().unwrap(), Machine::new(STAYS).await);
        prepare(dir.path(), &chunks, true);
        lanes.spawn(async move {
            let server = hub.serve();
            killed("push", number, dir.path(), port(&hub.network), PUSHERS).await;
            (hub, server.taken_bytes())
        });
    }
    let mut sent = 0;
    while let Some(lane) = lanes.join_next().await {
        let (hub, taken) = lane.unwrap();
        sent += taken;
        assert!(hub.has_all(&chunks));
        let checked = hub.store.check(|_| {}).unwrap();
        assert_eq!((checked.bad.len(), checked.orphans, checked.chunks), (0, 0, chunks.len() as u64));
    }
    assert_little_twice("push", bytes_of(&chunks) * u64::from(PUSHERS.lanes), sent, PUSHERS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_killed_again_and_again_costs_less_than_two_percent() {
    let dir = tempfile::tempdir().unwrap();
    let (chunks, kills) = (QUICK.chunks(), QUICK.kills());
    prepare(dir.path(), &chunks, true);
    let two = Machine::new(STAYS).await;
    let (fetch, control) = two.fetch(&chunks);
    control.set_limit(Some(QUICK.line));
    let running = tokio::spawn(fetch.with_patience(Duration::from_secs(60)).run());
    let mut chance = 5;
    for _ in 0..kills {
        let folder = dir.path().to_owned();
        let (actor, port) = tokio::task::spawn_blocking(move || {
            let mut actor = Actor::start("serve", ACTOR, &folder, 0);
            let port = actor.hear().unwrap().parse().unwrap();
            (actor, port)
        })
        .await
        .unwrap();
        control.tell(joined(&peer(&two.network, ACTOR, port, Right::Fetch))).await;
        tokio::time::sleep(QUICK.moment(&mut chance)).await;
        assert!(!running.is_finished(), "nothing was left to do");
        tokio::task::spawn_blocking(move || actor.kill()).await.unwrap();
    }
    let folder = dir.path().to_owned();
    let last = tokio::task::spawn_blocking(move || {
        let mut actor = Actor::start("serve", ACTOR, &folder, 0);
        let port: u16 = actor.hear().unwrap().parse().unwrap();
        (actor, port)
    });
    let (actor, port) = last.await.unwrap();
    control.tell(joined(&peer(&two.network, ACTOR, port, Right::Fetch))).await;
    let done = tokio::time::timeout(Duration::from_secs(90), running).await.expect("it ends").unwrap().unwrap();
    tokio::task::spawn_blocking(move || actor.kill()).await.unwrap();
    assert!(two.has_all(&chunks));
    assert!(done.twice_bytes * 50 < bytes_of(&chunks), "{} of {} twice", done.twice_bytes, bytes_of(&chunks));
    assert_sound(dir.path(), &chunks);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_is_killed_while_it_takes_a_push_loses_nothing_it_had_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let (chunks, kills) = (QUICK.chunks(), QUICK.kills());
    let two = Machine::new(STAYS).await;
    two.fill(&chunks);
    let ids: Vec<_> = chunks.iter().map(|chunk| chunk.id).collect();
    let (mut chance, mut acknowledged) = (9, 0);
    for kill in 0..=kills {
        let folder = dir.path().to_owned();
        let start = tokio::task::spawn_blocking(move || {
            let mut actor = Actor::start("serve", ACTOR, &folder, 0);
            let port: u16 = actor.hear().unwrap().parse().unwrap();
            (actor, port)
        });
        let (actor, port) = start.await.unwrap();
        let (push, control) = Push::new(Arc::clone(&two.store), peer(&two.network, ACTOR, port, Right::Give));
        control.set_limit(Some(QUICK.line));
        let progress = control.progress();
        let running = tokio::spawn(push.run(ids.clone().into_iter()));
        if kill == kills {
            let done = running.await.unwrap().unwrap();
            assert!(done.known >= acknowledged, "{done:?}, and {acknowledged} chunks were acknowledged");
            tokio::task::spawn_blocking(move || actor.kill()).await.unwrap();
            break;
        }
        tokio::time::sleep(QUICK.moment(&mut chance)).await;
        tokio::task::spawn_blocking(move || actor.kill()).await.unwrap();
        control.stop();
        // It may be in the middle of trying again.
        running.abort();
        let _ = running.await;
        acknowledged = acknowledged.max(progress.borrow().known + progress.borrow().chunks);
    }
    assert_sound(dir.path(), &chunks);
}
