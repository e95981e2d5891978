//! What keeps a dataset in a store while somebody needs it.
use super::Error;
use crate::manifest::Root;
use crate::net::bring::StoreSource;
use crate::store::{self, Store};
use crate::unpack;
use gleaner_wire::{BlobRef, Hash};
use std::sync::Arc;

/// What the names of owners begin with, so that a restarted machine finds its own.
const PREFIX: &str = "bring ";
/// Chunks that are pinned in one commit.
const PAGE_CHUNKS: usize = 4096;

/// Keeps chunks in a store until it is dropped.
pub(super) struct Pin {
    store: Arc<Store>,
    owner: String,
}

impl Pin {
    pub(super) fn new(store: Arc<Store>, root: &Hash) -> Self {
        // Two who need the same dataset each have their own.
        let number = getrandom::u64().unwrap_or_default();
        Self { store, owner: format!("{PREFIX}{root} {number:016x}") }
    }

    /// Keeps these.
    pub(super) fn add(&self, ids: &[Hash]) -> Result<(), store::Error> {
        self.store.pin(&self.owner, ids).map(|_| ())
    }

    /// Keeps a dataset whose root and manifest are here.
    pub(super) fn add_all(&self, name: BlobRef, root: &Root) -> Result<(), Error> {
        let mut page: Vec<Hash> =
            std::iter::once(name).chain(unpack::manifest_chunks(root)).map(|blob| blob.id).collect();
        let mut failed = None;
        unpack::list(root, &StoreSource(Arc::clone(&self.store)), |blob| {
            page.push(blob.id);
            if page.len() >= PAGE_CHUNKS {
                failed = self.add(&std::mem::take(&mut page)).err();
            }
            failed.is_none()
        })?;
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(self.add(&page)?),
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let (store, owner) = (Arc::clone(&self.store), std::mem::take(&mut self.owner));
        let let_go = move || {
            if let Err(error) = store.unpin(&owner) {
                tracing::warn!(%error, "a dataset stays pinned until the next start");
            }
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(let_go)),
            Err(_) => let_go(),
        }
    }
}

/// Lets go of everything that was kept by a process that is no more. To be called before anything is brought.
pub fn let_go(store: &Store) -> Result<(), store::Error> {
    for (owner, _) in store.owners()? {
        if owner.starts_with(PREFIX) {
            store.unpin(&owner)?;
        }
    }
    Ok(())
}
