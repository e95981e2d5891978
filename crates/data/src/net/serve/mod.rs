//! Serving what a machine holds to those whom the hub has granted it, and taking what they bring.
mod connection;
mod give;
mod holder;
mod want;

pub use holder::{Folders, Holder};

use super::{Authority, Claim, Code, Error, Meter, Network};
use gleaner_wire::{Millis, WorkerKey};
use iroh::endpoint::Connection;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Connections that are served at a time, in all and for one peer.
const CONNECTIONS_MAX: usize = 256;
const CONNECTIONS_PER_PEER_MAX: usize = 4;

/// What all connections share.
pub(super) struct Shared {
    pub holder: Arc<dyn Holder>,
    pub authority: Authority,
    pub me: WorkerKey,
    pub meter: Mutex<Meter>,
    pub sent: AtomicU64,
    pub taken: AtomicU64,
    peers: Mutex<BTreeMap<WorkerKey, VecDeque<Connection>>>,
}

/// Serves until it is dropped or stopped.
pub struct Server {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves a store, or what else holds chunks, on this machine's endpoint.
    pub fn start<H: Holder>(network: &Network, holder: Arc<H>, authority: Authority) -> Self {
        let shared = Arc::new(Shared {
            holder,
            authority,
            me: network.key(),
            meter: Mutex::default(),
            sent: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            peers: Mutex::default(),
        });
        let task = tokio::spawn(accept(network.clone(), Arc::clone(&shared)));
        Self { shared, task }
    }

    /// What the hub is to be shown, at most so many: the highest receipts of sessions that have ended or grown much since
    /// this was called last. A session may come again, with a higher receipt.
    pub fn take_claims(&self, count_max: usize) -> Vec<Claim> {
        self.shared.meter.lock().unwrap_or_else(PoisonError::into_inner).take_claims(count_max)
    }

    /// Takes back claims that could not be shown.
    pub fn give_back(&self, claims: Vec<Claim>) {
        let mut meter = self.shared.meter.lock().unwrap_or_else(PoisonError::into_inner);
        claims.into_iter().for_each(|claim| meter.report(claim));
    }

    /// Bytes of chunks that were sent so far, whether they arrived or not.
    pub fn sent_bytes(&self) -> u64 {
        self.shared.sent.load(Ordering::Relaxed)
    }

    /// Bytes of chunks that were brought so far, whether they were new or not.
    pub fn taken_bytes(&self) -> u64 {
        self.shared.taken.load(Ordering::Relaxed)
    }

    /// Takes no more connections; those that are open end with the endpoint.
    pub fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn accept(network: Network, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    while let Some(incoming) = network.endpoint().accept().await {
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            incoming.refuse();
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let _place = place;
            match incoming.await {
                Ok(connection) => connection::serve(connection, shared).await,
                Err(error) => tracing::debug!(%error, "a connection was not made"),
            }
        });
    }
}

/// One of the few connections that a peer may have at a time.
struct Place {
    shared: Arc<Shared>,
    peer: WorkerKey,
    number: usize,
}

impl Place {
    /// A peer that has too many loses the oldest: it was killed or has lost it, and nobody has noticed yet.
    fn take(shared: &Arc<Shared>, connection: &Connection) -> Self {
        let peer = WorkerKey(*connection.remote_id().as_bytes());
        let mut peers = shared.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let open = peers.entry(peer).or_default();
        open.push_back(connection.clone());
        if open.len() > CONNECTIONS_PER_PEER_MAX
            && let Some(oldest) = open.pop_front()
        {
            oldest.close(Code::Busy.number(), b"");
        }
        Self { shared: Arc::clone(shared), peer, number: connection.stable_id() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut peers = self.shared.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = peers.get_mut(&self.peer) {
            open.retain(|connection| connection.stable_id() != self.number);
            if open.is_empty() {
                peers.remove(&self.peer);
            }
        }
    }
}

pub(super) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Runs what blocks on the disk where that is allowed.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, crate::store::Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Error::Malformed("what the store gave")).and_then(|result| result.map_err(Error::from))
}
