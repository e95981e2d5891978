//! kill -9 of each side at random moments, and going on afterwards: the bytes are the same, nothing is left over, and
//! little was sent twice.
use super::child::{Actor, say};
use super::world::*;
use gleaner_data::net::{Fetch, Network, Peer, Push, Right, Server, Setup};
use gleaner_data::store::{Chunk, Store};
use gleaner_wire::WorkerKey;
use iroh::EndpointAddr;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const SEED: u64 = 60;
const CHUNKS: usize = 1500;
/// What the line allows, so that there are moments to be killed at.
const LINE: u64 = 30_000_000;
/// The child, and who stays alive.
const ACTOR: u8 = 7;
const STAYS: u8 = 8;

fn all() -> Vec<Chunk> {
    chunks(SEED, CHUNKS)
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
pub async fn play(role: &str, folder: &Path, stays: u16) {
    let store = Arc::new(Store::open(folder, LIMIT).unwrap());
    let network = network(ACTOR).await;
    match role {
        "serve" => {
            let _server = Server::start(&network, store, authority());
            say(&port(&network).to_string());
            std::future::pending().await
        }
        "fetch" => {
            let (fetch, control) = Fetch::new(store, network.key(), wishes(&all()).into_iter());
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
            push.run(all().into_iter().map(|chunk| chunk.id)).await.unwrap();
            say("done");
        }
        other => panic!("no such role: {other}"),
    }
}

fn moment(chance: &mut u64, most_ms: u64) -> Duration {
    *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    Duration::from_millis((*chance >> 33) % most_ms)
}

/// Runs a child over and over, kills it at random moments, and lets the last one finish.
async fn killed(role: &'static str, folder: &Path, port: u16, kills: u32, most_ms: u64) {
    let mut chance = u64::from(port);
    for _ in 0..kills {
        let (folder, wait) = (folder.to_owned(), moment(&mut chance, most_ms));
        let over = tokio::task::spawn_blocking(move || {
            let mut actor = Actor::start(role, &folder, port);
            assert_eq!(actor.hear().as_deref(), Some("begins"));
            // The moment is what the test is about, so there is no event to wait for.
            std::thread::sleep(wait);
            let over = !actor.is_running();
            actor.kill();
            over
        });
        if over.await.unwrap() {
            return;
        }
    }
    let folder = folder.to_owned();
    let last = tokio::task::spawn_blocking(move || {
        let mut actor = Actor::start(role, &folder, port);
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
fn assert_little_twice(what: &str, sent: u64, kills: u32) {
    let total = bytes_of(&all());
    let twice = sent.saturating_sub(total) as f64;
    let (share, each) = (twice / total as f64, twice / f64::from(kills) / LINE as f64);
    // How large a share that is depends on how often one is killed: what counts is how much each kill costs. With one
    // kill in half a minute of work, a quarter of a second is under 1 %.
    assert!(each < 0.5, "{what}: {share:.3} twice, {each:.2} s of the line for each of {kills} kills");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_that_is_killed_again_and_again_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (chunks, kills) = (all(), 8);
    let source = Machine::new(STAYS).await;
    source.fill(&chunks);
    let server = source.serve();
    killed("fetch", dir.path(), port(&source.network), kills, 500).await;
    assert_sound(dir.path(), &chunks);
    assert_little_twice("fetch", server.sent_bytes(), kills);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_is_killed_again_and_again_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (chunks, kills) = (all(), 8);
    {
        let store = Store::open(dir.path(), LIMIT).unwrap();
        for batch in chunks.chunks(64) {
            store.put(batch.to_vec()).unwrap();
        }
    }
    let hub = Machine::new(STAYS).await;
    let server = hub.serve();
    killed("push", dir.path(), port(&hub.network), kills, 500).await;
    assert!(hub.has_all(&chunks));
    let checked = hub.store.check(|_| {}).unwrap();
    assert_eq!((checked.bad.len(), checked.orphans, checked.chunks), (0, 0, chunks.len() as u64));
    assert_little_twice("push", server.taken_bytes(), kills);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_killed_again_and_again_costs_less_than_two_percent() {
    let dir = tempfile::tempdir().unwrap();
    let (chunks, kills) = (all(), 8);
    {
        let store = Store::open(dir.path(), LIMIT).unwrap();
        for batch in chunks.chunks(64) {
            store.put(batch.to_vec()).unwrap();
        }
    }
    let two = Machine::new(STAYS).await;
    let (fetch, control) = two.fetch(&chunks);
    control.set_limit(Some(LINE));
    let running = tokio::spawn(fetch.with_patience(Duration::from_secs(60)).run());
    let mut chance = 5;
    for _ in 0..kills {
        let folder = dir.path().to_owned();
        let (actor, port) = tokio::task::spawn_blocking(move || {
            let mut actor = Actor::start("serve", &folder, 0);
            let port = actor.hear().unwrap().parse().unwrap();
            (actor, port)
        })
        .await
        .unwrap();
        control.tell(joined(&peer(&two.network, ACTOR, port, Right::Fetch))).await;
        tokio::time::sleep(moment(&mut chance, 500)).await;
        if running.is_finished() {
            break;
        }
        tokio::task::spawn_blocking(move || actor.kill()).await.unwrap();
    }
    let folder = dir.path().to_owned();
    let last = tokio::task::spawn_blocking(move || {
        let mut actor = Actor::start("serve", &folder, 0);
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
    let (chunks, kills) = (all(), 5);
    let two = Machine::new(STAYS).await;
    two.fill(&chunks);
    let ids: Vec<_> = chunks.iter().map(|chunk| chunk.id).collect();
    let (mut chance, mut acknowledged) = (9, 0);
    for kill in 0..=kills {
        let folder = dir.path().to_owned();
        let start = tokio::task::spawn_blocking(move || {
            let mut actor = Actor::start("serve", &folder, 0);
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
        tokio::time::sleep(moment(&mut chance, 800)).await;
        tokio::task::spawn_blocking(move || actor.kill()).await.unwrap();
        control.stop();
        // It may be in the middle of trying again.
        running.abort();
        let _ = running.await;
        acknowledged = acknowledged.max(progress.borrow().known + progress.borrow().chunks);
    }
    assert_sound(dir.path(), &chunks);
}
