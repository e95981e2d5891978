//! Packing what is no folder on a disk: what a task has written, from memory or scratch files.
//!
//! All files are one stream that is cut into chunks, so a thousand small ones cost as much as one large one. The same
//! content under the same keys gives the same root, whoever packs it: two workers' results can be compared by it.
use std::collections::HashMap;
use std::io::{self, Read};

use crate::chunk::{ChunkRef, Extent};
use crate::cut::{Batch, Cutter, Stream};
use crate::manifest::{self, Entry, INLINE_BYTES_MAX, Kind, Name, Root, SealedRoot, Time, Writer};
use crate::port::{PortError, Sink};
use crate::seal::{Keys, Tag};
use crate::squeeze::{Level, Squeezer};

/// Everybody squeezes alike, so that everybody's results come out alike.
const LEVEL: i32 = 1;
const FILE_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;
/// Results have no time of their own: it would make equal ones differ.
pub const CHANGED: Time = Time { seconds: 0, nanoseconds: 0 };

/// A file to pack.
pub struct File<R> {
    /// Its path, with `/` between folders.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
    /// Its content.
    pub content: R,
}

/// A packed parcel.
#[derive(Debug)]
pub struct Packed {
    /// What it amounts to.
    pub root: Root,
    /// The root, sealed; it is in the sink too.
    pub sealed: SealedRoot,
    /// The names of all its chunks, the root first.
    pub chunks: Vec<gleaner_wire::Hash>,
    /// Their bytes.
    pub sealed_bytes: u64,
}

/// Why something cannot be packed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("what was written cannot be read again")]
    Read(#[source] io::Error),
    /// Its names or its size are refused.
    #[error(transparent)]
    Manifest(#[from] manifest::Error),
    /// The sink failed.
    #[error("a chunk cannot be stored")]
    Sink(#[source] PortError),
    /// The compressor cannot be set up.
    #[error("the compressor cannot be set up")]
    Squeezer(#[source] io::Error),
    /// A file is shorter or longer than was said.
    #[error("`{0}` changed while it was packed")]
    Changed(String),
}

/// Packs files. Their order does not matter.
pub fn pack<R: Read>(keys: &Keys, files: Vec<File<R>>, sink: &dyn Sink) -> Result<Packed, Error> {
    let mut files = files;
    // As a walk through the folder would meet them.
    files.sort_by(|one, other| one.path.split('/').cmp(other.path.split('/')));
    let mut press = Press::new(keys, sink)?;
    let listed: Vec<(String, u64)> = files.iter().map(|file| (file.path.clone(), file.bytes)).collect();
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let content = press.stream(Chain { files: files.into_iter(), current: None })?;
    if content.iter().map(|chunk| u64::from(chunk.plain_bytes)).sum::<u64>() != bytes {
        return Err(Error::Changed("a file".to_owned()));
    }
    let (manifest, totals) = write_manifest(&listed, &content)?;
    let manifest_bytes = manifest.len() as u64;
    let root = if manifest.len() <= INLINE_BYTES_MAX {
        Root { totals, manifest_bytes, chunks: Vec::new(), manifest }
    } else {
        Root { totals, manifest_bytes, chunks: press.stream(&manifest[..])?, manifest: Vec::new() }
    };
    let sealed = root.seal(keys)?;
    sink.put(sealed.blob, sealed.bytes.clone()).map_err(Error::Sink)?;
    sink.flush().map_err(Error::Sink)?;
    press.chunks.insert(0, sealed.blob.id);
    Ok(Packed { sealed_bytes: press.sealed_bytes + sealed.blob.bytes, chunks: press.chunks, root, sealed })
}

/// Cuts, squeezes, seals and stores.
struct Press<'a> {
    keys: &'a Keys,
    squeezer: Squeezer,
    sink: &'a dyn Sink,
    made: HashMap<Tag, ChunkRef>,
    chunks: Vec<gleaner_wire::Hash>,
    sealed_bytes: u64,
}

impl<'a> Press<'a> {
    fn new(keys: &'a Keys, sink: &'a dyn Sink) -> Result<Self, Error> {
        let squeezer = Squeezer::new(Some(Level::new(LEVEL))).map_err(Error::Squeezer)?;
        let (made, chunks) = (HashMap::new(), Vec::new());
        Ok(Self { keys, squeezer, sink, made, chunks, sealed_bytes: 0 })
    }

    /// The chunks of a stream, in order.
    fn stream(&mut self, from: impl Read) -> Result<Vec<ChunkRef>, Error> {
        self.squeezer.start_stream();
        let (mut batch, mut all) = (Batch::default(), Vec::new());
        let cutter = Cutter::new(self.keys.cut_seed);
        let mut stream = Stream::new(&cutter, from);
        while stream.next(&mut batch).map_err(Error::Read)? {
            for chunk in batch.chunks() {
                all.push(self.chunk(chunk)?);
            }
        }
        Ok(all)
    }

    fn chunk(&mut self, plain: &[u8]) -> Result<ChunkRef, Error> {
        let tag = self.keys.tag(plain);
        if let Some(made) = self.made.get(&tag) {
            return Ok(made.clone());
        }
        let sealed = self.keys.seal(&tag, self.squeezer.squeeze(plain));
        self.sink.put(sealed.chunk.blob(), sealed.bytes).map_err(Error::Sink)?;
        self.chunks.push(sealed.chunk.id);
        self.sealed_bytes += u64::from(sealed.chunk.sealed_bytes);
        self.made.insert(tag, sealed.chunk.clone());
        Ok(sealed.chunk)
    }
}

/// Files, one after the other.
struct Chain<R> {
    files: std::vec::IntoIter<File<R>>,
    current: Option<io::Take<R>>,
}

impl<R: Read> Read for Chain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(current) = &mut self.current {
                let read = current.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
                if current.limit() > 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            match self.files.next() {
                Some(file) => self.current = Some(file.content.take(file.bytes)),
                None => return Ok(0),
            }
        }
    }
}

