//! The list of a dataset, read as it is needed: its root, the chunks of its manifest, the chunks of its files.
use super::Error;
use crate::manifest::Root;
use crate::net::Wish;
use crate::port::{PortError, Source};
use crate::store::{Store, Verify};
use crate::unpack;
use gleaner_wire::BlobRef;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Chunks that are handed over together, and pages that wait.
const PAGE_CHUNKS: usize = 1024;
const PAGES: usize = 4;

/// A store as a source: for a dataset that is all there.
#[derive(Clone)]
pub struct StoreSource(pub Arc<Store>);

/// A chunk that should be in the store and is not.
#[derive(Debug, thiserror::Error)]
#[error("chunk {} is not in the store of this machine any more: fetch the dataset again", .0.id)]
struct Gone(BlobRef);

impl Source for StoreSource {
    fn chunk(&self, blob: BlobRef) -> Result<Vec<u8>, PortError> {
        // Whoever opens a chunk notices if it is something else.
        let found = self.0.get(&blob.id, Verify::ByReceiver)?;
        Ok(Vec::from(found.ok_or(Gone(blob))?))
    }
}

/// Why a list was not read to its end; known once it has ended.
#[derive(Clone, Default)]
pub(super) struct Failure(Arc<Mutex<Option<unpack::Error>>>);

impl Failure {
    fn set(&self, error: unpack::Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Fails if the list has not been read to its end.
    pub(super) fn take(&self) -> Result<(), Error> {
        let failed = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        failed.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// The list of a dataset whose root and manifest are in a store.
pub(super) struct Listed {
    pages: Receiver<Vec<BlobRef>>,
    page: std::vec::IntoIter<BlobRef>,
    position: u32,
    failure: Failure,
}

impl Listed {
    pub(super) fn read(store: &Arc<Store>, name: BlobRef, root: &Arc<Root>) -> Self {
        let (to, pages) = sync_channel(PAGES);
        let (source, root, failure) = (StoreSource(Arc::clone(store)), Arc::clone(root), Failure::default());
        let failed = failure.clone();
        // A thread of its own, because the reader of a manifest borrows what it reads from.
        std::thread::spawn(move || {
            let mut page = vec![name];
            page.extend(unpack::manifest_chunks(&root));
            let outcome = unpack::list(&root, &source, |blob| {
                page.push(blob);
                page.len() < PAGE_CHUNKS || to.send(std::mem::take(&mut page)).is_ok()
            });
            match outcome {
                // Whoever has read enough does not hear the rest.
                Ok(()) => drop(to.send(page)),
                Err(error) => failed.set(error),
            }
        });
        Self { pages, page: Vec::new().into_iter(), position: 0, failure }
    }

    /// Where it says why it ended, if it did not end well.
    pub(super) fn failure(&self) -> Failure {
        self.failure.clone()
    }
}

impl Iterator for Listed {
    type Item = Wish;

    fn next(&mut self) -> Option<Wish> {
        loop {
            if let Some(blob) = self.page.next() {
                let position = self.position;
                self.position += 1;
                return Some(Wish { position, blob });
            }
            self.page = self.pages.recv().ok()?.into_iter();
        }
    }
}

/// Remembers the list of a dataset, for holdings and for those who fetch the same. A list that cannot be read to its
/// end is forgotten again.
pub(super) fn remember(store: &Arc<Store>, name: BlobRef, root: &Arc<Root>) -> Result<(), Error> {
    let listed = Listed::read(store, name, root);
    let failure = listed.failure();
    store.remember(name.id, listed.map(|wish| wish.blob.id))?;
    let failed = failure.take();
    if failed.is_err() {
        store.forget(&name.id)?;
    }
    failed
}
