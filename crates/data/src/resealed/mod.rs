//! A folder that was pushed, as its sealed chunks once more: for whoever needs one that nobody else has.
//!
//! Nothing is stored for it. Sealing comes out the same every time, so a chunk that is asked for is read out of its files
//! and sealed again; a copy of all sealed chunks would take as much disk as the folder itself, and would have to be
//! written at every push. Only the root and the manifest are kept, and a table that says which stretches of which files a
//! chunk is made of.
//!
//! What comes out is compared with the chunk's name. A file that has changed since, or a chunk of which files have only
//! a part any more (an older version of a file was pushed before), is not here, and nothing wrong is ever given out.
mod hand;
mod places;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use gleaner_wire::{BlobRef, Hash};
use rustix::io::pread;

use crate::manifest::{self, Root};
use crate::port::{PortError, Source};
use crate::seal::{DatasetKey, Keys};
use crate::store::Bitmap;
use crate::tree::{self, Walk};
use crate::unpack;
use hand::Hand;
use places::{Part, Places, Recipe};

/// Why a folder cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be read.
    #[error(transparent)]
    Tree(#[from] tree::Error),
    /// The root is not what it should be.
    #[error(transparent)]
    Root(#[from] manifest::Error),
    /// The manifest is not what it should be.
    #[error(transparent)]
    Manifest(#[from] unpack::Error),
    /// Root or manifest cannot be fetched.
    #[error("the list of the dataset cannot be read")]
    Source(#[source] PortError),
    /// The root has another name.
    #[error("the root of the dataset is damaged")]
    Damaged,
    /// The table cannot be written.
    #[error("the table of chunks cannot be written: is there room for temporary files?")]
    Table(#[from] rusqlite::Error),
    /// The compressor cannot be set up.
    #[error("the compressor cannot be set up")]
    Squeezer(#[source] std::io::Error),
}

/// A folder as sealed chunks.
pub struct Resealed {
    root: Hash,
    top: OwnedFd,
    keys: Keys,
    places: Places,
    hand: Mutex<Hand>,
    holds: Bitmap,
}

impl std::fmt::Debug for Resealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resealed").field("root", &self.root).field("chunks", &self.holds.len()).finish_non_exhaustive()
    }
}

impl Resealed {
    /// The folder or file at `path`, which was pushed with these keys as the dataset of this name. Its root and manifest
    /// come from the source.
    pub fn open(path: &Path, keys: &Keys, name: BlobRef, key: &DatasetKey, source: &dyn Source) -> Result<Self, Error> {
        let top = Walk::new(path)?.top().to_owned();
        let opened = std::fs::File::open(&top);
        let top = opened.map_err(|source| tree::Error::File { doing: "read", path: top, source })?;
        let sealed = source.chunk(name).map_err(Error::Source)?;
        if Hash::of(&sealed) != name.id {
            return Err(Error::Damaged);
        }
        let places = Places::new()?;
        places.keep(&name.id, &sealed)?;
        let root = Root::open(key, sealed)?;
        let listed: Vec<BlobRef> = unpack::manifest_chunks(&root).collect();
        source.ahead(&listed);
        for blob in listed {
            places.keep(&blob.id, &source.chunk(blob).map_err(Error::Source)?)?;
        }
        let mut failed = None;
        unpack::extents(&root, &places, |file, start, extent| {
            failed = places.note(file, start, extent).err();
            failed.is_none()
        })?;
        failed.map_or(Ok(()), Err)?;
        let holds = holds(&places, name, &root)?;
        let hand = Mutex::new(Hand::new().map_err(Error::Squeezer)?);
        Ok(Self { root: name.id, top: top.into(), keys: keys.clone(), places, hand, holds })
    }

    /// The dataset.
    pub fn root(&self) -> Hash {
        self.root
    }

    /// Which chunks of its list can be given, by what the manifest says; files may have changed since.
    pub fn holds(&self) -> &Bitmap {
        &self.holds
    }

    /// Whether a chunk can be given, as far as the manifest says.
    pub fn has(&self, id: &Hash) -> bool {
        matches!(self.places.kept(id), Ok(Some(_))) || matches!(self.places.recipe(id), Ok(Some(_)))
    }

    /// A sealed chunk; nothing if the folder does not have it, or not any more.
    pub fn chunk(&self, id: &Hash) -> Option<Bytes> {
        if let Some(sealed) = self.places.kept(id).ok().flatten() {
            return Some(sealed.into());
        }
        let recipe = self.places.recipe(id).ok().flatten()?;
        let plain = match self.plain(&recipe) {
            Ok(plain) => plain,
            Err(error) => {
                tracing::debug!(%id, %error, "a chunk cannot be read out of its files");
                return None;
            }
        };
        let mut hand = self.hand.lock().unwrap_or_else(PoisonError::into_inner);
        hand.seal(&self.keys, &plain, recipe.sealed_bytes as usize, id).map(Bytes::from)
    }

    fn plain(&self, recipe: &Recipe) -> std::io::Result<Vec<u8>> {
        let mut plain = vec![0; recipe.plain_bytes as usize];
        let mut rest = &mut plain[..];
        for part in &recipe.parts {
            let bytes = usize::try_from(part.bytes).map_err(std::io::Error::other)?;
            let (piece, after) = rest.split_at_mut(bytes);
            self.read(part, piece)?;
            rest = after;
        }
        Ok(plain)
    }

    /// Reads a stretch of a file that is as it was.
    fn read(&self, part: &Part, to: &mut [u8]) -> std::io::Result<()> {
        let was = self.places.file(part.file).map_err(std::io::Error::other)?;
        let file = tree::open(&self.top, &was.path)?;
        let (stamp, changed) = tree::stamp(&file)?;
        if stamp.bytes != was.bytes || changed != was.changed {
            let names = String::from_utf8_lossy(&was.path).replace('\0', "/");
            return Err(std::io::Error::other(format!("{} has changed", PathBuf::from(names).display())));
        }
        let mut done = 0;
        while done < to.len() {
            match pread(&file, &mut to[done..], part.start + done as u64)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                count => done += count,
            }
        }
        Ok(())
    }
}

/// Which chunks of the list are here: the root, the manifest, and what files have all of.
fn holds(places: &Places, name: BlobRef, root: &Root) -> Result<Bitmap, Error> {
    let mut holds = Bitmap::default();
    std::iter::once(name).chain(unpack::manifest_chunks(root)).for_each(|_| holds.push(true));
    let mut failed = None;
    unpack::list(root, places, |blob| {
        match places.recipe(&blob.id) {
            Ok(recipe) => holds.push(recipe.is_some()),
            Err(error) => failed = Some(error),
        }
        failed.is_none()
    })?;
    failed.map_or(Ok(holds), |error| Err(error.into()))
}
