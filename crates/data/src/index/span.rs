//! What files are made of, by the index's own numbers of chunks.
use super::Error;

/// The index's number of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u64);

/// How many spans are kept together, so that the largest file takes little memory.
pub const SPANS_PER_PART: usize = 16 * 1024;

/// A stretch of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The chunk it is in; none is a hole.
    pub chunk: Option<Number>,
    /// Where in the chunk it begins.
    pub offset: u32,
    /// How long it is.
    pub bytes: u64,
}

impl Span {
    /// Adds a span to a list, as part of the last one where it continues it.
    pub fn push_to(self, spans: &mut Vec<Self>) {
        if let Some(last) = spans.last_mut() {
            let is_next = match self.chunk {
                None => true,
                Some(_) => u64::from(last.offset) + last.bytes == u64::from(self.offset),
            };
            if last.chunk == self.chunk && is_next {
                last.bytes += self.bytes;
                return;
            }
        }
        spans.push(self);
    }

    pub(super) fn encode_all(spans: &[Self]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(spans.len() * 8);
        for span in spans {
            put(&mut bytes, span.chunk.map_or(0, |number| number.0));
            put(&mut bytes, u64::from(span.offset));
            put(&mut bytes, span.bytes);
        }
        bytes
    }

    pub(super) fn decode_all(mut bytes: &[u8]) -> Result<Vec<Self>, Error> {
        let mut spans = Vec::new();
        while !bytes.is_empty() {
            let (chunk, offset, length) = (take(&mut bytes)?, take(&mut bytes)?, take(&mut bytes)?);
            let offset = u32::try_from(offset).map_err(|_| Error::Damaged("a span outside of its chunk"))?;
            spans.push(Self { chunk: (chunk > 0).then_some(Number(chunk)), offset, bytes: length });
        }
        Ok(spans)
    }
}

/// Spans in a row, taken off from the front in any lengths.
#[derive(Debug)]
pub(crate) struct Reel {
    spans: std::vec::IntoIter<Span>,
    rest: Option<Span>,
}

impl Reel {
    pub(crate) fn new(spans: Vec<Span>) -> Self {
        Self { spans: spans.into_iter(), rest: None }
    }

    /// Moves the next `bytes` to the end of a list.
    pub(crate) fn take(&mut self, mut bytes: u64, to: &mut Vec<Span>) {
        while bytes > 0 {
            let mut span = self.rest.take().or_else(|| self.spans.next()).expect("there is as much as is taken");
            if span.bytes > bytes {
                let skipped = u32::try_from(if span.chunk.is_some() { bytes } else { 0 }).expect("chunks are small");
                self.rest = Some(Span { offset: span.offset + skipped, bytes: span.bytes - bytes, ..span });
                span.bytes = bytes;
            }
            bytes -= span.bytes;
            span.push_to(to);
        }
    }
}

fn put(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn take(from: &mut &[u8]) -> Result<u64, Error> {
    let mut number = 0_u64;
    for place in 0..10 {
        let (byte, rest) = from.split_first().ok_or(Error::Damaged("a span is cut off"))?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Error::Damaged("a span has an endless number"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(chunk: u64, offset: u32, bytes: u64) -> Span {
        Span { chunk: (chunk > 0).then_some(Number(chunk)), offset, bytes }
    }

    #[test]
    fn spans_that_continue_each_other_become_one() {
        let mut spans = Vec::new();
        let parts = [span(1, 0, 10), span(1, 10, 5), span(2, 15, 5), span(0, 0, 7), span(0, 0, 8), span(2, 0, 1)];
        parts.into_iter().for_each(|part| part.push_to(&mut spans));
        assert_eq!(spans, [span(1, 0, 15), span(2, 15, 5), span(0, 0, 15), span(2, 0, 1)]);
    }

    #[test]
    fn a_reel_is_cut_anywhere() {
        let mut reel = Reel::new(vec![span(1, 0, 10), span(0, 0, 5), span(2, 7, 10)]);
        let mut taken = |bytes| {
            let mut spans = Vec::new();
            reel.take(bytes, &mut spans);
            spans
        };
        assert_eq!(taken(4), [span(1, 0, 4)]);
        assert_eq!(taken(8), [span(1, 4, 6), span(0, 0, 2)]);
        assert_eq!(taken(0), []);
        assert_eq!(taken(13), [span(0, 0, 3), span(2, 7, 10)]);
    }

    #[test]
    fn the_encoding_is_pinned() {
        assert_eq!(Span::encode_all(&[span(300, 0, 128), span(0, 0, 1)]), [172, 2, 0, 128, 1, 0, 0, 1]);
    }

    proptest! {
        #[test]
        fn spans_come_back(parts in prop::collection::vec((0_u64..1 << 40, any::<u32>(), any::<u64>()), 0..50)) {
            let spans: Vec<_> = parts.into_iter().map(|(chunk, offset, bytes)| span(chunk, offset, bytes)).collect();
            prop_assert_eq!(Span::decode_all(&Span::encode_all(&spans)).expect("decoded"), spans);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Span::decode_all(&bytes);
        }
    }
}
