//! From a folder to sealed chunks and a root.
//!
//! ```text
//! reader ── jobs ──▶ hands ── done, in any order ──▶ collector ──▶ manifest, index
//!   │  walks, reads        │ tag, match, squeeze,        puts them in order
//!   │  large files, cuts   │ seal, put into the sink          │
//!   ▲──────────────────────┴──── buffers, used again ─────────┘
//! ```
//!
//! There are a few buffers, and nothing moves without one: so memory stays the same however large the folder and
//! however slow the sink. Files that did not change are not read. The order of entries is that of the walk.
mod collect;
mod effort;
mod job;
mod known;
mod listing;
mod mend;
mod old;
mod progress;
mod reader;
mod shop;
mod stream;

use std::path::Path;
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Mutex, PoisonError};

pub use listing::Listing;
pub use progress::{Counts, Progress};

use crate::cut::Batch;
use crate::index::{self, Index};
use crate::manifest::{self, Root, SealedRoot};
use crate::port::{PortError, Sink};
use crate::seal::Keys;
use crate::squeeze::Level;
use crate::tree::{self, Notice, Walk};

/// The most threads that work; more would take more memory than is allowed.
pub const THREADS_MAX: usize = 16;

/// How to pack.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many threads hash, squeeze and seal.
    pub threads: usize,
    /// How hard to squeeze, or not at all.
    pub level: Option<Level>,
    /// Whether that is only how to begin; see [`crate::squeeze::policy`].
    pub adapt: bool,
    /// Whether files are read even if they look unchanged.
    pub checksum: bool,
}

/// A packed dataset.
#[derive(Debug)]
pub struct Packed {
    /// What it amounts to, and where its manifest is.
    pub root: Root,
    /// The root, sealed; not yet in the sink.
    pub sealed: SealedRoot,
    /// What the owner should know: files that kept changing, or were left out.
    pub notices: Vec<Notice>,
    /// The names of all its chunks, without the root.
    pub listing: Listing,
    /// How hard was squeezed in the end.
    pub level: Option<Level>,
}

/// Why a folder cannot be packed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be read.
    #[error(transparent)]
    Tree(#[from] tree::Error),
    /// The index failed.
    #[error(transparent)]
    Index(#[from] index::Error),
    /// The manifest cannot be written.
    #[error(transparent)]
    Manifest(#[from] manifest::Error),
    /// The sink failed.
    #[error("a chunk cannot be stored")]
    Sink(#[source] PortError),
    /// The compressor cannot be set up.
    #[error("the compressor cannot be set up")]
    Squeezer(#[source] std::io::Error),
    /// The list of its chunks cannot be written.
    #[error("the list of chunks cannot be written: is there room for temporary files?")]
    Listing(#[source] std::io::Error),
    /// A thread stopped because another one failed.
    #[error("packing was stopped")]
    Stopped,
}

/// Packs a folder, or a single file. New chunks go into the sink; what the index knows is not sent again.
pub fn pack(
    folder: &Path,
    keys: &Keys,
    index: &mut Index,
    sink: &dyn Sink,
    options: Options,
    progress: &Progress,
) -> Result<Packed, Error> {
    let walk = Walk::new(folder)?;
    // However the folder is called this time, it is the same one.
    let whole = std::fs::canonicalize(folder);
    let whole = whole.map_err(|source| tree::Error::File { doing: "find", path: folder.to_owned(), source })?;
    let dataset = index.dataset(std::os::unix::ffi::OsStrExt::as_bytes(whole.as_os_str()))?;
    let threads = options.threads.clamp(1, THREADS_MAX);
    let effort = effort::Effort::new(options.level, options.adapt, threads);
    let shop = shop::Shop::new(keys, index, sink, effort, progress);
    let buffers = 2 * threads + 2;

    let (windows, planned) = sync_channel(1);
    let (jobs, waiting) = sync_channel(threads);
    let (done, results) = channel();
    let (spare, empty) = sync_channel(buffers);
    for _ in 0..buffers {
        spare.send(Batch::default()).map_err(|_| Error::Stopped)?;
    }
    let waiting = Mutex::new(waiting);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (shop, waiting, done) = (&shop, &waiting, done.clone());
            let top = walk.top().to_owned();
            scope.spawn(move || {
                let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
                job::work(shop, &top, next, &done);
            });
        }
        let ports = reader::Ports { windows, jobs, done, empty };
        let shop = &shop;
        let reading = scope.spawn(move || reader::read(shop, walk, dataset, options, ports));
        let mut collector = collect::Collector::new(shop, dataset, folder)?;
        let collected = collector.run(planned, results, spare);
        let read = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match (collected, read) {
            (Err(Error::Stopped), Err(error)) | (Err(error), _) | (Ok(()), Err(error)) => Err(error),
            (Ok(()), Ok(notices)) => collector.finish(notices),
        }
    })
}
