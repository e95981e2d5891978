//! Datasets, from wherever they are to a scratch folder.
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use gleaner_client::data::{HubData, root_of, root_within};
use gleaner_data::manifest::Root;
use gleaner_data::net::bring::{self, Bring, Dataset, StoreSource};
use gleaner_data::net::schedule::{Holds, Role};
use gleaner_data::net::{Carrier, Downlink, Swarm, Update};
use gleaner_data::seal::{DatasetKey, Keys};
use gleaner_data::store::Verify;
use gleaner_data::tree::Case;
use gleaner_data::{Source, unpack};
use gleaner_wire::{BlobRef, Cause, DataRef, Extent, Output};

use super::keys::place;
use super::{Depot, Opened};
use crate::content::Content;
use crate::failure::Failure;

/// Datasets up to this size come straight from the hub: to share them would cost more than it saves.
const SMALL_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// How often a dataset is tried to be fetched.
const TRIES_MAX: u32 = 5;
const THREADS: usize = 2;
/// How long the hub alone is waited for: then others are asked too.
const STRAIGHT_PATIENCE: Duration = Duration::from_secs(3);

impl Depot {
    /// A dataset, in the open. Whoever asks for one that is open gets the same.
    pub async fn dataset(&self, data: DataRef, key: &DatasetKey) -> Result<Arc<Opened>, Failure> {
        let cell = self.cell(data.root.id);
        let opened = cell.get_or_try_init(|| async {
            if data.bytes <= SMALL_BYTES_MAX
                && let Some(opened) = self.small(data.root, key).await?
            {
                return Ok(opened);
            }
            self.together(Dataset { root: data.root, key: key.clone() }).await
        });
        opened.await.cloned()
    }

    /// The only file of a dataset, read into memory.
    pub async fn read_file(&self, data: DataRef, key: &DatasetKey, bytes_max: u64) -> Result<Vec<u8>, Failure> {
        let file = self.dataset(data, key).await?.file().map_err(|error| bad(&error))?;
        if file.bytes() > bytes_max {
            return Err(Failure::new(
                Cause::BadInput,
                format!("{} bytes are over the limit of {bytes_max}", file.bytes()),
            ));
        }
        tokio::fs::read(file.path()).await.map_err(|error| disk(&error))
    }

    /// The output of an element of another task. `index` is that of the element that reads it.
    pub async fn output(&self, output: Output, keys: &Keys, extent: &Extent, index: u32) -> Result<Content, Failure> {
        let (at, is_file) = match output {
            Output::Inline { .. } => return Self::inline(output, keys, extent, index),
            Output::File(root) => (root, true),
            Output::Files(root) => (root, false),
        };
        let cell = self.cell(at.id);
        let opened = cell.get_or_try_init(|| async {
            let sealed = self.root(at).await?;
            let key = keys.dataset_key(&sealed).map_err(|error| bad(&error))?;
            let opened = root(&key, sealed)?;
            if opened.totals.stored_bytes <= SMALL_BYTES_MAX
                && let Some(opened) = self.straight(opened).await?
            {
                return Ok(opened);
            }
            self.together(Dataset { root: at, key }).await
        });
        let opened = opened.await?;
        if is_file {
            return opened.file().map(|file| Content::File(Arc::new(file))).map_err(|error| bad(&error));
        }
        opened.content().map_err(|error| bad(&error))
    }

    /// A short output; its place is that of the same element, or the first where there is only one.
    pub fn inline(output: Output, keys: &Keys, extent: &Extent, index: u32) -> Result<Content, Failure> {
        let sealed = output.content().unwrap_or_default();
        let opened =
            keys.open_short(place(extent, index), sealed).or_else(|_| keys.open_short(place(extent, 0), sealed));
        let opened = opened.map_err(|error| bad(&error))?;
        let long = || Failure::new(Cause::BadInput, "an output is too long");
        Output::inline(&opened).map(Content::Bytes).ok_or_else(long)
    }

    /// A sealed root, which may be here already.
    async fn root(&self, root: BlobRef) -> Result<Vec<u8>, Failure> {
        if let Ok(Some(sealed)) = self.store.get(&root.id, Verify::Here) {
            return Ok(sealed.to_vec());
        }
        self.hub.with(|hub| async move { root_of(&hub, root).await }).await
    }

    /// A small dataset, straight from the hub; nothing if it does not come from there, and others may have it.
    async fn small(&self, at: BlobRef, key: &DatasetKey) -> Result<Option<Arc<Opened>>, Failure> {
        let hub = self.hub.connected().await?;
        let sealed = match self.store.get(&at.id, Verify::Here) {
            Ok(Some(sealed)) => sealed.to_vec(),
            Ok(None) | Err(_) => match root_within(&hub, at, STRAIGHT_PATIENCE).await {
                Ok(sealed) => sealed,
                Err(error) => {
                    tracing::debug!(%error, "the hub does not give the root of a dataset");
                    return Ok(None);
                }
            },
        };
        self.straight(root(key, sealed)?).await
    }