fn write_manifest(files: &[(String, u64)], content: &[ChunkRef]) -> Result<(Vec<u8>, manifest::Totals), Error> {
    let mut writer = Writer::new(Vec::new())?;
    let mut open: Vec<&str> = Vec::new();
    let mut pieces = Pieces { chunks: content.iter(), current: None };
    for (path, bytes) in files {
        let mut steps: Vec<&str> = path.split('/').collect();
        let name = steps.pop().unwrap_or_default();
        let shared = open.iter().zip(&steps).take_while(|(one, other)| one == other).count();
        open.truncate(shared);
        for step in &steps[shared..] {
            open.push(step);
            let kind = Kind::Folder { mode: FOLDER_MODE };
            writer.entry(&Entry { depth: open.len(), name: Name::new(step.as_bytes().to_vec())?, kind })?;
        }
        let kind = Kind::File { mode: FILE_MODE, changed: CHANGED, bytes: *bytes };
        writer.entry(&Entry { depth: open.len() + 1, name: Name::new(name.as_bytes().to_vec())?, kind })?;
        let mut missing = *bytes;
        while missing > 0 {
            let extent = pieces.next(missing).ok_or_else(|| Error::Changed(path.clone()))?;
            missing -= extent.bytes();
            writer.extent(extent)?;
        }
    }
    Ok(writer.finish()?)
}

/// The stream of all files, taken apart again.
struct Pieces<'a> {
    chunks: std::slice::Iter<'a, ChunkRef>,
    current: Option<(&'a ChunkRef, u32)>,
}

impl Pieces<'_> {
    /// The next piece, at most this long.
    fn next(&mut self, bytes_max: u64) -> Option<Extent> {
        let (chunk, offset) = match self.current.take() {
            Some(current) => current,
            None => (self.chunks.next()?, 0),
        };
        let rest = chunk.plain_bytes - offset;
        let bytes = u32::try_from(bytes_max).map_or(rest, |max| rest.min(max));
        if bytes < rest {
            self.current = Some((chunk, offset + bytes));
        }
        Some(Extent::Data { chunk: chunk.clone(), offset, bytes })
    }
}
