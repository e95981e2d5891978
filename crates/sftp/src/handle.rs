//! What a client has open, bounded for each connection.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use rustix::fs::Dir;

use crate::change::Writing;
use crate::refusal::Refusal;

/// The most files and folders that one connection has open at a time.
pub(crate) const HANDLES_MAX: usize = 100;

/// Something open.
#[derive(Debug)]
pub(crate) enum Open {
    File(File),
    Listing(Dir),
}

/// An open file.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) fd: OwnedFd,
    /// Writes go to the end, whatever offset they name.
    pub(crate) is_appended: bool,
    /// Present if it is open for writing.
    pub(crate) writing: Option<Writing>,
}

/// How many handles a connection has, over all its channels.
pub(crate) type Count = Arc<AtomicUsize>;

/// The handles of one channel.
#[derive(Debug)]
pub(crate) struct Handles {
    open: BTreeMap<u64, (Place, Open)>,
    next: u64,
    count: Count,
}

impl Handles {
    pub(crate) fn new(count: Count) -> Self {
        Self { open: BTreeMap::new(), next: 0, count }
    }

    /// Takes a place for one more handle, before anything is opened for it.
    pub(crate) fn reserve(&self) -> Result<Place, Refusal> {
        let place = Place(Arc::clone(&self.count));
        if self.count.fetch_add(1, Ordering::Relaxed) < HANDLES_MAX {
            return Ok(place);
        }
        Err(Refusal::failed("too many files are open on this connection"))
    }

    pub(crate) fn insert(&mut self, place: Place, open: Open) -> u64 {
        let handle = self.next;
        self.next += 1;
        self.open.insert(handle, (place, open));
        handle
    }

    pub(crate) fn close(&mut self, handle: &Bytes) -> Result<Open, Refusal> {
        let closed = number(handle).and_then(|handle| self.open.remove(&handle));
        closed.map(|(_, open)| open).ok_or_else(Refusal::bad_handle)
    }

    pub(crate) fn file(&self, handle: &Bytes) -> Result<&File, Refusal> {
        match number(handle).and_then(|handle| self.open.get(&handle)) {
            Some((_, Open::File(file))) => Ok(file),
            Some((_, Open::Listing(_))) | None => Err(Refusal::bad_handle()),
        }
    }

    pub(crate) fn listing(&mut self, handle: &Bytes) -> Result<&mut Dir, Refusal> {
        match number(handle).and_then(|handle| self.open.get_mut(&handle)) {
            Some((_, Open::Listing(listing))) => Ok(listing),
            Some((_, Open::File(_))) | None => Err(Refusal::bad_handle()),
        }
    }
}

/// The right to one handle, given back when it is closed.
#[derive(Debug)]
pub(crate) struct Place(Count);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn number(handle: &Bytes) -> Option<u64> {
    Some(u64::from_be_bytes(handle[..].try_into().ok()?))
}