    /// Unpacks a small dataset as it comes from the hub; nothing if it does not come from there.
    async fn straight(&self, root: Root) -> Result<Option<Arc<Opened>>, Failure> {
        let hub = self.hub.connected().await?;
        let (downlink, _control) =
            Downlink::with_patience(vec![Arc::clone(hub.cache()) as Arc<dyn Carrier>], STRAIGHT_PATIENCE);
        match self.unpack(Arc::new(root), downlink).await {
            Err(failure) if failure.cause == Cause::HubFault => {
                tracing::debug!(%failure, "the hub does not give all of a dataset");
                Ok(None)
            }
            opened => opened.map(Some),
        }
    }

    /// Brings a dataset into the store, together with others who fetch it, and unpacks it.
    async fn together(&self, dataset: Dataset) -> Result<Arc<Opened>, Failure> {
        let mut tried = 0;
        loop {
            let hub = self.hub.connected().await?;
            match self.bring(&hub, dataset.clone()).await {
                Ok(brought) => {
                    let source = StoreSource(Arc::clone(&self.store));
                    let opened = self.unpack(Arc::clone(&brought.root), source).await;
                    // It stays for others to fetch for as long as the task's data is open here.
                    return opened.map(|opened| opened.seeding(brought));
                }
                Err(failure) if failure.cause == Cause::HubFault && tried < TRIES_MAX => tried += 1,
                Err(failure) => return Err(failure),
            }
        }
    }

    async fn bring(&self, hub: &HubData, dataset: Dataset) -> Result<bring::Brought, Failure> {
        let me = gleaner_data::net::public(&self.key);
        let (mut bringing, control) = Bring::new(Arc::clone(&self.store), me, dataset);
        if let Some(peers) = self.peers().await {
            bringing = bringing.in_swarm(Swarm { network: peers.network.clone(), hub: (**hub.cache()).clone() });
        }
        let carrier = Arc::clone(hub.cache()) as Arc<dyn Carrier>;
        control.tell(Update::Joined { carrier, role: Role::Origin, holds: Holds::All }).await;
        // In a box: its state is large, and those around it have theirs.
        bringing.run().boxed().await.map_err(|error| blame(&error))
    }

    async fn unpack(&self, root: Arc<Root>, source: impl Source + Send + 'static) -> Result<Arc<Opened>, Failure> {
        let opened = Arc::new(Opened::new(&self.scratch).map_err(|error| disk(&error))?);
        let (folder, room) = (Arc::clone(&opened), crate::doctor::free_bytes(&self.scratch));
        let bytes_max = room.map_err(|error| disk(&error))? / 10 * 9;
        let unpacking = tokio::task::spawn_blocking(move || {
            let options = unpack::Options { threads: THREADS, case: Case::Unknown, bytes_max };
            unpack(&root, &source, folder.path(), options, &unpack::Progress::default()).map_err(|error| refuse(&error))
        });
        let died = |_| Err(Failure::new(Cause::DeviceFault, "a dataset could not be opened"));
        unpacking.await.unwrap_or_else(died).map(|_| opened)
    }
}

fn root(key: &DatasetKey, sealed: Vec<u8>) -> Result<Root, Failure> {
    Root::open(key, sealed).map_err(|error| bad(&error))
}

fn words(error: &dyn std::error::Error) -> String {
    let (mut text, mut deeper) = (error.to_string(), error.source());
    while let Some(cause) = deeper {
        text = format!("{text}: {cause}");
        deeper = cause.source();
    }
    text
}

fn bad(error: &dyn std::error::Error) -> Failure {
    Failure::new(Cause::BadInput, format!("an input cannot be opened: {}", words(error)))
}

fn disk(error: &std::io::Error) -> Failure {
    Failure::new(Cause::DeviceFault, format!("the worker's disk does not do what it should: {error}"))
}

fn blame(error: &bring::Error) -> Failure {
    let cause = match error {
        bring::Error::Net(gleaner_data::net::Error::Store(_)) => Cause::RefusedByOwner,
        bring::Error::Net(_) => Cause::HubFault,
        bring::Error::Root(_) | bring::Error::Manifest(_) => Cause::BadInput,
    };
    Failure::new(cause, format!("an input cannot be fetched: {}", words(error)))
}

fn refuse(error: &unpack::Error) -> Failure {
    let cause = match error {
        unpack::Error::Tree(_) => Cause::DeviceFault,
        unpack::Error::Source(_) | unpack::Error::Stopped => Cause::HubFault,
        unpack::Error::Large { .. } => Cause::RefusedByOwner,
        unpack::Error::Manifest(_) | unpack::Error::Chunk(_) | unpack::Error::ReadOnlyFolders(_) => Cause::BadInput,
    };
    Failure::new(cause, format!("an input cannot be opened: {}", words(error)))
}
