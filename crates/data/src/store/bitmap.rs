//! One bit for each chunk of a list.

/// Bits by position, eight to a byte, lowest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    bytes: Vec<u8>,
    length: usize,
}

impl Bitmap {
    /// This many bits, none of them set.
    pub fn new(length: usize) -> Self {
        Self { bytes: vec![0; length.div_ceil(8)], length }
    }

    /// How many bits there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no bits at all.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether a bit is set. Beyond the end none is.
    pub fn contains(&self, position: usize) -> bool {
        position < self.length && self.bytes[position / 8] & (1 << (position % 8)) != 0
    }

    /// Sets or clears a bit; tells whether that changed it.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn set(&mut self, position: usize, value: bool) -> bool {
        assert!(position < self.length, "a bit beyond the end of the list");
        let changed = self.contains(position) != value;
        if changed {
            self.bytes[position / 8] ^= 1 << (position % 8);
        }
        changed
    }

    /// How many bits are set.
    pub fn count(&self) -> usize {
        self.bytes.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// Whether all bits are set.
    pub fn is_full(&self) -> bool {
        self.count() == self.length
    }

    /// The positions that are set, or that are not.
    pub fn positions(&self, set: bool) -> impl Iterator<Item = usize> + '_ {
        (0..self.length).filter(move |&position| self.contains(position) == set)
    }

    /// The bits as bytes; those after the last are zero.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads bits back. Nothing if there are too few or too many bytes, or bits after the last.
    pub fn from_bytes(bytes: &[u8], length: usize) -> Option<Self> {
        let rest = length % 8;
        let spill = rest != 0 && bytes.last().is_some_and(|last| last >> rest != 0);
        (bytes.len() == length.div_ceil(8) && !spill).then(|| Self { bytes: bytes.to_vec(), length })
    }

    /// Adds one bit.
    pub(crate) fn push(&mut self, value: bool) {
        if self.length.is_multiple_of(8) {
            self.bytes.push(0);
        }
        self.length += 1;
        self.set(self.length - 1, value);
    }

    /// Adds the bits of another after those of this one, which fill whole bytes.
    pub(super) fn append(&mut self, other: &Self) {
        assert!(self.length.is_multiple_of(8), "pages of a list are whole bytes");
        self.bytes.extend_from_slice(&other.bytes);
        self.length += other.length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_counted_and_read_back() {
        let mut bits = Bitmap::new(13);
        assert!(bits.set(0, true) && bits.set(12, true) && !bits.set(12, true));
        assert_eq!((bits.count(), bits.contains(12), bits.contains(13)), (2, true, false));
        assert_eq!(bits.positions(true).collect::<Vec<_>>(), [0, 12]);
        assert_eq!(bits.as_bytes(), [0x01, 0x10], "the encoding is pinned");
        assert_eq!(Bitmap::from_bytes(bits.as_bytes(), 13), Some(bits));
    }

    #[test]
    fn bytes_that_do_not_fit_the_length_are_refused() {
        assert_eq!(Bitmap::from_bytes(&[0, 0x20], 13), None);
        assert_eq!(Bitmap::from_bytes(&[0], 13), None);
        assert_eq!(Bitmap::from_bytes(&[0, 0, 0], 13), None);
        assert!(Bitmap::from_bytes(&[], 0).is_some_and(|bits| bits.is_full()));
    }
}
