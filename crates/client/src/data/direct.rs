//! This machine as a source of what was pushed from it: workers fetch from here what nobody else has, and everything if they
//! are in the same network.
use std::path::PathBuf;
use std::sync::Arc;

use ed25519_dalek::SigningKey;
use gleaner_data::net::{Authority, Carrier, Downlink, Folders, Network, Offer, Server, Swarm, public};
use gleaner_data::resealed::Resealed;
use gleaner_data::seal::{DatasetKey, Keys};
use gleaner_wire::{BlobRef, JobId};
use tokio::task::JoinHandle;

use super::pull::root_of;
use super::{Account, HubData};
use crate::Error;

/// A dataset that was pushed from this machine.
#[derive(Clone, Debug)]
pub struct Local {
    /// The folder or file.
    pub path: PathBuf,
    /// What it became.
    pub root: BlobRef,
    /// What opens it.
    pub key: DatasetKey,
}

impl Local {
    /// What a job reads that was pushed from here.
    pub(super) async fn of_job(hub: &HubData, account: &Account, job: JobId) -> Result<Vec<Self>, Error> {
        let mut locals = Vec::new();
        for view in hub.datasets_of(job).await? {
            let root = view.data.root;
            let Some(path) = account.place_of(&root.id) else { continue };
            let sealed = root_of(hub, root).await?;
            if let Ok(key) = account.keys().dataset_key(&sealed) {
                locals.push(Self { path, root, key });
            }
        }
        Ok(locals)
    }
}

/// Workers are served in the background while this lives.
#[derive(Debug)]
pub(super) struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Serving {
    /// Serves these to those whom the hub grants them; nothing is opened where there are none.
    pub(super) fn start(hub: HubData, keys: Keys, locals: Vec<Local>) -> Option<Self> {
        if locals.is_empty() {
            return None;
        }
        Some(Self(tokio::spawn(async move {
            if let Err(error) = serve(hub, keys, locals).await {
                tracing::debug!(%error, "workers fetch from the hub and each other only");
            }
        })))
    }
}

async fn serve(hub: HubData, keys: Keys, locals: Vec<Local>) -> Result<(), Error> {
    let network = open(&hub).await?;
    let folders = Arc::new(Folders::default());
    let authority = Authority::new(hub.network(None).await?.hub);
    let _server = Server::start(&network, Arc::clone(&folders), authority);
    let swarm = Swarm { network, hub: (**hub.cache()).clone() };
    let mut offers = Vec::new();
    for local in locals {
        let root = local.root.id;
        match reseal(&hub, &keys, local).await {
            Ok(folder) => {
                folders.add(Arc::new(folder));
                offers.push(Offer::start(swarm.clone(), Arc::clone(&folders), root));
            }
            Err(error) => tracing::debug!(%root, %error, "a dataset cannot be offered from here"),
        }
    }
    std::future::pending().await
}

/// A key of its own for each process: several may run at once, and each has its own address.
async fn open(hub: &HubData) -> Result<Network, Error> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| Error::unreachable(hub.url(), std::io::Error::other(error)))?;
    let key = SigningKey::from_bytes(&secret);
    let view = hub.network(Some(public(&key))).await?;
    let opened = Network::open_anywhere(key, hub.relay(&view).into_iter().collect()).await;
    opened.map_err(|error| Error::unreachable(hub.url(), error))
}

async fn reseal(hub: &HubData, keys: &Keys, local: Local) -> Result<Resealed, Error> {
    let (downlink, _control) = Downlink::open(vec![Arc::clone(hub.cache()) as Arc<dyn Carrier>]);
    let keys = keys.clone();
    let Local { path, root, key } = local;
    let opening = tokio::task::spawn_blocking(move || Resealed::open(&path, &keys, root, &key, &downlink));
    let opened = opening.await.map_err(|_| Error::answer(hub.url(), "a list that cannot be read"))?;
    opened.map_err(|error| Error::Fetch { what: root.id, source: Box::new(error) })
}
