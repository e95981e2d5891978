//! A hand: opens chunks and writes files.
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

use super::cache::Cache;
use super::piece::Piece;
use super::{Error, Progress};
use crate::chunk::{ChunkRef, Extent};
use crate::manifest::{Name, Time};
use crate::port::Source;
use crate::seal::Opener;
use crate::tree::{Keeps, Part};

/// Work for a hand.
pub(super) enum Job {
    /// Write these files.
    Small(Vec<SmallFile>),
    /// Write a piece of a large file, unless it is written.
    Piece(Piece),
}

/// A file that is written at once.
pub(super) struct SmallFile {
    pub(super) parent: Arc<OwnedFd>,
    pub(super) name: Name,
    pub(super) shown: PathBuf,
    pub(super) mode: u32,
    pub(super) changed: Time,
    pub(super) keeps: Keeps,
    pub(super) bytes: u64,
    pub(super) extents: Vec<Extent>,
}

/// A file that several hands write; the last one to finish gives it its name.
pub(super) struct LargeFile {
    pub(super) part: Part,
    pub(super) mode: u32,
    pub(super) changed: Time,
    pub(super) keeps: Keeps,
    /// How many pieces are not written yet, and one for the plan as long as more may come.
    pub(super) open: AtomicUsize,
}

impl LargeFile {
    /// One piece less; names the file if it was the last.
    pub(super) fn close_piece(&self, progress: &Progress) -> Result<(), Error> {
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.part.finish(self.mode, self.changed, self.keeps)?;
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
            Job::Piece(piece) => self.piece(&piece),
        }
    }

    fn piece(&mut self, piece: &Piece) -> Result<(), Error> {
        match piece.kept() {
            Some(bytes) => {
                self.progress.kept.fetch_add(bytes, Ordering::Relaxed);
            }
            None => {
                let mut hasher = blake3::Hasher::new();
                self.write(&piece.file.part, piece.offset, &piece.extents, |bytes| {
                    hasher.update(bytes);
                })?;
                piece.note(&hasher)?;
            }
        }
        piece.file.close_piece(self.progress)
    }

    fn small(&mut self, file: SmallFile) -> Result<(), Error> {
        let has_holes = file.extents.iter().any(|extent| matches!(extent, Extent::Hole { .. }));
        let part = Part::begin(file.parent, file.name, file.bytes, has_holes, file.shown)?;
        self.write(&part, 0, &file.extents, |_| {})?;
        part.finish(file.mode, file.changed, file.keeps)?;
        self.progress.files.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn write(
        &mut self,
        part: &Part,
        mut offset: u64,
        extents: &[Extent],
        mut seen: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        for extent in extents {
            match extent {
                Extent::Hole { .. } => {}
                Extent::Data { chunk, offset: start, bytes } => {
                    let plain = self.plain(chunk)?;
                    // The manifest's reader has checked that an extent lies in its chunk, the opener the chunk's size.
                    let bytes_here = &plain[*start as usize..][..*bytes as usize];
                    part.write(bytes_here, offset)?;
                    seen(bytes_here);
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
