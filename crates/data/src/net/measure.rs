//! How fast chunks move on loopback, beside one bare iroh stream and plain TCP in the same run.
use super::schedule::{Holds, Role};
use super::{
    ALPN, Authority, Error, Fetch, Grant, Network, Peer, Right, Server, Setup, SignedGrant, Update, Wish, public,
};
use crate::store::{Chunk, Store};
use bytes::Bytes;
use ed25519_dalek::SigningKey;
use gleaner_wire::{BlobRef, Hash, Millis};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const CHUNK_BYTES: usize = 64 * 1024;
const BUFFER_BYTES: usize = 256 * 1024;
const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Millions of bytes a second.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Plain TCP, from memory to nowhere.
    pub tcp: f64,
    /// One stream of an iroh connection, from memory to nowhere.
    pub stream: f64,
    /// Putting the same chunks into a store, without any network: the floor of a fetch.
    pub store: f64,
    /// A fetch from one peer, from store to store, everything on disk when it ends.
    pub fetch: f64,
    /// A fetch from two peers at once.
    pub fetch_from_two: f64,
}

/// Moves this many bytes each way, with stores below this folder. Both sides run on this machine and share its
/// processors.
pub async fn loopback(folder: &Path, bytes: usize) -> Result<Figures, Error> {
    let chunks: Vec<Chunk> = (0..bytes.div_ceil(CHUNK_BYTES) as u64)
        .map(|number| Chunk::of(crate::measure::noise(number, CHUNK_BYTES)))
        .collect();
    let total = chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum();
    let tcp = rate(total, tcp(&chunks)).await?;
    let stream = rate(total, stream(&chunks)).await?;
    let open = |name: &str| Store::open(&folder.join(name), total * 3 + (1 << 26)).map(Arc::new);
    let (one, two) = (open("one")?, open("two")?);
    let store = rate(total, async { fill(&one, &chunks) }).await?;
    fill(&two, &chunks)?;
    let fetch = rate(total, fetch(&[Arc::clone(&one)], open("alone")?, &chunks)).await?;
    let fetch_from_two = rate(total, self::fetch(&[one, two], open("both")?, &chunks)).await?;
    Ok(Figures { tcp, stream, store, fetch, fetch_from_two })
}

async fn rate(bytes: u64, work: impl Future<Output = Result<(), Error>>) -> Result<f64, Error> {
    let begun = Instant::now();
    work.await?;
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    Ok(bytes as f64 / 1e6 / begun.elapsed().as_secs_f64())
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

async fn fetch(from: &[Arc<Store>], to: Arc<Store>, chunks: &[Chunk]) -> Result<(), Error> {
    let hub = SigningKey::from_bytes(&[9; 32]);
    let me = machine(1).await?;
    let grant: SignedGrant =
        Grant { root: Hash([0; 32]), peer: me.key(), right: Right::Fetch, until: Millis(u64::MAX) }.sign(&hub);
    let wish = |(position, chunk): (u32, &Chunk)| Wish {
        position,
        blob: BlobRef { id: chunk.id, bytes: chunk.bytes.len() as u64 },
    };
    let wishes: Vec<Wish> = (0..).zip(chunks).map(wish).collect();
    let (fetch, control) = Fetch::new(to, me.key(), wishes.into_iter());
    let mut servers = Vec::new();
    for (number, store) in (2..).zip(from) {
        let other = machine(number).await?;
        servers.push(Server::start(&other, Arc::clone(store), Authority::new(public(&hub))));
        me.learn(other.address());
        let carrier = Arc::new(Peer::new(me.clone(), other.key(), grant));
        control.tell(Update::Joined { carrier, role: Role::Peer, holds: Holds::All }).await;
    }
    fetch.run().await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn every_way_has_a_speed() {
        let dir = tempfile::tempdir().expect("a folder");
        let figures = loopback(dir.path(), 32 << 20).await.expect("measured");
        let Figures { tcp, stream, store, fetch, fetch_from_two } = figures;
        assert!([tcp, stream, store, fetch, fetch_from_two].iter().all(|speed| *speed > 0.0), "{figures:?}");
    }
}
