//! Mending: a changed file is made of parts of its old chunks, and of new chunks for what changed.
use std::collections::HashMap;

use super::Error;
use super::old::OldFile;
use super::shop::{Hand, Shop};
use crate::cut::Batch;
use crate::delta::{self, Candidates, Old, Piece};
use crate::index::{Found, Number, Reel, Span};
use crate::seal::Tag;

/// Stretches shorter than this on average are not worth it: the file is sent whole there.
const STRETCH_BYTES_MIN: usize = 512;

pub(super) fn spans(
    shop: &Shop<'_>,
    hand: &mut Hand,
    batch: &Batch,
    tags: &[Tag],
    found: Vec<Option<Found>>,
    old: &OldFile,
    offset: u64,
) -> Result<Vec<Span>, Error> {
    let candidates = candidates(shop, batch, &found, old, offset)?;
    let mut pieces = cover(shop, batch, &found, candidates);
    let sizes = sizes(shop, &pieces)?;
    delta::drop_little_used(&mut pieces, |number| sizes[&number]);
    if pieces.len() > batch.bytes.len() / STRETCH_BYTES_MIN + 4 {
        return shop.whole(hand, batch, tags, found);
    }
    let mut fresh = Reel::new(store_fresh(shop, hand, batch, &pieces)?);
    let mut spans = Vec::new();
    for piece in &pieces {
        let bytes = piece.bytes as u64;
        match piece.from {
            None => fresh.take(bytes, &mut spans),
            Some((number, offset)) => {
                shop.progress.known(bytes);
                Span { chunk: Some(number), offset, bytes }.push_to(&mut spans);
            }
        }
    }
    remember(shop, batch, tags, &found, &spans)?;
    Ok(spans)
}

/// The old chunks around where the batch came from. A chunk that is still there as it was tells how far everything moved.
fn candidates(
    shop: &Shop<'_>,
    batch: &Batch,
    found: &[Option<Found>],
    old: &OldFile,
    offset: u64,
) -> Result<Vec<Old>, Error> {
    let (mut start, mut place) = (offset, offset);
    for (found, length) in found.iter().zip(&batch.lengths) {
        if let Some(Found::Chunk(number)) = found
            && let Some(before) = old.place(*number)
        {
            place = (before + offset).saturating_sub(start);
            break;
        }
        start += *length as u64;
    }
    let numbers = old.chunks_near(place..place + batch.bytes.len() as u64);
    let index = shop.index();
    Ok(numbers.into_iter().map(|number| index.old(number)).collect::<Result<_, _>>()?)
}

/// Covers a batch by what is known: whole chunks, what was mended before, and stretches of old chunks.
fn cover(shop: &Shop<'_>, batch: &Batch, found: &[Option<Found>], olds: Vec<Old>) -> Vec<Piece> {
    let candidates = Candidates::new(&shop.summer, olds);
    let (mut pieces, mut start, mut gap) = (Vec::new(), 0, 0);
    for (found, length) in found.iter().zip(&batch.lengths) {
        let end = start + length;
        if let Some(found) = found {
            candidates.cover(&batch.bytes[gap..start], gap, &mut pieces);
            let whole = [Span { chunk: None, offset: 0, bytes: *length as u64 }];
            let (spans, of) = match found {
                Found::Chunk(number) => (&whole[..], Some(*number)),
                Found::Made(spans) => (&spans[..], None),
            };
            let mut at = start;
            for span in spans {
                let bytes = usize::try_from(span.bytes).expect("part of a chunk");
                pieces.push(Piece { start: at, bytes, from: of.or(span.chunk).map(|of| (of, span.offset)) });
                at += bytes;
            }
            gap = end;
        }
        start = end;
    }
    candidates.cover(&batch.bytes[gap..], gap, &mut pieces);
    delta::join(&mut pieces);
    pieces
}

fn sizes(shop: &Shop<'_>, pieces: &[Piece]) -> Result<HashMap<Number, u32>, Error> {
    let (mut sizes, index) = (HashMap::new(), shop.index());
    for (number, _) in pieces.iter().filter_map(|piece| piece.from) {
        if let std::collections::hash_map::Entry::Vacant(vacant) = sizes.entry(number) {
            vacant.insert(index.chunk_bytes(number)?);
        }
    }
    Ok(sizes)
}

/// Everything that has to be sent, one after the other as one stream, so that many small edits become few chunks.
fn store_fresh(shop: &Shop<'_>, hand: &mut Hand, batch: &Batch, pieces: &[Piece]) -> Result<Vec<Span>, Error> {
    let mut fresh = Batch::default();
    for piece in pieces.iter().filter(|piece| piece.from.is_none()) {
        fresh.bytes.extend_from_slice(&batch.bytes[piece.start..piece.start + piece.bytes]);
    }
    shop.cutter.lengths(&fresh.bytes, true, &mut fresh.lengths);
    shop.spans(hand, &fresh, None)
}

/// Remembers how chunks that would be cut again next time were mended, so that they are known then.
fn remember(
    shop: &Shop<'_>,
    batch: &Batch,
    tags: &[Tag],
    found: &[Option<Found>],
    spans: &[Span],
) -> Result<(), Error> {
    let (mut reel, mut index) = (Reel::new(spans.to_vec()), shop.index());
    for ((tag, found), length) in tags.iter().zip(found).zip(&batch.lengths) {
        let mut made = Vec::new();
        reel.take(*length as u64, &mut made);
        match found {
            Some(_) => {}
            None => index.remember_made(tag, &made)?,
        }
    }
    Ok(())
}
