//! Content-defined cutting: where a stream is cut depends on the bytes around the cut alone, so that an insertion moves
//! the cuts near it and no others.
//!
//! The cuts depend on a seed of the account too: otherwise the sizes of sealed chunks would tell which well-known
//! file they came from. This room reads a stream in batches and keeps no more than one batch in memory.
use std::io::{self, Read};

use fastcdc::v2020::{MASKS, Normalization, cut_gear, get_gear_with_seed, logarithm2};

use crate::chunk::{PLAIN_BYTES_AVERAGE, PLAIN_BYTES_MAX, PLAIN_BYTES_MIN};

/// How much of a stream is read and cut at a time.
pub const BATCH_BYTES: usize = 2 * 1024 * 1024;

/// Most chunks are close to the average with this; more would cut fewer edits apart from their neighbours.
const NORMALIZATION: Normalization = Normalization::Level2;

/// Finds cuts.
pub struct Cutter {
    gear: Box<[u64; 256]>,
    gear_shifted: Box<[u64; 256]>,
    mask_small: u64,
    mask_large: u64,
}

impl std::fmt::Debug for Cutter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cutter").finish_non_exhaustive()
    }
}

impl Cutter {
    /// A cutter for one account.
    pub fn new(seed: u64) -> Self {
        let (gear, gear_shifted) = get_gear_with_seed(seed);
        let average = u32::try_from(PLAIN_BYTES_AVERAGE).expect("the average is small");
        let bits = logarithm2(average);
        let mask = |bits: u32| MASKS[bits as usize];
        let normalization = NORMALIZATION.bits();
        Self { gear, gear_shifted, mask_small: mask(bits + normalization), mask_large: mask(bits - normalization) }
    }

    /// The length of the first chunk of `bytes`, which are the rest of a stream or at least [`PLAIN_BYTES_MAX`].
    pub fn first(&self, bytes: &[u8]) -> usize {
        let (_, length) = cut_gear(
            bytes,
            PLAIN_BYTES_MIN,
            PLAIN_BYTES_AVERAGE,
            PLAIN_BYTES_MAX,
            self.mask_small,
            self.mask_large,
            self.mask_small << 1,
            self.mask_large << 1,
            &self.gear,
            &self.gear_shifted,
        );
        length
    }

    /// The lengths of all chunks of a whole stream, or of as much of it as can be cut without knowing what follows.
    pub fn lengths(&self, bytes: &[u8], is_end: bool, lengths: &mut Vec<usize>) {
        let mut rest = bytes;
        while rest.len() >= PLAIN_BYTES_MAX || (is_end && !rest.is_empty()) {
            let length = self.first(rest);
            lengths.push(length);
            rest = &rest[length..];
        }
    }
}

/// Whole chunks of a stream, one after the other.
#[derive(Debug, Default)]
pub struct Batch {
    /// The bytes of all chunks.
    pub bytes: Vec<u8>,
    /// How long each chunk is; together they are all of `bytes`.
    pub lengths: Vec<usize>,
}

impl Batch {
    /// The chunks.
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.bytes[..];
        self.lengths.iter().map(move |length| {
            let (chunk, after) = rest.split_at(*length);
            rest = after;
            chunk
        })
    }

    /// Forgets the chunks and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }
}

/// A stream that is read and cut in batches.
#[derive(Debug)]
pub struct Stream<'a, R> {
    cutter: &'a Cutter,
    source: R,
    carried: Vec<u8>,
    is_end: bool,
}

impl<'a, R: Read> Stream<'a, R> {
    /// Cuts what `source` gives.
    pub fn new(cutter: &'a Cutter, source: R) -> Self {
        Self { cutter, source, carried: Vec::new(), is_end: false }
    }

