//! The reader: walks, leaves out what did not change, reads and cuts large files, and hands small ones out in bundles.
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender};

use super::job::{Done, Job, Numbered, Small, open_top, shown};
use super::known::KnownFiles;
use super::old::OldFile;
use super::shop::Shop;
use super::{Error, Options, tree};
use crate::cut::{Batch, Stream};
use crate::delta::Grain;
use crate::index::{Dataset, Stamp};
use crate::manifest::{Entry, Kind, Name, Time};
use crate::tree::{Content, Found, Notice, Walk, What, data_ranges, open, stamp};

/// Smaller files share chunks.
pub(super) const SMALL_BYTES_MAX: u64 = 32 * 1024;
/// How many entries are planned at a time: their small files come before their large ones.
const WINDOW_ENTRIES: usize = 2048;
/// A bundle ends when it is this large, or after one file in so many, chosen by its path: so the same files mostly
/// come into the same bundles, whatever is added before them.
const BUNDLE_BYTES: u64 = 1024 * 1024;
/// Larger files are read once, changing or not.
const READ_AGAIN_BYTES_MAX: u64 = 4 << 30;
const TRIES_MAX: usize = 3;

/// Where the reader's work goes.
pub(super) struct Ports {
    pub(super) windows: SyncSender<Window>,
    pub(super) jobs: SyncSender<(u64, Job)>,
    pub(super) done: Sender<Numbered>,
    pub(super) empty: Receiver<Batch>,
}

/// What comes next in the manifest.
pub(super) struct Window {
    pub(super) entries: Vec<Planned>,
    /// How many bundles come first.
    pub(super) bundles: usize,
}

/// An entry, and where its content comes from.
pub(super) enum Planned {
    /// It needs none.
    Plain(Entry),
    /// It did not change: the index knows.
    Unchanged { entry: Entry, path: Vec<u8> },
    /// The next file of the bundles.
    Small { at: At },
    /// The pieces that follow.
    Large { at: At, changed: Time, bytes: u64, is_streamed: bool },
}

/// Where a file is.
pub(super) struct At {
    pub(super) depth: usize,
    pub(super) name: Name,
    pub(super) path: Vec<u8>,
    pub(super) mode: u32,
}

struct Reader<'a, 'b> {
    shop: &'a Shop<'b>,
    top: std::path::PathBuf,
    folder: OwnedFd,
    dataset: Dataset,
    ports: Ports,
    number: u64,
}

/// A large file that has to be read.
struct Large {
    path: Vec<u8>,
    bytes: u64,
    is_streamed: bool,
    before: Option<Stamp>,
}

/// Reads everything; returns what the owner should know.
pub(super) fn read(
    shop: &Shop<'_>,
    mut walk: Walk,
    dataset: Dataset,
    options: Options,
    ports: Ports,
) -> Result<Vec<Notice>, Error> {
    let top = walk.top().to_owned();
    let mut reader = Reader { shop, folder: open_top(&top)?, top, dataset, ports, number: 0 };
    let mut known = KnownFiles::new(shop, dataset)?;
    loop {
        let (mut entries, mut bundles, mut large) = (Vec::new(), Vec::new(), Vec::new());
        while entries.len() < WINDOW_ENTRIES {
            let Some(found) = walk.found()? else { break };
            entries.push(plan(shop, &mut known, found, options.checksum, &mut bundles, &mut large)?);
        }
        if entries.is_empty() {
            known.finish(shop)?;
            return Ok(walk.notices);
        }
        let window = Window { entries, bundles: bundles.len() };
        reader.ports.windows.send(window).map_err(|_| Error::Stopped)?;
        for files in bundles {
            let batch = reader.batch()?;
            reader.hand_out(Job::Bundle { files, batch })?;
        }
        for file in large {
            reader.large(&file)?;
        }
    }
}

fn plan(
    shop: &Shop<'_>,
    known: &mut KnownFiles,
    found: Found,
    is_checksum: bool,
    bundles: &mut Vec<Vec<Small>>,
    large: &mut Vec<Large>,
) -> Result<Planned, Error> {
    let Found { depth, name, path, what } = found;
    let (mode, changed, stamp) = match what {
        What::Folder { mode } => return Ok(Planned::Plain(Entry { depth, name, kind: Kind::Folder { mode } })),
        What::Link { target } => return Ok(Planned::Plain(Entry { depth, name, kind: Kind::Link { target } })),
        What::File { mode, changed, stamp } => (mode, changed, stamp),
    };
    let before = known.find(shop, &path)?;
    let kind = Kind::File { mode, changed, bytes: stamp.bytes };
    if before == Some(stamp) && !is_checksum {
        return Ok(Planned::Unchanged { entry: Entry { depth, name, kind }, path });
    }
    if stamp.bytes == 0 {
        return Ok(Planned::Plain(Entry { depth, name, kind }));
    }
    let at = At { depth, name, path: path.clone(), mode };
    if stamp.bytes < SMALL_BYTES_MAX {
        bundle(bundles, Small { path, stamp });
        return Ok(Planned::Small { at });
    }
    let is_streamed = stamp.bytes > READ_AGAIN_BYTES_MAX;
    large.push(Large { path, bytes: stamp.bytes, is_streamed, before });
    Ok(Planned::Large { at, changed, bytes: stamp.bytes, is_streamed })
}

