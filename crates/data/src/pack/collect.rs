//! The collector: puts what is done back in order, writes the manifest, and remembers.
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender};

use super::job::{Done, Numbered, SmallDone, shown};
use super::listing::Lister;
use super::reader::{At, Planned, SMALL_BYTES_MAX, Window};
use super::shop::Shop;
use super::stream::Stream;
use super::{Error, Packed};
use crate::chunk::{ChunkRef, Extent};
use crate::cut::Batch;
use crate::index::{Dataset, Number, SPANS_PER_PART, Span};
use crate::manifest::{self, Entry, Kind, Root, Time, Writer};
use crate::port::Mark;
use crate::tree::{Content, Notice};

/// How many bytes go into the sink between two moments from which a push that was broken off goes on.
const MARK_BYTES: u64 = 8 * 1024 * 1024;
/// How many references are kept at hand.
const REFERENCES_MAX: usize = 4096;

const UNSTEADY: &str = "kept changing while it was read: what was packed may be a mixture";
const VANISHED: &str = "vanished while the folder was read";

pub(super) struct Collector<'a, 'b> {
    shop: &'a Shop<'b>,
    dataset: Dataset,
    folder: PathBuf,
    writer: Writer<Stream<'a, 'b>>,
    references: HashMap<Number, ChunkRef>,
    lister: Lister,
    /// The mark on its way, with the newest chunk before it.
    marked: Option<(Mark, Number)>,
    marked_bytes: u64,
    notices: Vec<Notice>,
}

/// What is done, in order.
struct Results {
    from: Receiver<Numbered>,
    early: BTreeMap<u64, Result<Done, Error>>,
    number: u64,
    spare: SyncSender<Batch>,
}

impl Results {
    fn next(&mut self) -> Result<Done, Error> {
        loop {
            if let Some(done) = self.early.remove(&self.number) {
                self.number += 1;
                return done;
            }
            let (number, done) = self.from.recv().map_err(|_| Error::Stopped)?;
            self.early.insert(number, done);
        }
    }

    fn give_back(&self, batch: Batch) {
        // Nobody reads any more once the walk is done.
        let _ = self.spare.try_send(batch);
    }
}

impl<'a, 'b> Collector<'a, 'b> {
    pub(super) fn new(shop: &'a Shop<'b>, dataset: Dataset, folder: &Path) -> Result<Self, Error> {
        Ok(Self {
            shop,
            dataset,
            folder: folder.to_owned(),
            writer: Writer::new(Stream::new(shop)?)?,
            references: HashMap::new(),
            lister: Lister::new().map_err(Error::Listing)?,
            marked: None,
            marked_bytes: 0,
            notices: Vec::new(),
        })
    }

    /// Collects until the reader is through.
    pub(super) fn run(
        &mut self,
        windows: Receiver<Window>,
        from: Receiver<Numbered>,
        spare: SyncSender<Batch>,
    ) -> Result<(), Error> {
        let mut results = Results { from, early: BTreeMap::new(), number: 0, spare };
        for window in windows {
            let mut small = VecDeque::new();
            for _ in 0..window.bundles {
                if let Done::Bundle { files, batch } = results.next()? {
                    small.extend(files);
                    results.give_back(batch);
                }
            }
            for planned in window.entries {
                self.planned(planned, &mut small, &mut results)?;
            }
            self.keep()?;
        }
        Ok(())
    }

    fn planned(
        &mut self,
        planned: Planned,
        small: &mut VecDeque<Option<SmallDone>>,
        results: &mut Results,
    ) -> Result<(), Error> {
        match planned {
            Planned::Plain(entry) => {
                if matches!(entry.kind, Kind::File { .. }) {
                    self.shop.progress.file(false);
                }
                self.entry(&entry)
            }
            Planned::Unchanged { entry, path } => self.unchanged(&entry, &path),
            Planned::Small { at } => match small.pop_front().flatten() {
                Some(done) => self.whole(&at, &done.content, done.bytes, &done.spans),
                None => self.vanished(&at),
            },
            Planned::Large { at, changed, bytes, is_streamed: true } => self.streamed(&at, changed, bytes, results),
            Planned::Large { at, is_streamed: false, .. } => self.large(&at, results),
        }
    }

    fn unchanged(&mut self, entry: &Entry, path: &[u8]) -> Result<(), Error> {
        self.entry(entry)?;
        for part in 0.. {
            let spans = self.shop.index().spans(self.dataset, path, part)?;
            let Some(spans) = spans else { break };
            self.extents(&spans)?;
        }
        self.shop.progress.file(true);
        Ok(())
    }

    fn large(&mut self, at: &At, results: &mut Results) -> Result<(), Error> {
        let mut spans: Vec<Span> = Vec::new();
        loop {
            match results.next()? {
                Done::Piece { spans: piece, batch } => {
                    piece.into_iter().for_each(|span| span.push_to(&mut spans));
                    results.give_back(batch);
                    self.keep()?;
                }
                Done::Hole { bytes } => Span { chunk: None, offset: 0, bytes }.push_to(&mut spans),
                Done::End { is_again: true, .. } => spans.clear(),
                Done::End { content, is_again: false } => {
                    let bytes = spans.iter().map(|span| span.bytes).sum();
                    return self.whole(at, &content, bytes, &spans);
                }
                Done::Gone => return self.vanished(at),
                Done::Bundle { .. } => unreachable!("bundles come before large files"),
            }
        }
    }

