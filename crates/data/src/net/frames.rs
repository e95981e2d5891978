//! Chunks as they come out of a stream, whatever carries it: checked while they arrive, never more than was asked for.
use super::Error;
use super::protocol::frame_length;
use crate::store::{Chunk, Verified};
use bytes::Bytes;
use gleaner_wire::BlobRef;
use std::collections::VecDeque;

const LENGTH_BYTES: usize = 4;

/// One chunk of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Here it is, and it is what was asked for.
    Chunk(Verified),
    /// It is not there.
    Absent(BlobRef),
}

/// A frame of which not all has come. Its bytes are copied once, to where they stay.
#[derive(Debug, Default)]
struct Partial {
    length: [u8; LENGTH_BYTES],
    /// How many bytes of the length are known.
    known: usize,
    body: Vec<u8>,
}

impl Partial {
    /// How long the frame is, if what is known and this piece tell; takes what it needs of the piece.
    fn length(&mut self, piece: &mut &[u8]) -> Option<u32> {
        let missing = LENGTH_BYTES - self.known;
        let (some, rest) = piece.split_at(missing.min(piece.len()));
        self.length[self.known..][..some.len()].copy_from_slice(some);
        self.known += some.len();
        *piece = rest;
        (self.known == LENGTH_BYTES).then(|| u32::from_le_bytes(self.length))
    }

    /// The bytes of a frame of this length, if the piece has the last of them; takes what it needs of the piece. The
    /// next frame begins then.
    fn body(&mut self, whole: usize, piece: &mut &[u8]) -> Option<Bytes> {
        self.body.reserve_exact(whole - self.body.len());
        let (some, rest) = piece.split_at((whole - self.body.len()).min(piece.len()));
        self.body.extend_from_slice(some);
        *piece = rest;
        if self.body.len() < whole {
            return None;
        }
        Some(Bytes::from(std::mem::take(self).body))
    }
}

/// A chunk that is to come, and what is here of it already.
#[derive(Debug)]
struct Expected {
    blob: BlobRef,
    begun: Vec<u8>,
    /// How much that was at first.
    begun_bytes: u64,
}

/// The answer to a question for chunks, as it arrives.
#[derive(Debug)]
pub struct Answer {
    expected: VecDeque<Expected>,
    partial: Partial,
    whole_bytes: u64,
}

impl Answer {
    /// An answer that should bring these, in this order. What is here of a chunk already does not come again.
    pub fn new(expected: impl IntoIterator<Item = (BlobRef, Vec<u8>)>) -> Self {
        let one = |(blob, begun): (BlobRef, Vec<u8>)| Expected { blob, begun_bytes: begun.len() as u64, begun };
        Self { expected: expected.into_iter().map(one).collect(), partial: Partial::default(), whole_bytes: 0 }
    }

    /// Whether everything has been answered.
    pub fn is_complete(&self) -> bool {
        self.expected.is_empty()
    }

    /// The bytes of whole chunks that came with this answer.
    pub fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    /// The beginnings of chunks that are not whole; nothing can come any more.
    pub fn take_begun(&mut self) -> Vec<(BlobRef, Vec<u8>)> {
        let partial = std::mem::take(&mut self.partial).body;
        if let Some(first) = self.expected.front_mut().filter(|_| !partial.is_empty()) {
            first.begun = partial;
        }
        let begun = self.expected.drain(..).filter(|expected| !expected.begun.is_empty());
        begun.map(|expected| (expected.blob, expected.begun)).collect()
    }

    /// The next chunks of the answer, if this piece makes any of them whole.
    pub fn push(&mut self, mut piece: &[u8], frames: &mut impl Extend<Frame>) -> Result<(), Error> {
        while !piece.is_empty() {
            let Some(Expected { blob, begun, begun_bytes }) = self.expected.front_mut() else {
                return Err(Error::TooMuch { what: "an answer", max: 0 });
            };
            let Some(length) = self.partial.length(&mut piece) else { break };
            let whole = frame_length(length)?;
            if whole == 0 {
                self.partial = Partial::default();
                frames.extend([Frame::Absent(*blob)]);
            } else if whole as u64 != blob.bytes {
                return Err(Error::Lied(blob.id));
            } else {
                if self.partial.body.is_empty() {
                    self.partial.body = std::mem::take(begun);
                }
                let Some(bytes) = self.partial.body(whole, &mut piece) else { break };
                let chunk = Verified::check(Chunk { id: blob.id, bytes }).map_err(|_| Error::Lied(blob.id))?;
                self.whole_bytes += blob.bytes - *begun_bytes;
                frames.extend([Frame::Chunk(chunk)]);
            }
            self.expected.pop_front();
        }
        Ok(())
    }
}

