//! A compact summary of what a store holds, for whoever places work.
//!
//! A sorted list of eight bytes for each dataset: 48 bits of its root, how much of it is here, and how large that is.
//! A Bloom filter would be a little smaller, but could not say how much is held, and that is what placement weighs: the
//! bytes that would have to move. At [`SKETCH_HOLDINGS_MAX`] entries a question about a dataset that is not here is
//! answered wrongly once in 5 · 10¹¹ times; what does not fit is the least held, and costs a transfer, nothing more.
use super::{Error, Holding, Store};
use gleaner_wire::Hash;

/// Datasets in a sketch at most: four kilobytes.
pub const SKETCH_HOLDINGS_MAX: usize = 512;
const VERSION: u8 = 1;
const ENTRY_BYTES: usize = 8;
const PRINT_BYTES: usize = 6;
/// Steps for each doubling of the size.
const STEPS: f64 = 4.0;
const WHOLE: u8 = 255;

/// A summary of what a store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    /// Sorted by print.
    entries: Vec<[u8; ENTRY_BYTES]>,
}

/// How much of a dataset a sketch says is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// In parts of 255, rounded down, but not to nothing; 255 is all of it.
    pub share: u8,
    /// About how many bytes that are, at most a fifth too few and never too many.
    pub bytes: u64,
}

/// Why bytes are not a sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a sketch of a store: expected a version, then at most {SKETCH_HOLDINGS_MAX} sorted entries of 8 bytes")]
pub struct SketchError;

impl Sketch {
    /// The summary of these holdings; the largest, if they are too many.
    pub fn of(holdings: &[Holding]) -> Self {
        let mut largest: Vec<&Holding> = holdings.iter().filter(|holding| holding.held > 0).collect();
        largest.sort_by_key(|holding| std::cmp::Reverse(holding.held_bytes));
        largest.truncate(SKETCH_HOLDINGS_MAX);
        let mut entries: Vec<_> = largest.into_iter().map(entry).collect();
        entries.sort_unstable();
        entries.dedup_by_key(|entry| print_of(entry));
        Self { entries }
    }

    /// What is held of a dataset.
    pub fn held(&self, root: &Hash) -> Option<Held> {
        let print = &root.0[..PRINT_BYTES];
        let position = self.entries.binary_search_by(|entry| entry[..PRINT_BYTES].cmp(print)).ok()?;
        let [.., share, size] = self.entries[position];
        Some(Held { share, bytes: bytes_of(size) })
    }

    /// How many datasets it names.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it names none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A version byte, then the entries.
    pub fn to_bytes(&self) -> Vec<u8> {
        std::iter::once(VERSION).chain(self.entries.iter().flatten().copied()).collect()
    }

    /// Reads what a stranger sent.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SketchError> {
        let Some((&VERSION, rest)) = bytes.split_first() else { return Err(SketchError) };
        let (entries, spill) = rest.as_chunks::<ENTRY_BYTES>();
        let sorted = entries.is_sorted_by(|one, next| print_of(one) < print_of(next));
        if !spill.is_empty() || !sorted || entries.len() > SKETCH_HOLDINGS_MAX {
            return Err(SketchError);
        }
        Ok(Self { entries: entries.to_vec() })
    }
}

impl Store {
    /// A summary of which datasets are here and how much of each, a few kilobytes at most.
    pub fn sketch(&self) -> Result<Sketch, Error> {
        Ok(Sketch::of(&self.datasets()?))
    }
}

fn print_of(entry: &[u8; ENTRY_BYTES]) -> [u8; PRINT_BYTES] {
    let [print @ .., _, _] = *entry;
    print
}

fn entry(holding: &Holding) -> [u8; ENTRY_BYTES] {
    let mut entry = [0; ENTRY_BYTES];
    entry[..PRINT_BYTES].copy_from_slice(&holding.root.0[..PRINT_BYTES]);
    let parts = u128::from(holding.held) * u128::from(WHOLE) / u128::from(holding.chunks.max(1));
    entry[PRINT_BYTES] = u8::try_from(parts).unwrap_or(WHOLE).max(1);
    entry[PRINT_BYTES + 1] = size_of(holding.held_bytes);
    entry
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a logarithm")]
fn size_of(bytes: u64) -> u8 {
    // Rounding of the logarithm must not name a size above the real one.
    let size = ((bytes.max(1) as f64).log2() * STEPS).floor() as u8;
    if bytes_of(size) > bytes.max(1) { size.saturating_sub(1) } else { size }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a power of two in whole bytes")]
fn bytes_of(size: u8) -> u64 {
    (f64::from(size) / STEPS).exp2().floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(seed: u32, held: u64, chunks: u64, held_bytes: u64) -> Holding {
        Holding { root: Hash::of(&seed.to_le_bytes()), chunks, held, held_bytes }
    }

    #[test]
    fn a_sketch_tells_what_is_held_and_how_much() {
        let sketch = Sketch::of(&[holding(1, 10, 10, 1 << 30), holding(2, 1, 1000, 70_000), holding(3, 0, 5, 0)]);
        assert_eq!(sketch.held(&holding(1, 0, 0, 0).root), Some(Held { share: 255, bytes: 1 << 30 }));
        let part = sketch.held(&holding(2, 0, 0, 0).root).expect("held in part");
        assert!(part.share == 1 && part.bytes <= 70_000 && part.bytes >= 56_000, "{part:?}");
        assert_eq!(sketch.held(&holding(3, 0, 0, 0).root), None, "nothing of it is here");
    }

    #[test]
    fn a_sketch_stays_small_keeps_the_largest_and_knows_no_strangers() {
        let holdings: Vec<_> = (0..2000).map(|seed| holding(seed, 1, 1, u64::from(seed) * 1000)).collect();
        let sketch = Sketch::of(&holdings);
        assert_eq!(sketch.to_bytes().len(), 1 + 512 * 8);
        assert!((1488..2000).all(|seed| sketch.held(&holding(seed, 0, 0, 0).root).is_some()));
        assert!((2000..200_000).all(|seed| sketch.held(&holding(seed, 0, 0, 0).root).is_none()));
        assert_eq!(Sketch::from_bytes(&sketch.to_bytes()), Ok(sketch));
    }

    #[test]
    fn the_encoding_is_pinned_and_anything_else_is_refused() {
        let root = Hash([0xab; 32]);
        let sketch = Sketch::of(&[Holding { root, chunks: 4, held: 2, held_bytes: 1 << 20 }]);
        let bytes = [1, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 127, 80];
        assert_eq!(sketch.to_bytes(), bytes);
        assert_eq!(Sketch::from_bytes(&[]), Err(SketchError));
        assert_eq!(Sketch::from_bytes(&bytes[..8]), Err(SketchError));
        assert_eq!(Sketch::from_bytes(&[2]), Err(SketchError));
        assert_eq!(Sketch::from_bytes(&[&bytes[..], &bytes[1..]].concat()), Err(SketchError), "named twice");
        assert_eq!(Sketch::from_bytes(&[1]), Ok(Sketch::default()));
    }
}
