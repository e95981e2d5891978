//! Where sealed chunks go and come from. Stores and networks implement these; nothing here knows them.
use gleaner_wire::BlobRef;

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
