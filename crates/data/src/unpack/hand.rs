//! A hand: opens chunks and writes files.
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

use super::cache::Cache;
use super::{Error, Progress};
use crate::chunk::{ChunkRef, Extent};
use crate::manifest::{Name, Time};
use crate::port::Source;
use crate::seal::Opener;
use crate::tree::Part;

/// Work for a hand.
pub(super) enum Job {
    /// Write these files.
    Small(Vec<SmallFile>),
    /// Write a piece of a large file.
    Piece { file: Arc<LargeFile>, offset: u64, extents: Vec<Extent> },
}

/// A file that is written at once.
pub(super) struct SmallFile {
    pub(super) parent: Arc<OwnedFd>,
    pub(super) name: Name,
    pub(super) shown: PathBuf,
    pub(super) mode: u32,
    pub(super) changed: Time,
    pub(super) bytes: u64,
    pub(super) extents: Vec<Extent>,
}

/// A file that several hands write; the last one to finish gives it its name.
pub(super) struct LargeFile {
    pub(super) part: Part,
    pub(super) mode: u32,
    pub(super) changed: Time,
    /// How many pieces are not written yet, and one for the plan as long as more may come.
    pub(super) open: AtomicUsize,
}

impl LargeFile {
    /// One piece less; names the file if it was the last.
    pub(super) fn close_piece(&self, progress: &Progress) -> Result<(), Error> {
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.part.finish(self.mode, self.changed)?;
            progress.files.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

struct Hand<'a> {
    source: &'a dyn Source,
    progress: &'a Progress,
    opener: Opener,
    cache: Cache,
}

/// Works until there is nothing left to do. After a failure jobs are only taken, so that the plan notices it.
pub(super) fn work(
    source: &dyn Source,
    progress: &Progress,
    mut next: impl FnMut() -> Option<Job>,
    failures: &Sender<Error>,
) {
    let mut hand = match Opener::new() {
        Ok(opener) => Some(Hand { source, progress, opener, cache: Cache::default() }),
        Err(error) => {
            let _ = failures.send(error.into());
            None
        }
    };
    while let Some(job) = next() {
        if let Some(ready) = &mut hand
            && let Err(error) = ready.perform(job)
        {
            let _ = failures.send(error);
            hand = None;
        }
    }
}

impl Hand<'_> {
    fn perform(&mut self, job: Job) -> Result<(), Error> {
        match job {
            Job::Small(files) => files.into_iter().try_for_each(|file| self.small(file)),
            Job::Piece { file, offset, extents } => {
                self.write(&file.part, offset, &extents)?;
                file.close_piece(self.progress)
            }
        }
    }

    fn small(&mut self, file: SmallFile) -> Result<(), Error> {
        let has_holes = file.extents.iter().any(|extent| matches!(extent, Extent::Hole { .. }));
        let part = Part::begin(file.parent, file.name, file.bytes, has_holes, file.shown)?;
        self.write(&part, 0, &file.extents)?;
        part.finish(file.mode, file.changed)?;
        self.progress.files.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn write(&mut self, part: &Part, mut offset: u64, extents: &[Extent]) -> Result<(), Error> {
        for extent in extents {
            match extent {
                Extent::Hole { .. } => {}
                Extent::Data { chunk, offset: start, bytes } => {
                    let plain = self.plain(chunk)?;
                    // The manifest's reader has checked that an extent lies in its chunk, the opener the chunk's size.
                    part.write(&plain[*start as usize..][..*bytes as usize], offset)?;
                    self.progress.written.fetch_add(u64::from(*bytes), Ordering::Relaxed);
                }
            }
            offset += extent.bytes();
        }
        Ok(())
    }

    fn plain(&mut self, chunk: &ChunkRef) -> Result<Arc<Vec<u8>>, Error> {
        // A hostile manifest may name one chunk with two sizes.
        if let Some(plain) = self.cache.find(chunk.id)
            && plain.len() == chunk.plain_bytes as usize
        {
            return Ok(plain);
        }
        let sealed = self.source.chunk(chunk.blob()).map_err(Error::Source)?;
        self.progress.fetched.fetch_add(sealed.len() as u64, Ordering::Relaxed);
        let plain = self.opener.open(chunk, sealed)?;
        Ok(self.cache.keep(chunk.id, plain))
    }
}