    /// A file that is too large to be kept in mind goes into the manifest as it comes.
    fn streamed(&mut self, at: &At, changed: Time, bytes: u64, results: &mut Results) -> Result<(), Error> {
        let (mut spans, mut parts, mut is_begun) = (Vec::new(), 0, false);
        loop {
            let done = results.next()?;
            if !is_begun && !matches!(done, Done::Gone) {
                self.entry(&file_entry(at, changed, bytes))?;
                is_begun = true;
            }
            let end = match done {
                Done::Piece { spans: piece, batch } => {
                    piece.into_iter().for_each(|span| span.push_to(&mut spans));
                    results.give_back(batch);
                    self.keep()?;
                    None
                }
                Done::Hole { bytes } => {
                    Span { chunk: None, offset: 0, bytes }.push_to(&mut spans);
                    None
                }
                Done::End { content, .. } => Some(content),
                Done::Gone => return self.vanished(at),
                Done::Bundle { .. } => unreachable!("bundles come before large files"),
            };
            if spans.len() >= SPANS_PER_PART || end.is_some() {
                self.extents(&spans)?;
                self.shop.index().remember_part(self.dataset, &at.path, parts, &spans)?;
                parts += 1;
                spans.clear();
            }
            if let Some(content) = end {
                if content.is_steady && content.stamp.bytes == bytes && content.changed == changed {
                    self.shop.index().remember_stamp(self.dataset, &at.path, &content.stamp, parts)?;
                } else {
                    self.unsteady(at)?;
                }
                self.shop.progress.file(false);
                return Ok(());
            }
        }
    }

    fn whole(&mut self, at: &At, content: &Content, bytes: u64, spans: &[Span]) -> Result<(), Error> {
        self.entry(&file_entry(at, content.changed, bytes))?;
        self.extents(spans)?;
        if content.is_steady {
            self.shop.index().remember_file(self.dataset, &at.path, &content.stamp, spans)?;
        } else {
            self.unsteady(at)?;
        }
        self.shop.progress.file(false);
        Ok(())
    }

    fn unsteady(&mut self, at: &At) -> Result<(), Error> {
        Notice::add(&mut self.notices, shown(&self.folder, &at.path), UNSTEADY);
        Ok(self.shop.index().forget_file(self.dataset, &at.path)?)
    }

    fn vanished(&mut self, at: &At) -> Result<(), Error> {
        Notice::add(&mut self.notices, shown(&self.folder, &at.path), VANISHED);
        Ok(self.shop.index().forget_file(self.dataset, &at.path)?)
    }

    fn entry(&mut self, entry: &Entry) -> Result<(), Error> {
        let written = self.writer.entry(entry);
        self.explained(written)
    }

    fn extents(&mut self, spans: &[Span]) -> Result<(), Error> {
        for span in spans {
            let extent = match span.chunk {
                None => Extent::Hole { bytes: span.bytes },
                Some(number) => Extent::Data {
                    chunk: self.reference(number)?,
                    offset: span.offset,
                    bytes: u32::try_from(span.bytes).map_err(|_| crate::index::Error::Damaged("a span is too long"))?,
                },
            };
            let written = self.writer.extent(extent);
            self.explained(written)?;
        }
        Ok(())
    }

    fn explained(&mut self, written: Result<(), manifest::Error>) -> Result<(), Error> {
        written.map_err(|error| self.writer.inner().failure().unwrap_or(Error::Manifest(error)))
    }

    fn reference(&mut self, number: Number) -> Result<ChunkRef, Error> {
        if let Some(chunk) = self.references.get(&number) {
            return Ok(chunk.clone());
        }
        if self.references.len() >= REFERENCES_MAX {
            self.references.clear();
        }
        let chunk = self.shop.index().chunk(number)?;
        self.lister.add(&chunk).map_err(Error::Listing)?;
        self.references.insert(number, chunk.clone());
        Ok(chunk)
    }

    /// Keeps what the sink has made safe, and marks how far it is if enough went into it since the last time. Waits for
    /// nothing: on a long line the hands would stand still meanwhile.
    fn keep(&mut self) -> Result<(), Error> {
        if let Some((mark, number)) = &self.marked {
            if !mark.is_reached() {
                return Ok(());
            }
            self.shop.index().commit(*number)?;
            self.marked = None;
        }
        let sealed = self.shop.progress.counts().sealed_bytes;
        if sealed >= self.marked_bytes + MARK_BYTES {
            // A chunk is put before it is remembered, so the mark comes after all that are numbered now.
            let number = self.shop.index().last();
            self.marked = Some((self.shop.sink.mark().map_err(Error::Sink)?, number));
            self.marked_bytes = sealed;
        }
        Ok(())
    }

    /// Ends the manifest and seals the root.
    pub(super) fn finish(mut self, notices: Vec<Notice>) -> Result<Packed, Error> {
        let shop = self.shop;
        notices.into_iter().for_each(|notice| Notice::add(&mut self.notices, notice.path, notice.text));
        let notices = std::mem::take(&mut self.notices);
        let (mut stream, totals) = self.writer.finish()?;
        let manifest = stream.finish()?;
        stream.chunks.iter().try_for_each(|chunk| self.lister.add(chunk)).map_err(Error::Listing)?;
        let listing = self.lister.finish().map_err(Error::Listing)?;
        let root = Root { totals, manifest_bytes: stream.bytes, chunks: stream.chunks, manifest };
        let sealed = root.seal(shop.keys)?;
        let counts = shop.progress.counts();
        if counts.unchanged < counts.files {
            shop.index().tidy(self.dataset, SMALL_BYTES_MAX)?;
        }
        shop.sink.flush().map_err(Error::Sink)?;
        let mut index = shop.index();
        let last = index.last();
        index.commit(last)?;
        drop(index);
        Ok(Packed { root, sealed, notices, listing, level: shop.effort.level() })
    }
}

fn file_entry(at: &At, changed: Time, bytes: u64) -> Entry {
    let kind = Kind::File { mode: at.mode, changed, bytes };
    Entry { depth: at.depth, name: at.name.clone(), kind }
}
