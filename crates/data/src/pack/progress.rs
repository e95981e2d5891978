//! How far packing is, for whoever watches.
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that grow while a folder is packed. Any thread may look at them.
#[derive(Debug, Default)]
pub struct Progress {
    files: AtomicU64,
    unchanged: AtomicU64,
    read: AtomicU64,
    known: AtomicU64,
    squeezed: AtomicU64,
    sealed: AtomicU64,
    chunks: AtomicU64,
}

/// What the counters say at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files that are done.
    pub files: u64,
    /// Files of these that were not read, since they did not change.
    pub unchanged: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes of these that were known already.
    pub known_bytes: u64,
    /// Bytes that were not known, after squeezing.
    pub squeezed_bytes: u64,
    /// Bytes that went into the sink.
    pub sealed_bytes: u64,
    /// Chunks that went into the sink.
    pub chunks: u64,
}

impl Progress {
    /// What the counters say now.
    pub fn counts(&self) -> Counts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            files: count(&self.files),
            unchanged: count(&self.unchanged),
            read_bytes: count(&self.read),
            known_bytes: count(&self.known),
            squeezed_bytes: count(&self.squeezed),
            sealed_bytes: count(&self.sealed),
            chunks: count(&self.chunks),
        }
    }

    pub(super) fn file(&self, is_unchanged: bool) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.unchanged.fetch_add(u64::from(is_unchanged), Ordering::Relaxed);
    }

    pub(super) fn read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn known(&self, bytes: u64) {
        self.known.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn sealed(&self, squeezed: u64, sealed: u64) {
        self.squeezed.fetch_add(squeezed, Ordering::Relaxed);
        self.sealed.fetch_add(sealed, Ordering::Relaxed);
        self.chunks.fetch_add(1, Ordering::Relaxed);
    }
}
