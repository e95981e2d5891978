//! Everything of tasks that comes to this machine and leaves it: sealed in a store and on the way, in the open only in
//! scratch folders, for as long as a task needs it.
//!
//! Large datasets are brought into the store together with other workers that fetch the same; small ones come straight
//! from the hub. Outputs are sealed before they leave.
mod claims;
mod deliver;
mod fetch;
mod keys;
mod opened;

pub use keys::{GroupKeys, missing};
pub use opened::{OpenFile, Opened};

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use ed25519_dalek::SigningKey;
use futures_util::FutureExt;
use gleaner_data::net::{Authority, Network, RelayAt, Server};
use gleaner_data::store::Store;
use gleaner_wire::api::NetworkView;
use gleaner_wire::{Cause, HELD_MAX, Hash, Held};
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

use crate::Error;
use crate::failure::Failure;
use crate::hub_link::HubLink;

const STORE: &str = "chunks";
const OPENED: &str = "opened";
/// The most bytes of sealed chunks that are kept, where the disk has twice as many free.
const STORE_BYTES_MAX: u64 = 20 << 30;

/// How long the hub's relay is waited for before others are told where this machine is: what it tells is complete then.
const ONLINE_TIME_MAX: Duration = Duration::from_secs(5);

type Coming = Weak<OnceCell<Arc<Opened>>>;

/// The depot of a worker.
pub struct Depot {
    hub: HubLink,
    key: SigningKey,
    store: Arc<Store>,
    scratch: PathBuf,
    /// Datasets that are open or being opened, so that each is once.
    open: Mutex<HashMap<Hash, Coming>>,
    /// This machine among others, once it has been needed.
    peers: OnceCell<Option<Peers>>,
}

/// This machine among others.
struct Peers {
    network: Network,
    _server: Arc<Server>,
    /// Shows the hub what was sent to others.
    handing_in: JoinHandle<()>,
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.handing_in.abort();
    }
}

impl Depot {
    /// Opens the depot in the worker's folder. What an earlier run had opened is removed; what is sealed stays.
    pub fn open(dir: &Path, key: SigningKey, hub: HubLink) -> Result<Self, Error> {
        let room = crate::doctor::free_bytes(dir).map_err(Error::file("look at", dir))?;
        Self::with_limit(dir, key, hub, STORE_BYTES_MAX.min(room / 2))
    }

    /// The same with another limit of the store.
    pub fn with_limit(dir: &Path, key: SigningKey, hub: HubLink, bytes_max: u64) -> Result<Self, Error> {
        let scratch = dir.join(OPENED);
        match std::fs::remove_dir_all(&scratch) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file("clear", &scratch)(error));
            }
            Ok(()) | Err(_) => {}
        }
        std::fs::create_dir_all(&scratch).map_err(Error::file("make", &scratch))?;
        let store = Store::open(&dir.join(STORE), bytes_max).map_err(Error::Store)?;
        gleaner_data::net::bring::let_go(&store).map_err(Error::Store)?;
        let (open, peers) = (Mutex::default(), OnceCell::new());
        Ok(Self { hub, key, store: Arc::new(store), scratch, open, peers })
    }

    /// What this machine holds of which datasets, the most first.
    pub fn held(&self) -> Vec<Held> {
        let held = self.store.datasets().unwrap_or_default().into_iter().filter(|holding| holding.held_bytes > 0);
        held.take(HELD_MAX).map(|holding| Held { root: holding.root, bytes: holding.held_bytes }).collect()
    }

    /// This machine among others; none if it cannot be reached by any.
    async fn peers(&self) -> Option<&Peers> {
        let asked = self.hub.with(|hub| async move {
            let view = hub.network(None).await?;
            let relay = hub.relay(&view);
            Ok((view, relay))
        });
        let (view, relay) = match asked.await {
            Ok(found) => found,
            Err(failure) => {
                tracing::debug!(%failure, "the hub does not say how other machines are reached");
                return self.peers.get()?.as_ref();
            }
        };
        let relays: Vec<RelayAt> = relay.into_iter().collect();
        let peers = self.peers.get_or_init(|| async {
            match self.join(view, relays.clone()).await {
                Ok(peers) => Some(peers),
                Err(failure) => {
                    tracing::warn!(%failure, "data comes from the hub only: other machines cannot be reached");
                    None
                }
            }
        });
        let peers = peers.await.as_ref()?;
        // A hub that was started again may have its relay elsewhere.
        peers.network.use_relays(&relays).await;
        Some(peers)
    }

    async fn join(&self, view: NetworkView, relays: Vec<RelayAt>) -> Result<Peers, Failure> {
        let has_relay = !relays.is_empty();
        let opened = Network::open_anywhere(self.key.clone(), relays).boxed().await;
        let network = opened.map_err(|error| Failure::new(Cause::DeviceFault, error.to_string()))?;
        if has_relay && tokio::time::timeout(ONLINE_TIME_MAX, network.online()).await.is_err() {
            tracing::warn!("the hub's relay does not answer: machines behind routers may not reach this one");
        }
        let server = Arc::new(Server::start(&network, Arc::clone(&self.store), Authority::new(view.hub)));
        let handing_in = tokio::spawn(claims::hand_in(self.hub.clone(), Arc::clone(&server)));
        Ok(Peers { network, _server: server, handing_in })
    }

    /// The cell of a dataset that is open or being opened.
    fn cell(&self, root: Hash) -> Arc<OnceCell<Arc<Opened>>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, coming| coming.strong_count() > 0);
        if let Some(cell) = open.get(&root).and_then(Weak::upgrade) {
            return cell;
        }
        let cell = Arc::new(OnceCell::new());
        open.insert(root, Arc::downgrade(&cell));
        cell
    }
}
