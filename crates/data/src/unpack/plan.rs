//! The plan: reads the manifest, makes folders and links, and hands files out.
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use gleaner_wire::Hash;

use super::chunks::Chunks;
use super::hand::{Job, LargeFile, SmallFile};
use super::piece::Piece;
use super::{Error, Progress};
use crate::chunk::Extent;
use crate::manifest::{Entry, Kind, Name, Reader, Root, Time, Totals};
use crate::port::Source;
use crate::tree::{Part, Target, enter, is_there, link, set_mode, shown};

/// Files up to this size are written at once, several of them by one hand.
const SMALL_BYTES_MAX: u64 = 1024 * 1024;
/// How much one hand gets at a time, in bytes, files, folders that are open for it, and extents.
const JOB_BYTES: u64 = 1024 * 1024;
const JOB_FILES: usize = 256;
const JOB_FOLDERS: usize = 16;
const JOB_EXTENTS: usize = 1024;
/// How many folders without permission to write are kept in mind.
const READ_ONLY_FOLDERS_MAX: usize = 65_536;

/// What is left to do when every file is written.
pub(super) struct Folders {
    target: Target,
    read_only: Vec<(Vec<Name>, u32)>,
    totals: Totals,
}

impl Folders {
    /// Sets the permissions of folders that could not be written into with them, the deepest first.
    pub(super) fn close(self) -> Result<Totals, Error> {
        let top = self.target.folder();
        for (path, mode) in self.read_only.iter().rev() {
            set_mode(&top, path, *mode, self.target.keeps(), &shown(self.target.top(), path))?;
        }
        Ok(self.totals)
    }
}

struct Plan<'a> {
    source: &'a dyn Source,
    progress: &'a Progress,
    jobs: &'a SyncSender<Job>,
    failed: &'a Receiver<Error>,
    folders: Folders,
    /// Tells what an earlier try has left of this dataset from what is left of others.
    version: Hash,
    /// The open folders down to where the walk is, and their names.
    open: Vec<Arc<OwnedFd>>,
    path: Vec<Name>,
    small: Vec<SmallFile>,
}

pub(super) fn run(
    root: &Root,
    source: &dyn Source,
    target: Target,
    progress: &Progress,
    jobs: &SyncSender<Job>,
    failed: &Receiver<Error>,
) -> Result<Folders, Error> {
    target.check_room(root.totals.stored_bytes)?;
    let top = target.folder();
    let folders = Folders { target, read_only: Vec::new(), totals: root.totals };
    let (open, path, small) = (vec![top], Vec::new(), Vec::new());
    let version = version(root);
    let mut plan = Plan { source, progress, jobs, failed, folders, version, open, path, small };
    let mut chunks = Chunks::new(root, source, progress)?;
    match plan.entries(&mut chunks, root.totals) {
        Err(Error::Manifest(error)) => Err(chunks.failure().unwrap_or(Error::Manifest(error))),
        Err(error) => Err(error),
        Ok(()) => Ok(plan.folders),
    }
}

fn version(root: &Root) -> Hash {
    let mut text = root.manifest.clone();
    root.chunks.iter().for_each(|chunk| text.extend_from_slice(&chunk.id.0));
    Hash::of(&text)
}