/// Chunks that somebody brings unasked, as they arrive.
#[derive(Debug, Default)]
pub struct Gift {
    partial: Partial,
    ended: bool,
}

impl Gift {
    /// Whether the giver has said that this was all.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// The next chunks, if this piece makes any of them whole; their names are computed.
    pub fn push(&mut self, mut piece: &[u8], chunks: &mut Vec<Verified>) -> Result<(), Error> {
        while !piece.is_empty() {
            if self.ended {
                return Err(Error::TooMuch { what: "a gift that has ended", max: 0 });
            }
            let Some(length) = self.partial.length(&mut piece) else { break };
            let whole = frame_length(length)?;
            if whole == 0 {
                self.ended = true;
            } else if let Some(bytes) = self.partial.body(whole, &mut piece) {
                chunks.push(Verified::of(bytes)?);
            }
        }
        Ok(())
    }
}

/// What stands before a chunk in a stream.
pub fn header(bytes: &Bytes) -> [u8; LENGTH_BYTES] {
    u32::try_from(bytes.len()).expect("chunks are short").to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn framed(chunks: &[Vec<u8>]) -> Vec<u8> {
        let frame = |chunk: &Vec<u8>| [&header(&Bytes::from(chunk.clone()))[..], chunk].concat();
        chunks.iter().flat_map(frame).collect()
    }

    proptest! {
        #[test]
        fn chunks_come_out_as_they_went_in_however_they_are_torn(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..10), piece in 1..700_usize,
        ) {
            let wire = framed(&chunks);
            let mut answer = Answer::new(chunks.iter().map(|chunk| (BlobRef::of(chunk), Vec::new())));
            let mut frames: Vec<Frame> = Vec::new();
            for piece in wire.chunks(piece) {
                prop_assert!(answer.push(piece, &mut frames).is_ok());
            }
            prop_assert!(answer.is_complete());
            for (frame, chunk) in frames.iter().zip(&chunks) {
                match frame {
                    Frame::Chunk(verified) => prop_assert_eq!(verified.bytes(), chunk),
                    Frame::Absent(_) => prop_assert!(chunk.is_empty()),
                }
            }
            prop_assert_eq!(frames.len(), chunks.len());
        }
    }

    #[test]
    fn lies_and_surplus_are_noticed() {
        let good = vec![1; 100];
        let asked = || [(BlobRef::of(&good), Vec::new())];
        let push = |wire: &[u8]| Answer::new(asked()).push(wire, &mut Vec::<Frame>::new());
        assert!(push(&framed(std::slice::from_ref(&good))).is_ok());
        assert!(matches!(push(&framed(&[vec![2; 100]])), Err(Error::Lied(_))), "other bytes");
        assert!(matches!(push(&framed(&[vec![1; 101]])), Err(Error::Lied(_))), "another length");
        assert!(matches!(push(&framed(&[good.clone(), good.clone()])), Err(Error::TooMuch { .. })), "one too many");
        assert!(matches!(push(&u32::MAX.to_le_bytes()), Err(Error::TooMuch { .. })), "far too long");
    }

    #[test]
    fn a_gift_ends_once() {
        let wire = [framed(&[vec![1; 10], vec![2; 20]]), vec![0; 4]].concat();
        let (mut gift, mut chunks) = (Gift::default(), Vec::new());
        gift.push(&wire, &mut chunks).expect("a good gift");
        assert!(gift.is_ended());
        assert_eq!(chunks.len(), 2);
        assert!(matches!(gift.push(&[1], &mut chunks), Err(Error::TooMuch { .. })));
    }
}
