//! The manifest as a stream that becomes chunks itself.
use std::io::{self, Write};

use super::Error;
use super::shop::{Hand, Shop};
use crate::chunk::ChunkRef;
use crate::index::Found;
use crate::manifest::INLINE_BYTES_MAX;

/// How much of the manifest is gathered before it is cut.
const GATHERED_BYTES: usize = 512 * 1024;

/// Cuts, seals and stores what is written to it.
pub(super) struct Stream<'a, 'b> {
    shop: &'a Shop<'b>,
    hand: Hand,
    gathered: Vec<u8>,
    pub(super) bytes: u64,
    pub(super) chunks: Vec<ChunkRef>,
    failure: Option<Error>,
}

impl<'a, 'b> Stream<'a, 'b> {
    pub(super) fn new(shop: &'a Shop<'b>) -> Result<Self, Error> {
        let (gathered, chunks) = (Vec::new(), Vec::new());
        Ok(Self { shop, hand: shop.hand()?, gathered, bytes: 0, chunks, failure: None })
    }

    /// Stores what is left, unless the manifest is short enough for the root: then that is given back.
    pub(super) fn finish(&mut self) -> Result<Vec<u8>, Error> {
        if self.chunks.is_empty() && self.gathered.len() <= INLINE_BYTES_MAX {
            return Ok(std::mem::take(&mut self.gathered));
        }
        self.cut(true)?;
        Ok(Vec::new())
    }

    /// Why writing failed.
    pub(super) fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    fn cut(&mut self, is_end: bool) -> Result<(), Error> {
        let mut lengths = Vec::new();
        self.shop.cutter.lengths(&self.gathered, is_end, &mut lengths);
        let mut start = 0;
        for length in lengths {
            let chunk = self.chunk(start, length)?;
            self.chunks.push(chunk);
            start += length;
        }
        self.gathered.drain(..start);
        Ok(())
    }

    fn chunk(&mut self, start: usize, length: usize) -> Result<ChunkRef, Error> {
        let plain = &self.gathered[start..start + length];
        let tag = self.shop.keys.tag(plain);
        let found = self.shop.index().find(&tag)?;
        match found {
            Some(Found::Chunk(number)) => Ok(self.shop.index().chunk(number)?),
            Some(Found::Made(_)) | None => self.shop.store_manifest(&mut self.hand, &tag, plain),
        }
    }
}

impl Write for Stream<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gathered.extend_from_slice(bytes);
        self.bytes += bytes.len() as u64;
        if self.gathered.len() >= GATHERED_BYTES
            && let Err(error) = self.cut(false)
        {
            self.failure = Some(error);
            return Err(io::Error::other("a chunk of the manifest cannot be stored"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