fn bundle(bundles: &mut Vec<Vec<Small>>, file: Small) {
    let is_full = bundles.last().is_none_or(|files| {
        let bytes: u64 = files.iter().map(|file| file.stamp.bytes).sum();
        let last = files.last().map_or(1, |file| blake3::hash(&file.path).as_bytes()[0]);
        bytes + file.stamp.bytes > BUNDLE_BYTES || last == 0
    });
    if is_full {
        bundles.push(Vec::new());
    }
    bundles.last_mut().expect("there is one").push(file);
}

impl Reader<'_, '_> {
    fn batch(&self) -> Result<Batch, Error> {
        self.ports.empty.recv().map_err(|_| Error::Stopped)
    }

    fn hand_out(&mut self, job: Job) -> Result<(), Error> {
        self.number += 1;
        self.ports.jobs.send((self.number - 1, job)).map_err(|_| Error::Stopped)
    }

    fn say(&mut self, done: Done) -> Result<(), Error> {
        self.number += 1;
        self.ports.done.send((self.number - 1, Ok(done))).map_err(|_| Error::Stopped)
    }

    fn large(&mut self, file: &Large) -> Result<(), Error> {
        let old = match file.before {
            None => None,
            Some(before) => {
                let grown = before.bytes.abs_diff(file.bytes);
                Some(Arc::new(OldFile::load(&self.shop.index(), self.dataset, &file.path, grown)?))
            }
        };
        let path = shown(&self.top, &file.path);
        let failed = |error: rustix::io::Errno| tree::Error::at("read", path.clone(), 0, error);
        for tries in 1.. {
            let open = match open(&self.folder, &file.path) {
                Ok(open) => File::from(open),
                Err(rustix::io::Errno::NOENT) => return self.say(Done::Gone),
                Err(error) => return Err(failed(error).into()),
            };
            let (before, _) = stamp(&open).map_err(failed)?;
            let bytes = if file.is_streamed { file.bytes } else { before.bytes };
            let read = self.data(&open, bytes, old.as_ref(), file)?;
            if file.is_streamed && read < bytes {
                self.say(Done::Hole { bytes: bytes - read })?;
            }
            let (after, changed) = stamp(&open).map_err(failed)?;
            let is_steady = after == before && read == after.bytes;
            let is_again = !is_steady && !file.is_streamed && tries < TRIES_MAX;
            self.say(Done::End { content: Content { stamp: after, changed, is_steady }, is_again })?;
            if !is_again {
                break;
            }
        }
        Ok(())
    }

    /// Hands out the data and holes of a file of this size; says how far it came.
    fn data(&mut self, open: &File, bytes: u64, old: Option<&Arc<OldFile>>, file: &Large) -> Result<u64, Error> {
        let path = shown(&self.top, &file.path);
        let failed = |source: io::Error| tree::Error::File { doing: "read", path: path.clone(), source };
        let (mut at, grain) = (0, Grain::of(bytes));
        while let Some(range) = data_ranges(open, at, bytes).map_err(|error| failed(error.into()))? {
            if range.start > at {
                self.say(Done::Hole { bytes: range.start - at })?;
            }
            at = range.start;
            let cutter = &self.shop.cutter;
            let mut stream = Stream::new(cutter, Range { file: open, at, end: range.end });
            loop {
                let mut batch = self.batch()?;
                if !stream.next(&mut batch).map_err(failed)? {
                    // An empty piece takes the buffer back.
                    self.hand_out(Job::Piece { batch, old: None, offset: at, grain })?;
                    break;
                }
                let length = batch.bytes.len() as u64;
                self.hand_out(Job::Piece { batch, old: old.cloned(), offset: at, grain })?;
                at += length;
            }
            if at < range.end {
                return Ok(at);
            }
        }
        if at < bytes {
            self.say(Done::Hole { bytes: bytes - at })?;
        }
        Ok(bytes)
    }
}

/// A stretch of a file.
struct Range<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Range<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(to.len());
        let read = self.file.read_at(&mut to[..room], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
