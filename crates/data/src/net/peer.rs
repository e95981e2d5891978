//! Somebody reached through iroh: asked for chunks, told what it should have, paid with receipts.
use super::carrier::{Carrier, Delivery};
use super::engine::Pace;
use super::network::endpoint_id;
use super::protocol::{self, ALPN, Ask, Code};
use super::push::Taker;
use super::receipt::{Receipt, STEP_BYTES};
use super::schedule::Route;
use super::{Error, IDS_MAX, Network, SignedGrant, frames};
use crate::store::Bitmap;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use gleaner_wire::{Hash, WorkerKey};
use iroh::endpoint::{Connection, RecvStream, SendStream};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// Connections to one peer. A connection is driven by one thread at each end, so a fast line is not filled by one.
const LINKS: usize = 2;
/// Requests that go over the first connection, so that whoever wants little makes no other.
const ALONE_REQUESTS: usize = 4;
const CONNECT_TIME_MAX: Duration = Duration::from_secs(15);
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// Packets that are read from a stream at a time. They are handed over as they are: nobody waits while bytes are copied.
const READ_PACKETS_MAX: usize = 128;
/// Receipts go out many times a step, so that sending never waits for them.
const RECEIPT_BYTES: u64 = STEP_BYTES / 16;

/// A connection, and what came over it.
struct Link {
    connection: Connection,
    session: u64,
    received: AtomicU64,
    signed: AtomicU64,
}

/// Somebody reached through iroh. Its connections are made when they are needed, and made again when they were lost.
pub struct Peer {
    network: Network,
    key: WorkerKey,
    grant: SignedGrant,
    links: [Mutex<Option<Arc<Link>>>; LINKS],
    /// Counts requests, which take turns.
    requests: AtomicUsize,
    route: StdMutex<Route>,
}

impl Peer {
    /// The machine with this key, for what the grant allows. Where it is has to be known to the network.
    pub fn new(network: Network, key: WorkerKey, grant: SignedGrant) -> Self {
        Self {
            network,
            key,
            grant,
            links: std::array::from_fn(|_| Mutex::default()),
            requests: AtomicUsize::new(0),
            route: StdMutex::new(Route::Direct),
        }
    }

    /// Its key.
    pub fn key(&self) -> WorkerKey {
        self.key
    }

    /// Which chunks of the grant's dataset it holds, if it knows the dataset.
    pub async fn held(&self) -> Result<Option<Bitmap>, Error> {
        self.bitmap(Ask::Held { grant: self.grant }).await
    }

    /// Which of these chunks it has.
    pub async fn having(&self, ids: &[Hash]) -> Result<Bitmap, Error> {
        let mut all = Bitmap::new(ids.len());
        for (number, some) in ids.chunks(IDS_MAX).enumerate() {
            let ask = Ask::Having { grant: self.grant, ids: some.to_vec() };
            let bits = self.bitmap(ask).await?.filter(|bits| bits.len() == some.len());
            let bits = bits.ok_or(Error::Malformed("a list of chunks"))?;
            for position in bits.positions(true) {
                all.set(number * IDS_MAX + position, true);
            }
        }
        Ok(all)
    }

    async fn bitmap(&self, ask: Ask) -> Result<Option<Bitmap>, Error> {
        let (_, _send, mut receive) = self.ask(0, &ask).await?;
        let read = tokio::time::timeout(ANSWER_TIME_MAX, protocol::read_bitmap(&mut receive)).await;
        read.map_err(|_| Error::lost(&self.key, "no answer"))?
    }

    /// The connection whose turn it is to carry chunks.
    fn turn(&self) -> usize {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        if request < ALONE_REQUESTS { 0 } else { request % LINKS }
    }

    async fn ask(&self, number: usize, ask: &Ask) -> Result<(Arc<Link>, SendStream, RecvStream), Error> {
        let link = self.link(number).await?;
        let (mut send, receive) = link.connection.open_bi().await.map_err(Error::connection)?;
        protocol::write_ask(&mut send, ask).await?;
        Ok((link, send, receive))
    }

    async fn link(&self, number: usize) -> Result<Arc<Link>, Error> {
        let mut known = self.links[number].lock().await;
        if let Some(link) = known.as_ref().filter(|link| link.connection.close_reason().is_none()) {
            self.note_route(&link.connection);
            return Ok(Arc::clone(link));
        }
        let connecting = self.network.endpoint().connect(endpoint_id(&self.key)?, ALPN);
        let connected = tokio::time::timeout(CONNECT_TIME_MAX, connecting).await;
        let connected = connected.map_err(|_| Error::lost(&self.key, "no answer"))?;
        let connection = connected.map_err(|why| Error::lost(&self.key, why))?;
        self.note_route(&connection);
        let session = getrandom::u64().map_err(|why| Error::lost(&self.key, why))?;
        let link = Link { connection, session, received: AtomicU64::new(0), signed: AtomicU64::new(0) };
        Ok(Arc::clone(known.insert(Arc::new(link))))
    }

    fn note_route(&self, connection: &Connection) {
        let paths = connection.paths();
        let route = paths.iter().find(|path| path.is_selected()).map(|path| match path.remote_addr() {
            iroh::TransportAddr::Ip(address) if is_near(address.ip()) => Route::Lan,
            iroh::TransportAddr::Relay(_) => Route::Relay,
            _ => Route::Direct,
        });
        if let Some(route) = route {
            *self.route.lock().unwrap_or_else(PoisonError::into_inner) = route;
        }
    }

