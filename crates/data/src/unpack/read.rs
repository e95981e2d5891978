//! Looking into a dataset without a folder: which files it has, and what is in one of them.
use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

use super::cache::Cache;
use super::chunks::Chunks;
use super::list::File;
use super::{Error, Progress};
use crate::chunk::{ChunkRef, Extent, PLAIN_BYTES_MAX};
use crate::manifest::{Entry, Kind, Reader, Root};
use crate::port::Source;
use crate::seal::Opener;

/// How many stretches of a file are known ahead, so that their chunks are under way while one is opened.
const AHEAD: usize = 16;

type Manifest<'a> = Reader<&'a mut (dyn Read + 'a)>;

/// Every file, as long as `each` wants more. The manifest is read as a stream, so this takes little memory.
pub fn files(root: &Root, source: &dyn Source, mut each: impl FnMut(&File<'_>) -> bool) -> Result<(), Error> {
    walk(root, source, |file, _| Ok(each(file)))
}

/// What is in the file with this path (its names, with a zero byte between them), piece by piece as long as `each` wants
/// more. False if there is no such file.
pub fn content(
    root: &Root,
    source: &dyn Source,
    path: &[u8],
    mut each: impl FnMut(&[u8]) -> bool,
) -> Result<bool, Error> {
    let mut found = false;
    walk(root, source, |file, manifest| {
        if file.path == path {
            found = true;
            let mut opening = Opening { source, opener: Opener::new()?, cache: Cache::default() };
            opening.hand_over(manifest, &mut each)?;
        }
        Ok(!found)
    })?;
    Ok(found)
}

/// Visits files as long as the visitor wants more. It may read the extents of the file.
fn walk(
    root: &Root,
    source: &dyn Source,
    mut visit: impl FnMut(&File<'_>, &mut Manifest<'_>) -> Result<bool, Error>,
) -> Result<(), Error> {
    let progress = Progress::default();
    let mut chunks = Chunks::new(root, source, &progress)?;
    match visit_all(root, &mut chunks, &mut visit) {
        Err(Error::Manifest(error)) => Err(chunks.failure().unwrap_or(Error::Manifest(error))),
        other => other,
    }
}

fn visit_all(
    root: &Root,
    chunks: &mut Chunks<'_>,
    visit: &mut impl FnMut(&File<'_>, &mut Manifest<'_>) -> Result<bool, Error>,
) -> Result<(), Error> {
    let mut manifest: Manifest<'_> = Reader::new(chunks as &mut dyn Read, root.totals)?;
    let (mut names, mut number) = (Vec::new(), 0);
    while let Some(Entry { depth, name, kind }) = manifest.entry()? {
        names.truncate(depth - 1);
        names.push(name.as_bytes().to_vec());
        let Kind::File { changed, bytes, .. } = kind else { continue };
        let path = names.join(&0);
        if !visit(&File { number, path: &path, bytes, changed }, &mut manifest)? {
            return Ok(());
        }
        number += 1;
    }
    Ok(())
}

/// Opens the chunks of one file.
struct Opening<'a> {
    source: &'a dyn Source,
    opener: Opener,
    cache: Cache,
}

impl Opening<'_> {
    fn hand_over(&mut self, manifest: &mut Manifest<'_>, each: &mut impl FnMut(&[u8]) -> bool) -> Result<(), Error> {
        let mut coming: VecDeque<Extent> = VecDeque::new();
        loop {
            while coming.len() < AHEAD
                && let Some(extent) = manifest.extent()?
            {
                self.announce(&extent, &coming);
                coming.push_back(extent);
            }
            let Some(extent) = coming.pop_front() else { return Ok(()) };
            if !self.stretch(&extent, each)? {
                return Ok(());
            }
        }
    }

    /// Announces a chunk that will be asked for, and once for each time that it will be.
    fn announce(&mut self, extent: &Extent, coming: &VecDeque<Extent>) {
        let Extent::Data { chunk, .. } = extent else { return };
        let is_same = |other: &Extent| matches!(other, Extent::Data { chunk: other, .. } if other.id == chunk.id);
        if !coming.iter().any(is_same) && self.cache.find(chunk.id).is_none() {
            self.source.ahead(&[chunk.blob()]);
        }
    }

    fn stretch(&mut self, extent: &Extent, each: &mut impl FnMut(&[u8]) -> bool) -> Result<bool, Error> {
        match extent {
            Extent::Hole { bytes } => {
                let (zeros, mut left) = ([0; PLAIN_BYTES_MAX / 16], *bytes);
                while left > 0 {
                    let count = usize::try_from(left).unwrap_or(usize::MAX).min(zeros.len());
                    if !each(&zeros[..count]) {
                        return Ok(false);
                    }
                    left -= count as u64;
                }
                Ok(true)
            }
            Extent::Data { chunk, offset, bytes } => {
                let plain = self.plain(chunk)?;
                // The manifest's reader has checked that an extent lies in its chunk, the opener the chunk's size.
                Ok(each(&plain[*offset as usize..][..*bytes as usize]))
            }
        }
    }

    fn plain(&mut self, chunk: &ChunkRef) -> Result<Arc<Vec<u8>>, Error> {
        // A hostile manifest may name one chunk with two sizes.
        if let Some(plain) = self.cache.find(chunk.id)
            && plain.len() == chunk.plain_bytes as usize
        {
            return Ok(plain);
        }
        let sealed = self.source.chunk(chunk.blob()).map_err(Error::Source)?;
        let plain = self.opener.open(chunk, sealed)?;
        Ok(self.cache.keep(chunk.id, plain))
    }
}
