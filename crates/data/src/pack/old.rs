//! What changed files were made of when they were pushed before.
use std::collections::BTreeSet;
use std::ops::Range;

use super::Error;
use crate::index::{Dataset, Index, Number, SPANS_PER_PART, Span};

/// Of larger files only the beginning is compared, which keeps memory small.
const SPANS_MAX: usize = 1 << 19;
/// A stretch is looked for around its place, as far as the file grew or shrank, but at least and at most this far.
const REACH_BYTES_MIN: u64 = 256 * 1024;
const REACH_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A file as it was, or small files one after the other.
#[derive(Debug)]
pub(super) struct OldFile {
    /// How far from its place a stretch is looked for.
    reach: u64,
    spans: Vec<(u64, Span)>,
    /// Where each chunk lay as a whole, sorted by chunk.
    places: Vec<(Number, u64)>,
}

impl OldFile {
    /// Loads what files were made of that have `grown` or shrunk by so many bytes since.
    pub(super) fn load<'a>(
        index: &Index,
        dataset: Dataset,
        paths: impl IntoIterator<Item = &'a [u8]>,
        grown: u64,
    ) -> Result<Self, Error> {
        let (mut spans, mut places, mut start) = (Vec::new(), Vec::new(), 0);
        for path in paths {
            for part in 0..(SPANS_MAX / SPANS_PER_PART) as u64 {
                let Some(part) = index.spans(dataset, path, part)? else { break };
                for span in part {
                    if let Some(number) = span.chunk {
                        places.push((number, start));
                    }
                    spans.push((start, span));
                    start += span.bytes;
                }
            }
        }
        places.sort_unstable();
        Ok(Self { reach: grown.clamp(REACH_BYTES_MIN, REACH_BYTES_MAX), spans, places })
    }

    /// Where this chunk lay.
    pub(super) fn place(&self, number: Number) -> Option<u64> {
        let at = self.places.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(self.places[at].1)
    }

    /// The chunks that bytes of the new file at this place may have come from.
    pub(super) fn chunks_near(&self, place: Range<u64>) -> BTreeSet<Number> {
        let reach = self.reach;
        let range = place.start.saturating_sub(reach)..place.end.saturating_add(reach);
        let first = self.spans.partition_point(|(start, span)| start + span.bytes <= range.start);
        let near = self.spans[first..].iter().take_while(|(start, _)| *start < range.end);
        near.filter_map(|(_, span)| span.chunk).collect()
    }
}
