//! How fast chunks move on loopback, beside one bare iroh stream, plain TCP and plain HTTP in the same run.
use super::http::{Access, Cache, router};
use super::schedule::{Holds, Role};
use super::{
    ALPN, Authority, Carrier, Error, Fetch, Grant, Network, Peer, Push, Right, Server, Setup, SignedGrant, Taker,
    Update, Wish, public,
};
use crate::store::{Chunk, Store};
use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use bytes::Bytes;
use ed25519_dalek::SigningKey;
use futures_util::{StreamExt, stream};
use gleaner_wire::{BlobRef, Hash, Millis, WorkerKey};
use rustix::time::{ClockId, clock_gettime};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const CHUNK_BYTES: usize = 64 * 1024;
const BUFFER_BYTES: usize = 256 * 1024;
const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// How fast something was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    /// Millions of bytes a second.
    pub rate: f64,
    /// Millions of bytes for each second of one processor, both sides together. Other work on the machine changes it
    /// much less than the rate.
    pub per_processor: f64,
}

/// What was measured. Both sides run on this machine and share its processors.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Plain TCP, from memory to nowhere.
    pub tcp: Speed,
    /// One stream of an iroh connection, from memory to nowhere.
    pub stream: Speed,
    /// Putting the same chunks into a store, without any network: the floor of a fetch.
    pub store: Speed,
    /// A fetch from one peer, from store to store, everything on disk when it ends.
    pub fetch: Speed,
    /// A fetch from two peers at once.
    pub fetch_from_two: Speed,
    /// A push to a peer, from store to store.
    pub push: Speed,
    /// A plain HTTP answer, from memory to nowhere.
    pub http: Speed,
    /// A plain HTTP request with the same bytes.
    pub http_post: Speed,
    /// A fetch from the hub's cache over HTTP, from store to store.
    pub fetch_from_cache: Speed,
    /// A push into the hub's cache over HTTP, from store to store.
    pub push_to_cache: Speed,
}

/// Moves this many bytes each way, with stores below this folder.
pub async fn loopback(folder: &Path, bytes: usize) -> Result<Figures, Error> {
    let chunks: Vec<Chunk> = (0..bytes.div_ceil(CHUNK_BYTES) as u64)
        .map(|number| Chunk::of(crate::measure::noise(number, CHUNK_BYTES)))
        .collect();
    let total = chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum();
    let open = |name: &str| Store::open(&folder.join(name), total * 3 + (1 << 26)).map(Arc::new);
    let (one, two) = (open("one")?, open("two")?);
    let tcp = speed(total, tcp(&chunks)).await?;
    let stream = speed(total, stream(&chunks)).await?;
    let store = speed(total, async { fill(&one, &chunks) }).await?;
    fill(&two, &chunks)?;
    let fetch = speed(total, fetch(&[Arc::clone(&one)], open("alone")?, &chunks)).await?;
    let fetch_from_two = speed(total, self::fetch(&[Arc::clone(&one), two], open("both")?, &chunks)).await?;
    let push = speed(total, push(Arc::clone(&one), open("pushed")?, &chunks)).await?;
    // If another part of the process has chosen already, that holds.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let plain = serve(plain(&chunks)).await?;
    let http = speed(total, download(&plain)).await?;
    let http_post = speed(total, upload(&plain, &chunks)).await?;
    let hub = serve(router(Arc::clone(&one), Arc::new(authority()))).await?;
    let fetch_from_cache = speed(total, fetch_from_cache(&hub, open("cached")?, &chunks)).await?;
    let hub = serve(router(open("hub")?, Arc::new(authority()))).await?;
    let push_to_cache = speed(total, push_to_cache(&hub, one, &chunks)).await?;
    Ok(Figures { tcp, stream, store, fetch, fetch_from_two, push, http, http_post, fetch_from_cache, push_to_cache })
}

