//! A store as the place where chunks go: the list is read as it is needed, what arrives is stored in batches.
use super::storing::{Stored, Storing};
use crate::net::Error;
use crate::net::engine::{Amount, Place, Room, Wish};
use crate::net::serve::blocking;
use crate::store::{Bitmap, Store, Verified};
use gleaner_wire::Hash;
use std::collections::HashSet;
use std::sync::Arc;

/// Chunks that are wanted at a time; the list is read on when half of them are here.
const WINDOW_CHUNKS: usize = 16_384;
const READ_CHUNKS: usize = 4096;

/// A store, and the list of what it is to have.
pub(super) struct Larder<W> {
    store: Arc<Store>,
    /// The list; none when it has been read to its end.
    wishes: Option<W>,
    /// What is wanted or on its way to the disk: a list may name a chunk several times.
    under_way: HashSet<Hash>,
    storing: Storing,
    amount: Amount,
}

impl<W: Iterator<Item = Wish> + Send + 'static> Larder<W> {
    pub(super) fn new(store: Arc<Store>, wishes: W) -> Self {
        let storing = Storing::new(Arc::clone(&store));
        Self { store, wishes: Some(wishes), under_way: HashSet::new(), storing, amount: Amount::default() }
    }

    fn stored(&mut self, stored: &Stored) {
        self.amount.chunks += stored.ids.len() as u64;
        self.amount.bytes += stored.bytes;
        for id in &stored.ids {
            self.under_way.remove(id);
        }
    }

    /// The next of the list, and which of them are in the store.
    async fn read(&mut self, mut wishes: W) -> Result<(Vec<Wish>, Bitmap), Error> {
        let store = Arc::clone(&self.store);
        let read = move || {
            let some: Vec<Wish> = wishes.by_ref().take(READ_CHUNKS).collect();
            let ids: Vec<Hash> = some.iter().map(|wish| wish.blob.id).collect();
            let held = store.has_many(&ids)?;
            Ok((wishes, some, held))
        };
        let (wishes, some, held) = blocking(read).await?;
        self.wishes = (some.len() == READ_CHUNKS).then_some(wishes);
        Ok((some, held))
    }
}

impl<W: Iterator<Item = Wish> + Send + 'static> Place for Larder<W> {
    const MEMORY_BYTES_MAX: usize = 48 * 1024 * 1024;

    async fn more(&mut self, missing: usize) -> Result<Vec<Wish>, Error> {
        let mut more = Vec::new();
        while missing + more.len() < WINDOW_CHUNKS / 2
            && let Some(wishes) = self.wishes.take()
        {
            let (some, held) = self.read(wishes).await?;
            for (number, wish) in some.into_iter().enumerate() {
                if held.contains(number) {
                    self.amount.known += 1;
                } else if self.under_way.insert(wish.blob.id) {
                    more.push(wish);
                }
            }
        }
        Ok(more)
    }

    fn take(&mut self, chunk: Verified, room: Room) {
        self.storing.add(chunk, room);
    }

    async fn changed(&mut self) -> Result<(), Error> {
        let stored = self.storing.next().await?;
        self.stored(&stored);
        Ok(())
    }

    fn settle(&mut self, missing: usize) {
        if missing == 0 && self.wishes.is_none() {
            self.storing.flush();
        } else {
            self.storing.flush_due();
        }
    }

    fn is_done(&self, missing: usize) -> bool {
        missing == 0 && self.wishes.is_none() && self.storing.is_empty()
    }

    fn amount(&self) -> Amount {
        self.amount
    }

    async fn finish(&mut self) -> Result<(), Error> {
        for stored in self.storing.finish().await? {
            self.stored(&stored);
        }
        Ok(())
    }
}
