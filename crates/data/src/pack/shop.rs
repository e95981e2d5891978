//! Where chunks are made: what all threads share, and what each has in its own hand.
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gleaner_wire::BlobRef;

use super::effort::{Effort, Toil};
use super::old::OldFile;
use super::{Error, Progress, mend};
use crate::chunk::ChunkRef;
use crate::cut::{Batch, Cutter};
use crate::delta::{Grain, Summer};
use crate::index::{Found, Index, Number, Span};
use crate::port::{PortError, Sink};
use crate::seal::{Keys, Tag};
use crate::squeeze::{Codec, Squeezer, Text};

/// What all threads share.
pub(super) struct Shop<'a> {
    pub(super) keys: &'a Keys,
    pub(super) cutter: Cutter,
    pub(super) summer: Summer,
    index: Mutex<&'a mut Index>,
    pub(super) sink: &'a dyn Sink,
    pub(super) effort: Effort,
    pub(super) progress: &'a Progress,
}

/// What one thread has for itself.
pub(super) struct Hand {
    squeezer: Squeezer,
    /// How long the blocks are by which edits of what it packs will be found.
    pub(super) grain: Grain,
    chunks: u32,
    pub(super) toil: Toil,
    /// Time that passed in the sink.
    waited: Duration,
}

impl<'a> Shop<'a> {
    pub(super) fn new(
        keys: &'a Keys,
        index: &'a mut Index,
        sink: &'a dyn Sink,
        effort: Effort,
        progress: &'a Progress,
    ) -> Self {
        let (cutter, summer) = (Cutter::new(keys.cut_seed), Summer::new(keys));
        Self { keys, cutter, summer, index: Mutex::new(index), sink, effort, progress }
    }

    pub(super) fn hand(&self) -> Result<Hand, Error> {
        let squeezer = Squeezer::new(self.effort.level()).map_err(Error::Squeezer)?;
        Ok(Hand { squeezer, grain: Grain::Fine, chunks: 0, toil: Toil::default(), waited: Duration::ZERO })
    }

    /// Does some work and takes note of what it cost.
    pub(super) fn measured<T>(&self, hand: &mut Hand, work: impl FnOnce(&mut Hand) -> T) -> T {
        (hand.toil, hand.waited) = (Toil::default(), Duration::ZERO);
        let begun = Instant::now();
        let result = work(hand);
        hand.toil.seal = begun.elapsed().saturating_sub(hand.waited + hand.toil.squeeze);
        self.effort.note(&hand.toil, self.sink);
        result
    }

    /// The index, for as long as nothing slow is done with it.
    pub(super) fn index(&self) -> MutexGuard<'_, &'a mut Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a batch of chunks is made of, after everything new in it went into the sink. With the chunks that the file
    /// was made of before, only what changed does.
    pub(super) fn spans(
        &self,
        hand: &mut Hand,
        batch: &Batch,
        old: Option<(&OldFile, u64)>,
    ) -> Result<Vec<Span>, Error> {
        hand.squeezer.start_stream();
        let tags: Vec<Tag> = batch.chunks().map(|chunk| self.keys.tag(chunk)).collect();
        let found = {
            let index = self.index();
            tags.iter().map(|tag| index.find(tag)).collect::<Result<Vec<_>, _>>()?
        };
        match old {
            Some((old, offset)) if found.contains(&None) => mend::spans(self, hand, batch, &tags, found, old, offset),
            _ => self.whole(hand, batch, &tags, found),
        }
    }

    /// Chunks that are not known are sent whole.
    pub(super) fn whole(
        &self,
        hand: &mut Hand,
        batch: &Batch,
        tags: &[Tag],
        found: Vec<Option<Found>>,
    ) -> Result<Vec<Span>, Error> {
        let (mut spans, mut new) = (Vec::with_capacity(found.len()), HashMap::new());
        for ((chunk, tag), found) in batch.chunks().zip(tags).zip(found) {
            let bytes = chunk.len() as u64;
            let number = match (found, new.get(tag)) {
                (Some(Found::Made(made)), _) => {
                    self.progress.known(bytes);
                    made.into_iter().for_each(|span| span.push_to(&mut spans));
                    continue;
                }
                (Some(Found::Chunk(number)), _) | (None, Some(&number)) => {
                    self.progress.known(bytes);
                    number
                }
                (None, None) => {
                    let number = self.store(hand, tag, chunk)?.0;
                    new.insert(*tag, number);
                    number
                }
            };
            Span { chunk: Some(number), offset: 0, bytes }.push_to(&mut spans);
        }
        Ok(spans)
    }

    /// Squeezes and seals a chunk and puts it into the sink.
    pub(super) fn store(&self, hand: &mut Hand, tag: &Tag, plain: &[u8]) -> Result<(Number, ChunkRef), Error> {
        self.store_with(hand, tag, plain, |blob, sealed| self.sink.put(blob, sealed))
    }

    /// The same with a chunk of the manifest.
    pub(super) fn store_manifest(&self, hand: &mut Hand, tag: &Tag, plain: &[u8]) -> Result<ChunkRef, Error> {
        let stored = self.store_with(hand, tag, plain, |blob, sealed| self.sink.put_manifest(blob, sealed));
        stored.map(|(_, chunk)| chunk)
    }

    fn store_with(
        &self,
        hand: &mut Hand,
        tag: &Tag,
        plain: &[u8],
        put: impl FnOnce(BlobRef, Vec<u8>) -> Result<(), PortError>,
    ) -> Result<(Number, ChunkRef), Error> {
        let text = self.squeeze(hand, plain)?;
        let squeezed = text.body().len() as u64;
        let sealed = self.keys.seal(tag, text);
        let (chunk, sealed_bytes) = (sealed.chunk, sealed.bytes.len() as u64);
        let begun = Instant::now();
        put(chunk.blob(), sealed.bytes).map_err(Error::Sink)?;
        hand.waited += begun.elapsed();
        let sums = self.summer.sums(hand.grain, plain);
        let number = self.index().remember_chunk(tag, &chunk, hand.grain, &sums)?;
        self.progress.sealed(squeezed, sealed_bytes);
        Ok((number, chunk))
    }

    fn squeeze(&self, hand: &mut Hand, plain: &[u8]) -> Result<Text, Error> {
        let level = self.effort.level_for(hand.chunks);
        hand.chunks = hand.chunks.wrapping_add(1);
        hand.squeezer.set_level(level).map_err(Error::Squeezer)?;
        let begun = Instant::now();
        let text = hand.squeezer.squeeze(plain);
        let toil = &mut hand.toil;
        if level.is_some() {
            toil.squeeze += begun.elapsed();
            toil.tried += plain.len() as u64;
        }
        if text.codec() == Codec::Zstd {
            toil.squeezed += plain.len() as u64;
            toil.left += text.body().len() as u64;
        }
        Ok(text)
    }
}