async fn speed(bytes: u64, work: impl Future<Output = Result<(), Error>>) -> Result<Speed, Error> {
    let (begun, used) = (Instant::now(), processor_seconds());
    work.await?;
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let millions = bytes as f64 / 1e6;
    let (taken, used) = (begun.elapsed().as_secs_f64(), processor_seconds() - used);
    Ok(Speed { rate: millions / taken, per_processor: millions / used.max(1e-6) })
}

/// What this process has used so far.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of some minutes")]
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn fill(store: &Store, chunks: &[Chunk]) -> Result<(), Error> {
    chunks.chunks(64).try_for_each(|batch| store.put(batch.to_vec()).map(|_| ()))?;
    Ok(())
}

fn failed(why: impl std::fmt::Display) -> Error {
    Error::Lost { peer: "loopback".to_owned(), why: why.to_string() }
}

async fn tcp(chunks: &[Chunk]) -> Result<(), Error> {
    let listener = TcpListener::bind(LOOPBACK).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let reader = tokio::spawn(async move {
        let (mut from, _) = listener.accept().await?;
        let mut buffer = vec![0; BUFFER_BYTES];
        while from.read(&mut buffer).await? > 0 {}
        std::io::Result::Ok(())
    });
    let mut to = TcpStream::connect(address).await.map_err(failed)?;
    for chunk in chunks {
        to.write_all(&chunk.bytes).await.map_err(failed)?;
    }
    to.shutdown().await.map_err(failed)?;
    reader.await.map_err(failed)?.map_err(failed)
}

async fn machine(number: u8) -> Result<Network, Error> {
    let key = SigningKey::from_bytes(&[number; 32]);
    Network::open(Setup { key, listen: vec![LOOPBACK], relays: Vec::new() }).await
}

async fn stream(chunks: &[Chunk]) -> Result<(), Error> {
    let (one, two) = (machine(1).await?, machine(2).await?);
    let server = one.clone();
    let reader = tokio::spawn(async move {
        let incoming = server.endpoint().accept().await.ok_or_else(|| failed("closed"))?;
        let connection = incoming.await.map_err(failed)?;
        let (mut send, mut from) = connection.accept_bi().await.map_err(Error::connection)?;
        while from.read_chunk(BUFFER_BYTES).await.map_err(Error::read)?.is_some() {}
        let _ = send.finish();
        connection.closed().await;
        Ok::<_, Error>(())
    });
    let connection = two.endpoint().connect(one.address(), ALPN).await.map_err(failed)?;
    let (mut to, mut from) = connection.open_bi().await.map_err(Error::connection)?;
    for chunk in chunks {
        to.write_chunk(Bytes::clone(&chunk.bytes)).await.map_err(Error::write)?;
    }
    let _ = to.finish();
    let _ = from.read_to_end(1).await;
    connection.close(0_u32.into(), b"");
    reader.await.map_err(failed)?
}

fn hub_key() -> SigningKey {
    SigningKey::from_bytes(&[9; 32])
}

fn authority() -> Authority {
    Authority::new(public(&hub_key()))
}

fn grant(peer: WorkerKey, right: Right) -> SignedGrant {
    Grant { root: Hash([0; 32]), peer, right, until: Millis(u64::MAX) }.sign(&hub_key())
}

async fn fetch(from: &[Arc<Store>], to: Arc<Store>, chunks: &[Chunk]) -> Result<(), Error> {
    let me = machine(1).await?;
    let (mut servers, mut carriers) = (Vec::new(), Vec::new());
    for (number, store) in (2..).zip(from) {
        let other = machine(number).await?;
        servers.push(Server::start(&other, Arc::clone(store), authority()));
        me.learn(other.address());
        let peer = Peer::new(me.clone(), other.key(), grant(me.key(), Right::Fetch));
        carriers.push(Arc::new(peer) as Arc<dyn Carrier>);
    }
    fetch_by(carriers, me.key(), to, chunks).await
}

