//! The names of all chunks of a dataset, on disk: whoever keeps it has to know what belongs together.
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use gleaner_wire::Hash;

use crate::chunk::ChunkRef;

/// The names of all chunks of a dataset, 32 bytes each; one may be there twice.
#[derive(Debug)]
pub struct Listing {
    /// The file, from its start.
    pub file: File,
    /// How many are listed.
    pub chunks: u64,
    /// The bytes of those chunks.
    pub bytes: u64,
}

/// Writes a listing. Names are kept out of memory, so it may be as long as it likes.
pub(super) struct Lister {
    to: BufWriter<File>,
    chunks: u64,
    bytes: u64,
}

impl Lister {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { to: BufWriter::with_capacity(128 * 1024, tempfile::tempfile()?), chunks: 0, bytes: 0 })
    }

    pub(super) fn add(&mut self, chunk: &ChunkRef) -> io::Result<()> {
        self.add_named(chunk.id, u64::from(chunk.sealed_bytes))
    }

    pub(super) fn add_named(&mut self, id: Hash, bytes: u64) -> io::Result<()> {
        self.chunks += 1;
        self.bytes += bytes;
        self.to.write_all(&id.0)
    }

    pub(super) fn finish(self) -> io::Result<Listing> {
        let mut file = self.to.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Listing { file, chunks: self.chunks, bytes: self.bytes })
    }
}
