//! The test binary as a machine: serves, caches, relays or fetches in the network that it was born in.
use super::actor::{role, say};
use super::world::*;
use gleaner_data::net::http::{Access, Cache, router};
use gleaner_data::net::schedule::{Holds, Role};
use gleaner_data::net::{
    Carrier, Control, Discovery, Fetch, Network, Peer, Progress, Push, RelayAt, Right, Server, Setup, Update, public,
};
use gleaner_data::store::Store;
use gleaner_wire::WorkerKey;
use iroh::{EndpointAddr, EndpointId};
use std::io::BufRead;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub const NUMBER: &str = "GLEANER_LAB_TEST_NUMBER";
pub const RELAY: &str = "GLEANER_LAB_TEST_RELAY";
pub const SEED: u64 = 70;
pub const PORT: u16 = 4000;
pub const HTTP_PORT: u16 = 8080;
pub const RELAY_PORT: u16 = 3340;
/// Long, because a computer that is busy with other things is no fault of the network.
const PATIENCE: Duration = Duration::from_secs(120);

/// Without a role this is a test like any other and has nothing to do.
#[test]
fn plays_the_role_it_was_started_for() {
    let Some((role, folder)) = role() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(play(&role, &folder));
}

async fn play(role: &str, folder: &Path) {
    let variable = |name| std::env::var(name).unwrap();
    let store = Arc::new(Store::open(folder, LIMIT).unwrap());
    match role.split_once(' ').unwrap_or((role, "")) {
        ("hub", _) => keep(store).await,
        ("serve", _) => {
            let network = open(variable(NUMBER).parse().unwrap(), std::env::var(RELAY).ok()).await;
            let server = Server::start(&network, store, authority());
            say("ready");
            // Until its parent says that it is enough.
            let _ = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await;
            say(&format!("sent {}", server.sent_bytes()));
        }
        ("fetch", count) => {
            let network = open(variable(NUMBER).parse().unwrap(), std::env::var(RELAY).ok()).await;
            fetch(&network, store, count.parse().unwrap()).await;
        }
        ("push", url) => push(store, url).await,
        other => panic!("no such role: {other:?}"),
    }
}

async fn open(number: u8, relay: Option<String>) -> Network {
    let listen = vec![SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT))];
    let discovery = Some(Discovery { port: RELAY_PORT, key: public(&hub()) });
    let relays = relay.iter().map(|url| RelayAt { url: url.parse().unwrap(), discovery }).collect();
    let network = Network::open(Setup { key: key(number), listen, relays }).await.unwrap();
    if relay.is_some() {
        network.online().await;
    }
    network
}

async fn keep(store: Arc<Store>) {
    #[cfg(feature = "relay")]
    let _relay = {
        let listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, RELAY_PORT));
        gleaner_data::net::relay::Relay::start(listen, &hub(), |_| true).await.unwrap()
    };
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, HTTP_PORT)).await.unwrap();
    say("ready");
    axum::serve(listener, router(store, Arc::new(authority()))).await.unwrap();
}

/// Fetches from whoever is named on standard input, one source a line, and says how far it is.
async fn fetch(network: &Network, store: Arc<Store>, count: usize) {
    let wanted = chunks(SEED, count);
    let (fetch, control) = Fetch::new(store, network.key(), wishes(&wanted).into_iter());
    let running = tokio::spawn(fetch.with_patience(PATIENCE).run());
    let (told, mut lines) = tokio::sync::mpsc::channel(8);
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines().map_while(Result::ok);
        lines.for_each(|line| drop(told.blocking_send(line)));
    });
    let (hearing, steering) = (network.clone(), control.clone());
    tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            joins(&hearing, &steering, &line).await;
        }
    });
    let total = bytes_of(&wanted);
    says_how_far(control.progress(), |progress| progress.bytes * 100 / total).await;
    match running.await.unwrap() {
        Ok(done) => say(&told_about(&done)),
        Err(error) => say(&format!("failed: {error}")),
    }
    network.close().await;
}

/// Brings everything to the hub at this address, and says how far it is.
async fn push(store: Arc<Store>, words: &str) {
    let (count, url) = words.split_once(' ').unwrap();
    let wanted = chunks(SEED, count.parse().unwrap());
    let (total, ids) = (bytes_of(&wanted), wanted.iter().map(|chunk| chunk.id).collect::<Vec<_>>());
    drop(wanted);
    let cache = Cache::new(url, Access::Grant(grant(public(&key(2)), Right::Give))).unwrap();
    let (push, control) = Push::new(store, Arc::new(cache));
    let running = tokio::spawn(push.run(ids.into_iter()));
    says_how_far(control.progress(), |pushed| pushed.bytes * 100 / total).await;
    match running.await.unwrap() {
        Ok(done) => say(&format!("done {} {}", done.bytes, done.again)),
        Err(error) => say(&format!("failed: {error}")),
    }
}

/// Says each percent, until the end.
async fn says_how_far<T>(mut progress: tokio::sync::watch::Receiver<T>, percent: impl Fn(&T) -> u64) {
    let mut last = 0;
    while progress.changed().await.is_ok() {
        let now = percent(&progress.borrow_and_update());
        if now > last {
            say(&format!("at {now}"));
            last = now;
        }
    }
}

/// A source: `hub URL`, `direct NUMBER ADDRESS` or `relay NUMBER URL`.
async fn joins(network: &Network, control: &Control, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let grant = grant(network.key(), Right::Fetch);
    let (carrier, role): (Arc<dyn Carrier>, Role) = match words[..] {
        ["hub", url] => (Arc::new(Cache::new(url, Access::Grant(grant)).unwrap()), Role::Origin),
        [how, number, place] => {
            let id = key(number.parse().unwrap()).verifying_key().to_bytes();
            let address = EndpointAddr::new(EndpointId::from_bytes(&id).unwrap());
            network.learn(match how {
                "direct" => address.with_ip_addr(place.parse().unwrap()),
                _ => address.with_relay_url(place.parse().unwrap()),
            });
            (Arc::new(Peer::new(network.clone(), WorkerKey(id), grant)), Role::Peer)
        }
        _ => panic!("no such source: {line}"),
    };
    control.tell(Update::Joined { carrier, role, holds: Holds::All }).await;
}

fn told_about(done: &Progress) -> String {
    let sources = done.sources.iter().map(|source| format!(" {:?}:{}", source.route, source.figures.bytes));
    format!("done {} {}{}", done.bytes, done.twice_bytes, sources.collect::<String>())
}