    /// Fills a batch; false if the stream has ended and nothing was left.
    pub fn next(&mut self, batch: &mut Batch) -> io::Result<bool> {
        batch.clear();
        batch.bytes.append(&mut self.carried);
        if !self.is_end {
            let room = (BATCH_BYTES - batch.bytes.len()) as u64;
            let read = self.source.by_ref().take(room).read_to_end(&mut batch.bytes)?;
            self.is_end = (read as u64) < room;
        }
        self.cutter.lengths(&batch.bytes, self.is_end, &mut batch.lengths);
        let cut: usize = batch.lengths.iter().sum();
        self.carried.extend_from_slice(&batch.bytes[cut..]);
        batch.bytes.truncate(cut);
        Ok(cut > 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::noise;

    fn cut(seed: u64, bytes: &[u8]) -> Vec<usize> {
        let mut lengths = Vec::new();
        Cutter::new(seed).lengths(bytes, true, &mut lengths);
        lengths
    }

    fn streamed(cutter: &Cutter, source: impl Read) -> (Vec<u8>, Vec<usize>) {
        let (mut stream, mut batch) = (Stream::new(cutter, source), Batch::default());
        let (mut bytes, mut lengths) = (Vec::new(), Vec::new());
        while stream.next(&mut batch).expect("read") {
            assert!(batch.bytes.len() <= BATCH_BYTES);
            assert_eq!(batch.chunks().map(<[u8]>::len).collect::<Vec<_>>(), batch.lengths);
            bytes.extend_from_slice(&batch.bytes);
            lengths.extend_from_slice(&batch.lengths);
        }
        (bytes, lengths)
    }

    #[test]
    fn chunks_keep_their_limits_and_their_average() {
        let bytes = noise(1, 32 << 20);
        let lengths = cut(7, &bytes);
        let (last, others) = lengths.split_last().expect("chunks");
        assert!(others.iter().all(|length| (PLAIN_BYTES_MIN..=PLAIN_BYTES_MAX).contains(length)));
        assert!(*last <= PLAIN_BYTES_MAX);
        let average = bytes.len() / lengths.len();
        assert!((PLAIN_BYTES_AVERAGE / 2..PLAIN_BYTES_AVERAGE * 3 / 2).contains(&average), "average {average}");
    }

    #[test]
    fn an_insertion_moves_few_cuts() {
        let mut bytes = noise(2, 16 << 20);
        let before: std::collections::HashSet<_> = chunks_of(&bytes).into_iter().collect();
        bytes.splice(5_000_000..5_000_000, *b"some words that were not there");
        let changed = chunks_of(&bytes).into_iter().filter(|chunk| !before.contains(chunk)).count();
        assert!((1..=4).contains(&changed), "{changed} chunks changed");
    }

    fn chunks_of(bytes: &[u8]) -> Vec<blake3::Hash> {
        let batch = Batch { bytes: bytes.to_vec(), lengths: cut(0, bytes) };
        batch.chunks().map(blake3::hash).collect()
    }

    #[test]
    fn another_account_cuts_elsewhere() {
        let bytes = noise(3, 4 << 20);
        assert_eq!(cut(1, &bytes), cut(1, &bytes));
        assert_ne!(cut(1, &bytes), cut(2, &bytes));
    }

    #[test]
    fn equal_bytes_become_largest_chunks() {
        assert_eq!(cut(0, &vec![0; 1 << 20]), vec![PLAIN_BYTES_MAX; 4]);
    }

    #[test]
    fn where_a_stream_is_cut_is_pinned() {
        assert_eq!(cut(0, &noise(4, 300_000)), PINNED);
    }

    const PINNED: &[usize] = &[89_838, 36_930, 71_152, 74_747, 27_333];

    /// Gives its bytes in pieces of any size.
    struct Dribble<'a>(&'a [u8], usize);

    impl Read for Dribble<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let count = to.len().min(self.0.len()).min(self.1);
            to[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            self.1 = self.1 * 7 % 300_007 + 1;
            Ok(count)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn a_stream_is_cut_as_a_whole(seed: u64, size in 0_usize..6_000_000, piece in 1_usize..100_000) {
            let bytes = noise(seed, size);
            let (joined, lengths) = streamed(&Cutter::new(seed), Dribble(&bytes, piece));
            prop_assert!(joined == bytes);
            prop_assert_eq!(lengths, cut(seed, &bytes));
        }
    }
}
