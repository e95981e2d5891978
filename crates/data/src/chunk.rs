//! What names a chunk: its sealed bytes, the key that opens them, and the parts of it that files are made of.
use gleaner_wire::{BlobRef, Hash};

use crate::seal::ChunkKey;

/// The smallest chunk that is cut, unless its stream ends.
pub const PLAIN_BYTES_MIN: usize = 16 * 1024;
/// The size that most chunks are close to.
pub const PLAIN_BYTES_AVERAGE: usize = 64 * 1024;
/// The largest chunk.
pub const PLAIN_BYTES_MAX: usize = 256 * 1024;
/// The largest sealed chunk: one byte says how it is squeezed, sixteen prove that it is whole.
pub const SEALED_BYTES_MAX: usize = PLAIN_BYTES_MAX + 1 + 16;

/// A sealed chunk and what opens it. Whoever has this and the sealed bytes can read the chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkRef {
    /// The BLAKE3 hash of the sealed bytes.
    pub id: Hash,
    /// What opens them.
    pub key: ChunkKey,
    /// How many bytes are inside.
    pub plain_bytes: u32,
    /// How many bytes are stored and sent.
    pub sealed_bytes: u32,
}

impl ChunkRef {
    /// The sealed bytes as stores and networks know them.
    pub fn blob(&self) -> BlobRef {
        BlobRef { id: self.id, bytes: u64::from(self.sealed_bytes) }
    }
}

/// A stretch of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Zeros that nobody stored.
    Hole {
        /// How many.
        bytes: u64,
    },
    /// Part of a chunk.
    Data {
        /// Which chunk.
        chunk: ChunkRef,
        /// Where in the chunk it begins.
        offset: u32,
        /// How long it is.
        bytes: u32,
    },
}

impl Extent {
    /// How much of the file it is.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Hole { bytes } => *bytes,
            Self::Data { bytes, .. } => u64::from(*bytes),
        }
    }
}
