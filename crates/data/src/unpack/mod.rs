//! From a root and a source of sealed chunks to a folder.
//!
//! The manifest is read as a stream, checked as it is read; files are written by several threads, each from chunks that it
//! opens itself. What is there already as it should be is left alone, so the same call goes on after a crash.
mod cache;
mod chunks;
mod hand;
mod list;
mod piece;
mod plan;
mod read;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

pub use list::{File, extents, list, manifest_chunks};
pub use read::{content, files};

use crate::manifest::{self, Root, Totals};
use crate::port::{PortError, Source};
use crate::seal;
use crate::tree::{self, Case, Target};

/// The most threads that work; more would take more memory than is allowed.
pub const THREADS_MAX: usize = 16;

/// How to unpack.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many threads open chunks and write.
    pub threads: usize,
    /// Whether the disk tells small from capital letters.
    pub case: Case,
    /// The most bytes that the dataset may take; one that declares more is refused.
    pub bytes_max: u64,
}

/// Counters that grow while a dataset is unpacked. Any thread may look at them.
#[derive(Debug, Default)]
pub struct Progress {
    files: AtomicU64,
    present: AtomicU64,
    kept: AtomicU64,
    written: AtomicU64,
    fetched: AtomicU64,
}

/// What the counters say at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files that are done.
    pub files: u64,
    /// Files of these that were there already.
    pub present: u64,
    /// Bytes of files that were not whole, and were there from an earlier try.
    pub kept_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Sealed bytes that the source gave.
    pub fetched_bytes: u64,
}

impl Progress {
    /// What the counters say now.
    pub fn counts(&self) -> Counts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            files: count(&self.files),
            present: count(&self.present),
            kept_bytes: count(&self.kept),
            written_bytes: count(&self.written),
            fetched_bytes: count(&self.fetched),
        }
    }
}

/// Why a dataset cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be written.
    #[error(transparent)]
    Tree(#[from] tree::Error),
    /// The manifest is refused.
    #[error(transparent)]
    Manifest(#[from] manifest::Error),
    /// The source failed.
    #[error("a chunk cannot be fetched")]
    Source(#[source] PortError),
    /// A chunk is not what it should be.
    #[error(transparent)]
    Chunk(#[from] seal::Error),
    /// It is larger than allowed.
    #[error("the dataset takes {bytes} bytes, and only {bytes_max} are allowed here")]
    Large {
        /// What it declares.
        bytes: u64,
        /// What is allowed.
        bytes_max: u64,
    },
    /// It has too many folders that cannot be written into.
    #[error("the dataset is refused: it has more than {0} folders without permission to write")]
    ReadOnlyFolders(usize),
    /// A thread stopped because another one failed.
    #[error("unpacking was stopped")]
    Stopped,
}

/// Unpacks a dataset into a folder, which is made if it is not there.
pub fn unpack(
    root: &Root,
    source: &dyn Source,
    folder: &Path,
    options: Options,
    progress: &Progress,
) -> Result<Totals, Error> {
    let bytes = root.totals.stored_bytes;
    if bytes > options.bytes_max {
        return Err(Error::Large { bytes, bytes_max: options.bytes_max });
    }
    let target = Target::open(folder, options.case)?;
    let threads = options.threads.clamp(1, THREADS_MAX);
    let (jobs, waiting) = sync_channel(2 * threads);
    let (failures, failed) = channel();
    let waiting = Mutex::new(waiting);
    let planned = std::thread::scope(|scope| {
        for _ in 0..threads {
            let (waiting, failures) = (&waiting, failures.clone());
            let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
            scope.spawn(move || hand::work(source, progress, next, &failures));
        }
        drop(failures);
        let planned = plan::run(root, source, target, progress, &jobs, &failed);
        // The hands stop when no more jobs can come.
        drop(jobs);
        planned
    });
    finish(planned, &failed)
}

/// The first failure of a hand says more than that the others were stopped by it.
fn finish(planned: Result<plan::Folders, Error>, failed: &Receiver<Error>) -> Result<Totals, Error> {
    if let Ok(error) = failed.try_recv() {
        return Err(error);
    }
    planned?.close()
}
