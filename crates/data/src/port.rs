//! Where sealed chunks go and come from. Stores and networks implement these; nothing here knows them.
use gleaner_wire::BlobRef;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a store or network says when it fails.
pub type PortError = Box<dyn std::error::Error + Send + Sync>;

/// Takes sealed chunks. Several threads call it at once.
pub trait Sink: Sync {
    /// Takes a sealed chunk. The same chunk may come twice.
    fn put(&self, blob: BlobRef, sealed: Vec<u8>) -> Result<(), PortError>;

    /// Takes a sealed chunk of the manifest, which says what files are made of.
    fn put_manifest(&self, blob: BlobRef, sealed: Vec<u8>) -> Result<(), PortError> {
        self.put(blob, sealed)
    }

    /// Returns when everything that was put survives a crash. Only then are those chunks remembered as known.
    fn flush(&self) -> Result<(), PortError>;

    /// Marks this moment: what was put before survives a crash once the mark is reached. Need not wait for that.
    fn mark(&self) -> Result<Mark, PortError> {
        self.flush()?;
        let mark = Mark::default();
        mark.reach();
        Ok(mark)
    }

    /// Bytes a second that go on from here, if that is less than what comes; none where nothing has to wait.
    fn bottleneck(&self) -> Option<u64> {
        None
    }
}

/// A moment in what is put into a sink. Clones are the same moment.
#[derive(Clone, Debug, Default)]
pub struct Mark(Arc<AtomicBool>);

impl Mark {
    /// Everything before it is safe from now on.
    pub fn reach(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether everything before it is safe.
    pub fn is_reached(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Gives sealed chunks. Several threads call it at once.
pub trait Source: Sync {
    /// The sealed bytes of a chunk. They need not be checked: what is not as it was sealed does not open.
    fn chunk(&self, blob: BlobRef) -> Result<Vec<u8>, PortError>;

    /// Says which chunks will be asked for soon.
    fn ahead(&self, blobs: &[BlobRef]) {
        let _ = blobs;
    }
}
