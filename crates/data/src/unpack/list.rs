//! Which chunks a dataset is made of, in the order in which unpacking asks for them.
use gleaner_wire::BlobRef;

use super::chunks::Chunks;
use super::{Error, Progress};
use crate::chunk::{ChunkRef, Extent};
use crate::manifest::{Reader, Root};
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
