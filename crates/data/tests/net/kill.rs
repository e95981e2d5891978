//! kill -9 of each side at random moments, and going on afterwards: the bytes are the same, nothing is left over, and
//! little was sent twice. Each side of each direction is killed 50 times; `GLEANER_NET_TEST_KILLS` asks for more or less.
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

const SEED: u64 = 60;
/// Chunks are short, so that what 50 kills cost is not lost in the length of what each of them tears.
const CHUNK_BYTES: (usize, usize) = (2 * 1024, 14 * 1024);
/// What the line allows, so that there are moments to be killed at.
const LINE: u64 = 20_000_000;
/// Each life ends within this time.
const LIFE_MS_MAX: u64 = 160;
/// The list of chunks, for children: making them takes longer than they live.
const LIST: &str = "list";
/// The child, and who stays alive.
const ACTOR: u8 = 7;
const STAYS: u8 = 8;

fn kills() -> u32 {
    std::env::var("GLEANER_NET_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(50)
}

/// More than can be moved before the last kill.
fn all() -> Vec<Chunk> {
    let bytes = LINE / 1000 * LIFE_MS_MAX * u64::from(kills().max(20)) * 5 / 8;
    let count = bytes / (CHUNK_BYTES.0 + CHUNK_BYTES.1 / 2) as u64;
    let length = |number: u64| CHUNK_BYTES.0 + usize::try_from(number).unwrap() * 40_503 % CHUNK_BYTES.1;
    (0..count).map(|number| Chunk::of(gleaner_data::measure::noise(SEED << 32 | number, length(number)))).collect()
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
            control.set_limit(Some(LINE));
            control.tell(joined(&peer(&network, STAYS, stays, Right::Fetch))).await;
            say("begins");
            fetch.run().await.unwrap();
            say("done");
        }
        "push" => {
            let (push, control) = Push::new(store, peer(&network, STAYS, stays, Right::Give));
            control.set_limit(Some(LINE));
            say("begins");
            push.run(listed(folder).into_iter().map(|blob| blob.id)).await.unwrap();
            say("done");
        }
        other => panic!("no such role: {other}"),
    }
}

fn moment(chance: &mut u64) -> Duration {
    *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    Duration::from_millis((*chance >> 33) % LIFE_MS_MAX)
}

/// Runs a child over and over, kills it at random moments, and lets the last one finish.
async fn killed(role: &'static str, folder: &Path, port: u16, kills: u32) {
    let mut chance = u64::from(port);
    for kill in 0..kills {
        let (folder, wait) = (folder.to_owned(), moment(&mut chance));
        let over = tokio::task::spawn_blocking(move || {
            let mut actor = Actor::start(role, ACTOR, &folder, port);
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
        let mut actor = Actor::start(role, ACTOR, &folder, port);
        while let Some(said) = actor.hear() {
            if said == "done" {
                return true;
            }
        }
        false
    });
    assert!(last.await.unwrap(), "the last one finishes");
}

#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn assert_little_twice(what: &str, chunks: &[Chunk], sent: u64, kills: u32) {
    let total = bytes_of(chunks);
    let twice = sent.saturating_sub(total) as f64;
    let (share, each) = (twice / total as f64, twice / f64::from(kills) / LINE as f64);
    println!("{what}: each of {kills} kills cost {each:.3} s of the line");
    // How large a share that is depends on how often one is killed: what counts is how much each kill costs. With one
    // kill in half a minute of work, a quarter of a second is under 1 %.
    assert!(each < 0.25, "{what}: {share:.3} twice, {each:.2} s of the line for each of {kills} kills");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_that_is_killed_again_and_again_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (chunks, kills) = (all(), kills());
    prepare(dir.path(), &chunks, false);
    let source = Machine::new(STAYS).await;
    source.fill(&chunks);
    let server = source.serve();
    killed("fetch", dir.path(), port(&source.network), kills).await;
    assert_sound(dir.path(), &chunks);
    assert_little_twice("fetch", &chunks, server.sent_bytes(), kills);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_is_killed_again_and_again_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (chunks, kills) = (all(), kills());
    prepare(dir.path(), &chunks, true);
    let hub = Machine::new(STAYS).await;
    let server = hub.serve();
    killed("push", dir.path(), port(&hub.network), kills).await;
    assert!(hub.has_all(&chunks));
    let checked = hub.store.check(|_| {}).unwrap();
    assert_eq!((checked.bad.len(), checked.orphans, checked.chunks), (0, 0, chunks.len() as u64));
    assert_little_twice("push", &chunks, server.taken_bytes(), kills);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_killed_again_and_again_costs_less_than_two_percent() {
    let dir = tempfile::tempdir().unwrap();
    let (chunks, kills) = (all(), kills());
    prepare(dir.path(), &chunks, true);
    let two = Machine::new(STAYS).await;
    let (fetch, control) = two.fetch(&chunks);
    control.set_limit(Some(LINE));
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
        tokio::time::sleep(moment(&mut chance)).await;
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
    let (chunks, kills) = (all(), kills());
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
        control.set_limit(Some(LINE));
        let progress = control.progress();
        let running = tokio::spawn(push.run(ids.clone().into_iter()));
        if kill == kills {
            let done = running.await.unwrap().unwrap();
            assert!(done.known >= acknowledged, "{done:?}, and {acknowledged} chunks were acknowledged");
            tokio::task::spawn_blocking(move || actor.kill()).await.unwrap();
            break;
        }
        tokio::time::sleep(moment(&mut chance)).await;
        tokio::task::spawn_blocking(move || actor.kill()).await.unwrap();
        control.stop();
        // It may be in the middle of trying again.
        running.abort();
        let _ = running.await;
        acknowledged = acknowledged.max(progress.borrow().known + progress.borrow().chunks);
    }
    assert_sound(dir.path(), &chunks);
}
