//! The manifest of a root, as a stream of bytes out of its chunks.
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::atomic::Ordering;

use super::{Error, Progress};
use crate::chunk::ChunkRef;
use crate::manifest::Root;
use crate::port::Source;
use crate::seal::Opener;

/// How many chunks are asked for ahead.
const AHEAD: usize = 16;

pub(super) struct Chunks<'a> {
    left: VecDeque<&'a ChunkRef>,
    source: &'a dyn Source,
    progress: &'a Progress,
    opener: Opener,
    open: Vec<u8>,
    at: usize,
    failure: Option<Error>,
}

impl<'a> Chunks<'a> {
    pub(super) fn new(root: &'a Root, source: &'a dyn Source, progress: &'a Progress) -> Result<Self, Error> {
        let left: VecDeque<_> = root.chunks.iter().collect();
        source.ahead(&root.chunks.iter().take(AHEAD).map(ChunkRef::blob).collect::<Vec<_>>());
        let open = root.manifest.clone();
        Ok(Self { left, source, progress, opener: Opener::new()?, open, at: 0, failure: None })
    }

    /// Why reading failed.
    pub(super) fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    fn refill(&mut self) -> Result<(), Error> {
        let Some(chunk) = self.left.pop_front() else { return Ok(()) };
        if let Some(ahead) = self.left.get(AHEAD) {
            self.source.ahead(&[ahead.blob()]);
        }
        let sealed = self.source.chunk(chunk.blob()).map_err(Error::Source)?;
        self.progress.fetched.fetch_add(sealed.len() as u64, Ordering::Relaxed);
        self.open = self.opener.open(chunk, sealed)?;
        self.at = 0;
        Ok(())
    }
}

impl Read for Chunks<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.at == self.open.len()
            && let Err(error) = self.refill()
        {
            self.failure = Some(error);
            return Err(io::Error::other("a chunk of the manifest cannot be read"));
        }
        let count = to.len().min(self.open.len() - self.at);
        to[..count].copy_from_slice(&self.open[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
