//! Which chunks a dataset is made of, in the order in which unpacking asks for them.
use gleaner_wire::BlobRef;

use super::chunks::Chunks;
use super::{Error, Progress};
use crate::chunk::{ChunkRef, Extent};
use crate::manifest::{Entry, Kind, Reader, Root, Time};
use crate::port::Source;

/// The chunks that the manifest itself is in; none if all of it is in the root.
pub fn manifest_chunks(root: &Root) -> impl Iterator<Item = BlobRef> + '_ {
    root.chunks.iter().map(ChunkRef::blob)
}

/// Names the chunks of all files, as long as `each` wants more. The manifest is read as a stream out of the source, so
/// this takes little memory; a chunk that occurs in several places is named for each of them, but not twice in a row.
pub fn list(root: &Root, source: &dyn Source, mut each: impl FnMut(BlobRef) -> bool) -> Result<(), Error> {
    let progress = Progress::default();
    let mut chunks = Chunks::new(root, source, &progress)?;
    match entries(root, &mut chunks, &mut each) {
        Err(Error::Manifest(error)) => Err(chunks.failure().unwrap_or(Error::Manifest(error))),
        other => other,
    }
}

fn entries(root: &Root, chunks: &mut Chunks<'_>, each: &mut impl FnMut(BlobRef) -> bool) -> Result<(), Error> {
    let mut reader = Reader::new(chunks, root.totals)?;
    let mut last = None;
    while reader.entry()?.is_some() {
        while let Some(extent) = reader.extent()? {
            let Extent::Data { chunk, .. } = extent else { continue };
            let blob = chunk.blob();
            if last.replace(blob.id) != Some(blob.id) && !each(blob) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A file of a dataset, as its manifest has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// How many files come before it.
    pub number: u64,
    /// The names down to it, with a zero byte between them.
    pub path: &'a [u8],
    /// How long it is.
    pub bytes: u64,
    /// When it was changed.
    pub changed: Time,
}

/// Every extent of every file, with where in the file it begins, as long as `each` wants more. Like [`list()`] it takes little
/// memory.
pub fn extents(
    root: &Root,
    source: &dyn Source,
    mut each: impl FnMut(&File<'_>, u64, &Extent) -> bool,
) -> Result<(), Error> {
    let progress = Progress::default();
    let mut chunks = Chunks::new(root, source, &progress)?;
    match each_extent(root, &mut chunks, &mut each) {
        Err(Error::Manifest(error)) => Err(chunks.failure().unwrap_or(Error::Manifest(error))),
        other => other,
    }
}

fn each_extent(
    root: &Root,
    chunks: &mut Chunks<'_>,
    each: &mut impl FnMut(&File<'_>, u64, &Extent) -> bool,
) -> Result<(), Error> {
    let mut reader = Reader::new(chunks, root.totals)?;
    let (mut names, mut number) = (Vec::new(), 0);
    while let Some(Entry { depth, name, kind }) = reader.entry()? {
        names.truncate(depth - 1);
        names.push(name.as_bytes().to_vec());
        let Kind::File { changed, bytes, .. } = kind else { continue };
        let path = names.join(&0);
        let (file, mut start) = (File { number, path: &path, bytes, changed }, 0);
        number += 1;
        while let Some(extent) = reader.extent()? {
            if !each(&file, start, &extent) {
                return Ok(());
            }
            start += extent.bytes();
        }
    }
    Ok(())
}
