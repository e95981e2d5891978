//! Where chunks go.
use super::Wish;
use crate::net::Error;
use crate::store::Verified;
use tokio::sync::OwnedSemaphorePermit;

/// The room that a chunk takes in memory until it is dropped. What was saved from a request that was broken off has none.
pub type Room = Option<OwnedSemaphorePermit>;

/// How much has come to a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Chunks that were not here before.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Chunks that were here when they were looked for.
    pub known: u64,
}

/// Where chunks go, and who wants them.
pub trait Place: Send {
    /// Bytes of chunks that may be in memory before they are taken.
    const MEMORY_BYTES_MAX: usize;

    /// What is wanted from now on, when this many chunks that were wanted before are still missing.
    fn more(&mut self, missing: usize) -> impl Future<Output = Result<Vec<Wish>, Error>> + Send;

    /// Takes a chunk that was wanted.
    fn take(&mut self, chunk: Verified, room: Room);

    /// Waits until something happens at the place itself. May be dropped at any moment without losing anything.
    fn changed(&mut self) -> impl Future<Output = Result<(), Error>> + Send;

    /// Everything that came together was taken, and this many chunks are missing now.
    fn settle(&mut self, missing: usize);

    /// Whether nothing more has to come.
    fn is_done(&self, missing: usize) -> bool;

    /// How much has come.
    fn amount(&self) -> Amount;

    /// Nothing more comes: what was taken is made safe.
    fn finish(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
}