    async fn fetch(&self, mut delivery: Delivery) -> Result<(), Error> {
        let (grant, ids) = (self.grant, delivery.blobs().iter().map(|blob| blob.id).collect());
        let ask = match delivery.begun() {
            [] => Ask::Want { grant, ids },
            begun => Ask::Rest { grant, ids, begun: begun.to_vec() },
        };
        let (link, mut send, mut receive) = self.ask(self.turn(), &ask).await?;
        let _ = send.finish();
        let (mut packets, mut counted) = (vec![Bytes::new(); READ_PACKETS_MAX], 0);
        while let Some(count) = receive.read_many_chunks(&mut packets).await.map_err(Error::read)? {
            let whole = match delivery.take_all(&packets[..count]).await {
                Ok(whole) => whole,
                Err(error) => {
                    let _ = receive.stop(Code::Done.number());
                    return Err(error);
                }
            };
            let more = whole - std::mem::replace(&mut counted, whole);
            let received = link.received.fetch_add(more, Ordering::Relaxed) + more;
            let signed = link.signed.load(Ordering::Relaxed);
            if received - signed.min(received) >= RECEIPT_BYTES {
                link.signed.fetch_max(received, Ordering::Relaxed);
                drop(self.receipt(&link));
            }
        }
        let signed = self.receipt(&link);
        if !delivery.is_complete() {
            return Err(Error::Malformed("an answer that ended early"));
        }
        // It is waited for: whoever has all it wants goes away, and takes what is under way along.
        let _ = signed.await;
        Ok(())
    }

    /// Signs for everything that came so far; what is returned ends when that has been read.
    fn receipt(&self, link: &Arc<Link>) -> JoinHandle<()> {
        let bytes = link.received.load(Ordering::Relaxed);
        link.signed.fetch_max(bytes, Ordering::Relaxed);
        let receipt = Receipt {
            root: self.grant.grant.root,
            sender: self.key,
            receiver: self.network.key(),
            session: link.session,
            bytes,
        };
        let signed = receipt.sign(self.network.signing_key());
        let link = Arc::clone(link);
        tokio::spawn(async move {
            // If it does not arrive, the next one says the same and more.
            if let Ok((mut send, mut receive)) = link.connection.open_bi().await
                && protocol::write_ask(&mut send, &Ask::Receipt(signed)).await.is_ok()
            {
                let _ = send.finish();
                let _ = tokio::time::timeout(ANSWER_TIME_MAX, receive.read_chunk(1)).await;
            }
        })
    }
}

impl Carrier for Peer {
    fn name(&self) -> String {
        self.key.to_string()
    }

    fn route(&self) -> Route {
        *self.route.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn want(self: Arc<Self>, delivery: Delivery) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.fetch(delivery).await })
    }

    fn round_trip(&self) -> Option<Duration> {
        // Whoever has it locked is making a new connection.
        let link = self.links[0].try_lock().ok()?;
        let paths = link.as_ref()?.connection.paths();
        paths.iter().find(|path| path.is_selected()).map(|path| path.rtt())
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn reset(&self) {
        for link in &self.links {
            // Whoever has it locked is making a new connection already.
            if let Ok(mut known) = link.try_lock()
                && let Some(link) = known.take()
            {
                link.connection.close(Code::Done.number(), b"");
            }
        }
    }
}

impl Drop for Peer {
    /// While a connection is open, iroh keeps to its path: a machine that has come back elsewhere would not be found.
    fn drop(&mut self) {
        self.reset();
    }
}

impl Taker for Peer {
    fn having(&self, ids: Vec<Hash>) -> BoxFuture<'_, Result<Bitmap, Error>> {
        Box::pin(async move { Peer::having(self, &ids).await })
    }

    fn give(&self, chunks: Vec<Bytes>, pace: Arc<Pace>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let (_, mut send, mut receive) = self.ask(self.turn(), &Ask::Give { grant: self.grant }).await?;
            let total: u64 = chunks.iter().map(|chunk| chunk.len() as u64).sum();
            for chunk in chunks {
                let mut owed = chunk.len() as u64;
                while let Some(wait) = pace.take(&mut owed) {
                    tokio::time::sleep(wait).await;
                }
                let mut pieces = [Bytes::copy_from_slice(&frames::header(&chunk)), chunk];
                let writing = tokio::time::timeout(ANSWER_TIME_MAX, send.write_all_chunks(&mut pieces)).await;
                writing.map_err(|_| Error::lost(&self.key, "it does not read"))?.map_err(Error::write)?;
            }
            send.write_all(&[0; 4]).await.map_err(Error::write)?;
            let _ = send.finish();
            let mut durable = [0; 8];
            while u64::from_le_bytes(durable) < total {
                let reading = tokio::time::timeout(ANSWER_TIME_MAX, receive.read_exact(&mut durable)).await;
                reading.map_err(|_| Error::lost(&self.key, "no answer"))?.map_err(Error::read_exact)?;
            }
            Ok(())
        })
    }
}

/// Addresses that do not lead out of a building.
fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private() || address.is_loopback() || address.is_link_local(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_same_building_are_near() {
        for near in ["127.0.0.1", "192.168.1.9", "10.1.2.3", "169.254.1.1", "::1", "fe80::1", "fd00::1"] {
            assert!(is_near(near.parse().expect("an address")), "{near}");
        }
        for far in ["8.8.8.8", "100.64.0.1", "2001:db8::1"] {
            assert!(!is_near(far.parse().expect("an address")), "{far}");
        }
    }
}
