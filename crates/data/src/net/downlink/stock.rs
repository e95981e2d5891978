//! The shelf of a downlink as the place where chunks go.
use super::Shared;
use crate::net::Error;
use crate::net::engine::{Amount, Place, Room, Wish};
use crate::store::Verified;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What the shelf wants is fetched, what comes is put there.
pub(super) struct Stock {
    shared: Arc<Shared>,
    amount: Amount,
}

impl Stock {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, amount: Amount::default() }
    }
}

impl Place for Stock {
    /// The shelf wants no more than it has room for, so nothing has to wait for room.
    const MEMORY_BYTES_MAX: usize = Semaphore::MAX_PERMITS;

    async fn more(&mut self, _: usize) -> Result<Vec<Wish>, Error> {
        Ok(self.shared.shelf().wanted())
    }

    fn take(&mut self, chunk: Verified, _: Room) {
        let blob = chunk.blob();
        self.amount.chunks += 1;
        self.amount.bytes += blob.bytes;
        self.shared.shelf().arrived(&blob.id, chunk.bytes().clone());
        self.shared.came.notify_all();
    }

    async fn changed(&mut self) -> Result<(), Error> {
        self.shared.asked.notified().await;
        Ok(())
    }

    fn settle(&mut self, _: usize) {}

    /// More may always be asked for.
    fn is_done(&self, _: usize) -> bool {
        false
    }

    fn amount(&self) -> Amount {
        self.amount
    }

    async fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