impl Plan<'_> {
    fn entries(&mut self, chunks: &mut Chunks<'_>, declared: Totals) -> Result<(), Error> {
        let mut reader = Reader::new(chunks, declared)?;
        while let Some(entry) = reader.entry()? {
            let Entry { depth, name, kind } = entry;
            self.path.truncate(depth - 1);
            self.open.truncate(depth);
            let folder = shown(self.folders.target.top(), &self.path);
            self.folders.target.check_case(&folder, &name)?;
            self.path.push(name.clone());
            match kind {
                Kind::Folder { mode } => self.folder(&name, mode)?,
                Kind::Link { target } => link(self.parent(), &name, &target, &self.shown())?,
                Kind::File { mode, changed, bytes } => self.file(&mut reader, name, mode, changed, bytes)?,
            }
        }
        self.hand_out_small()
    }

    fn parent(&self) -> &Arc<OwnedFd> {
        self.open.last().expect("the top is always open")
    }

    fn shown(&self) -> PathBuf {
        shown(self.folders.target.top(), &self.path)
    }

    fn folder(&mut self, name: &Name, mode: u32) -> Result<(), Error> {
        let folder = enter(self.parent(), name, mode, self.folders.target.keeps(), &self.shown())?;
        self.open.push(Arc::new(folder));
        if mode & 0o700 != 0o700 {
            if self.folders.read_only.len() == READ_ONLY_FOLDERS_MAX {
                return Err(Error::ReadOnlyFolders(READ_ONLY_FOLDERS_MAX));
            }
            self.folders.read_only.push((self.path.clone(), mode));
        }
        Ok(())
    }

    fn file(
        &mut self,
        reader: &mut Reader<&mut Chunks<'_>>,
        name: Name,
        mode: u32,
        changed: Time,
        bytes: u64,
    ) -> Result<(), Error> {
        let keeps = self.folders.target.keeps();
        if is_there(self.parent(), &name, mode, changed, bytes, keeps) {
            self.progress.files.fetch_add(1, Ordering::Relaxed);
            self.progress.present.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        if bytes > SMALL_BYTES_MAX {
            return self.large(reader, name, mode, changed, bytes);
        }
        let mut extents = Vec::new();
        while let Some(extent) = reader.extent()? {
            extents.push(extent);
        }
        let (parent, shown) = (Arc::clone(self.parent()), self.shown());
        self.small.push(SmallFile { parent, name, shown, mode, changed, keeps, bytes, extents });
        if self.is_enough() { self.hand_out_small() } else { Ok(()) }
    }

    fn is_enough(&self) -> bool {
        let bytes: u64 = self.small.iter().map(|file| file.bytes).sum();
        let extents: usize = self.small.iter().map(|file| file.extents.len()).sum();
        let changes = self.small.windows(2).filter(|pair| !Arc::ptr_eq(&pair[0].parent, &pair[1].parent)).count();
        bytes >= JOB_BYTES || extents >= JOB_EXTENTS || changes >= JOB_FOLDERS || self.small.len() >= JOB_FILES
    }

    fn hand_out_small(&mut self) -> Result<(), Error> {
        let files = std::mem::take(&mut self.small);
        let extents: Vec<_> = files.iter().flat_map(|file| &file.extents).collect();
        self.announce(extents.into_iter());
        self.hand_out(Job::Small(files))
    }

    fn large(
        &mut self,
        reader: &mut Reader<&mut Chunks<'_>>,
        name: Name,
        mode: u32,
        changed: Time,
        bytes: u64,
    ) -> Result<(), Error> {
        let part = Part::resume(Arc::clone(self.parent()), name, bytes, self.version, self.shown())?;
        let keeps = self.folders.target.keeps();
        let file = Arc::new(LargeFile { part, mode, changed, keeps, open: AtomicUsize::new(1) });
        let (mut extents, mut offset, mut length, mut number) = (Vec::new(), 0, 0, 0);
        loop {
            let extent = reader.extent()?;
            let is_last = extent.is_none();
            if let Some(extent) = extent {
                length += extent.bytes();
                extents.push(extent);
            }
            if is_last || length >= JOB_BYTES || extents.len() >= JOB_EXTENTS {
                let piece = Piece::new(Arc::clone(&file), number, offset, std::mem::take(&mut extents));
                if !piece.is_noted() {
                    self.announce(piece.extents.iter());
                }
                file.open.fetch_add(1, Ordering::AcqRel);
                self.hand_out(Job::Piece(piece))?;
                (offset, number) = (offset + std::mem::take(&mut length), number + 1);
            }
            if is_last {
                return file.close_piece(self.progress);
            }
        }
    }

    /// Tells the source what is going to be needed.
    fn announce<'e>(&self, extents: impl Iterator<Item = &'e Extent>) {
        let mut blobs: Vec<_> = extents
            .filter_map(|extent| match extent {
                Extent::Hole { .. } => None,
                Extent::Data { chunk, .. } => Some(chunk.blob()),
            })
            .collect();
        blobs.dedup();
        self.source.ahead(&blobs);
    }

    fn hand_out(&self, job: Job) -> Result<(), Error> {
        if let Ok(error) = self.failed.try_recv() {
            return Err(error);
        }
        self.jobs.send(job).map_err(|_| Error::Stopped)
    }
}