async fn fetch_by(
    carriers: Vec<Arc<dyn Carrier>>,
    me: WorkerKey,
    to: Arc<Store>,
    chunks: &[Chunk],
) -> Result<(), Error> {
    let wish = |(position, chunk): (u32, &Chunk)| Wish {
        position,
        blob: BlobRef { id: chunk.id, bytes: chunk.bytes.len() as u64 },
    };
    let wishes: Vec<Wish> = (0..).zip(chunks).map(wish).collect();
    let (fetch, control) = Fetch::new(to, me, wishes.into_iter());
    for carrier in carriers {
        control.tell(Update::Joined { carrier, role: Role::Peer, holds: Holds::All }).await;
    }
    fetch.run().await.map(|_| ())
}

async fn push(from: Arc<Store>, to: Arc<Store>, chunks: &[Chunk]) -> Result<(), Error> {
    let (me, other) = (machine(1).await?, machine(2).await?);
    let _server = Server::start(&other, to, authority());
    me.learn(other.address());
    let peer = Peer::new(me.clone(), other.key(), grant(me.key(), Right::Give));
    push_by(Arc::new(peer), from, chunks).await
}

async fn push_by(taker: Arc<dyn Taker>, from: Arc<Store>, chunks: &[Chunk]) -> Result<(), Error> {
    let ids: Vec<Hash> = chunks.iter().map(|chunk| chunk.id).collect();
    Push::new(from, taker).0.run(ids.into_iter()).await.map(|_| ())
}

async fn serve(routes: Router) -> Result<String, Error> {
    let listener = TcpListener::bind(LOOPBACK).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(format!("http://{address}"))
}

/// A server that sends these from memory, and takes whatever it is sent.
fn plain(chunks: &[Chunk]) -> Router {
    let pieces: Arc<Vec<Bytes>> = Arc::new(chunks.iter().map(|chunk| chunk.bytes.clone()).collect());
    let give = move || {
        let pieces = Arc::clone(&pieces);
        let count = pieces.len();
        async move { Body::from_stream(stream::iter((0..count).map(move |at| std::io::Result::Ok(pieces[at].clone())))) }
    };
    let take = |body: Body| async move { body.into_data_stream().for_each(|_| std::future::ready(())).await };
    Router::new().route("/", get(give)).route("/", post(take))
}

async fn download(url: &str) -> Result<(), Error> {
    let mut answer = reqwest::Client::new().get(url).send().await.map_err(failed)?;
    while answer.chunk().await.map_err(failed)?.is_some() {}
    Ok(())
}

async fn upload(url: &str, chunks: &[Chunk]) -> Result<(), Error> {
    let pieces: Vec<_> = chunks.iter().map(|chunk| std::io::Result::Ok(chunk.bytes.clone())).collect();
    let body = reqwest::Body::wrap_stream(stream::iter(pieces));
    reqwest::Client::new().post(url).body(body).send().await.map_err(failed).map(|_| ())
}

async fn fetch_from_cache(url: &str, to: Arc<Store>, chunks: &[Chunk]) -> Result<(), Error> {
    let me = public(&SigningKey::from_bytes(&[1; 32]));
    let cache = Cache::new(url, Access::Grant(grant(me, Right::Fetch)))?;
    fetch_by(vec![Arc::new(cache)], me, to, chunks).await
}

async fn push_to_cache(url: &str, from: Arc<Store>, chunks: &[Chunk]) -> Result<(), Error> {
    let me = public(&SigningKey::from_bytes(&[1; 32]));
    push_by(Arc::new(Cache::new(url, Access::Grant(grant(me, Right::Give)))?), from, chunks).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn every_way_has_a_speed() {
        let dir = tempfile::tempdir().expect("a folder");
        let figures = loopback(dir.path(), 8 << 20).await.expect("measured");
        let Figures {
            tcp,
            stream,
            store,
            fetch,
            fetch_from_two,
            push,
            http,
            http_post,
            fetch_from_cache,
            push_to_cache,
        } = figures;
        let all = [tcp, stream, store, fetch, fetch_from_two, push, http, http_post, fetch_from_cache, push_to_cache];
        assert!(all.iter().all(|speed| speed.rate > 0.0 && speed.per_processor > 0.0), "{figures:?}");
    }
}
