//! What the reader asks of the hands, and what comes back.
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::old::OldFile;
use super::shop::{Hand, Shop};
use super::{Error, tree};
use crate::cut::Batch;
use crate::delta::Grain;
use crate::index::{Reel, Span, Stamp};
use crate::tree::{Content, read_small};

/// A file that has grown beyond this since the walk is cut off and reported.
const GROWN_BYTES_MAX: usize = 64 * 1024;

/// Work for a hand.
pub(super) enum Job {
    /// Read these files and make them one stream.
    Bundle { files: Vec<Small>, batch: Batch },
    /// These are chunks of a large file, which was something else before.
    Piece { batch: Batch, old: Option<Arc<OldFile>>, offset: u64, grain: Grain },
}

/// A small file to be read.
pub(super) struct Small {
    pub(super) path: Vec<u8>,
    pub(super) stamp: Stamp,
}

/// What is done.
pub(super) enum Done {
    /// A bundle; files that have vanished are none.
    Bundle { files: Vec<Option<SmallDone>>, batch: Batch },
    /// Part of a large file.
    Piece { spans: Vec<Span>, batch: Batch },
    /// A hole in a large file.
    Hole { bytes: u64 },
    /// The end of a large file, which has to be read again if it changed.
    End { content: Content, is_again: bool },
    /// A large file has vanished.
    Gone,
}

/// A small file that was read.
pub(super) struct SmallDone {
    pub(super) content: Content,
    pub(super) bytes: u64,
    pub(super) spans: Vec<Span>,
}

/// Something done, with its number in the order of the jobs.
pub(super) type Numbered = (u64, Result<Done, Error>);

/// Works until there is nothing left to do, or nobody left to do it for.
pub(super) fn work(shop: &Shop<'_>, top: &Path, mut next: impl FnMut() -> Option<(u64, Job)>, done: &Sender<Numbered>) {
    let mut ready = ready(shop, top);
    let mut is_heard = true;
    while let Some((number, job)) = next() {
        if !is_heard {
            // The reader must find its jobs taken until it has noticed too.
            continue;
        }
        let result = match &mut ready {
            Ok((hand, folder)) => shop.measured(hand, |hand| perform(shop, hand, folder, top, job)),
            Err(_) => std::mem::replace(&mut ready, Err(Error::Stopped)).map(|_| Done::Gone),
        };
        is_heard = done.send((number, result)).is_ok();
    }
}

fn ready(shop: &Shop<'_>, top: &Path) -> Result<(Hand, OwnedFd), Error> {
    Ok((shop.hand()?, open_top(top)?))
}

pub(super) fn open_top(top: &Path) -> Result<OwnedFd, Error> {
    let opened = openat(CWD, top, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    Ok(opened.map_err(|error| tree::Error::at("read", top, 0, error))?)
}

fn perform(shop: &Shop<'_>, hand: &mut Hand, folder: &OwnedFd, top: &Path, job: Job) -> Result<Done, Error> {
    match job {
        Job::Bundle { files, batch } => {
            hand.grain = Grain::Fine;
            bundle(shop, hand, folder, top, files, batch)
        }
        Job::Piece { batch, old, offset, grain } => {
            hand.grain = grain;
            read(shop, hand, &batch);
            let spans = shop.spans(hand, &batch, old.as_deref().map(|old| (old, offset)))?;
            Ok(Done::Piece { spans, batch })
        }
    }
}

fn read(shop: &Shop<'_>, hand: &mut Hand, batch: &Batch) {
    let bytes = batch.bytes.len() as u64;
    shop.progress.read(bytes);
    hand.toil.bytes += bytes;
}

fn bundle(
    shop: &Shop<'_>,
    hand: &mut Hand,
    folder: &OwnedFd,
    top: &Path,
    files: Vec<Small>,
    mut batch: Batch,
) -> Result<Done, Error> {
    batch.clear();
    let mut contents = Vec::with_capacity(files.len());
    for file in files {
        let start = batch.bytes.len();
        match read_small(folder, &file.path, file.stamp, GROWN_BYTES_MAX, &mut batch.bytes) {
            Ok(content) => contents.push(Some((content, (batch.bytes.len() - start) as u64))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => contents.push(None),
            Err(source) => return Err(tree::Error::File { doing: "read", path: shown(top, &file.path), source }.into()),
        }
    }
    read(shop, hand, &batch);
    shop.cutter.lengths(&batch.bytes, true, &mut batch.lengths);
    let mut reel = Reel::new(shop.spans(hand, &batch, None)?);
    let files = contents.into_iter().map(|read| {
        read.map(|(content, bytes)| {
            let mut spans = Vec::new();
            reel.take(bytes, &mut spans);
            SmallDone { content, bytes, spans }
        })
    });
    Ok(Done::Bundle { files: files.collect(), batch })
}

/// A path with zero bytes as it is shown.
pub(super) fn shown(top: &Path, path: &[u8]) -> PathBuf {
    let names = path.split(|byte| *byte == 0).map(std::os::unix::ffi::OsStrExt::from_bytes);
    names.fold(top.to_owned(), |path: PathBuf, name: &std::ffi::OsStr| path.join(name))
}
