//! Seals a chunk once more so that it comes out as it was: what was left alone, left alone; what was squeezed, at the level
//! it was squeezed at.
use gleaner_wire::Hash;

use crate::seal::Keys;
use crate::squeeze::{Level, Squeezer, Text};

/// What sealing adds: the byte of the codec, and the proof of wholeness.
const ADDED_BYTES: usize = 17;

/// Squeezers, the one that fitted last first.
pub(super) struct Hand {
    plain: Squeezer,
    squeezers: Vec<Squeezer>,
    untried: Vec<Level>,
}

impl Hand {
    pub(super) fn new() -> std::io::Result<Self> {
        let mut untried: Vec<Level> = Level::choices().collect();
        untried.reverse();
        Ok(Self { plain: Squeezer::new(None)?, squeezers: Vec::new(), untried })
    }

    /// The sealed bytes of a chunk, if they come out as its name and length say.
    pub(super) fn seal(&mut self, keys: &Keys, plain: &[u8], sealed_bytes: usize, id: &Hash) -> Option<Vec<u8>> {
        let tag = keys.tag(plain);
        let sealed = |text: Text| Some(keys.seal(&tag, text)).filter(|sealed| sealed.chunk.id == *id);
        if sealed_bytes == plain.len() + ADDED_BYTES {
            return sealed(self.plain.squeeze(plain)).map(|sealed| sealed.bytes);
        }
        for place in 0.. {
            let text = self.squeezer(place)?.squeeze_anyway(plain);
            let text = text.filter(|text| text.body().len() + ADDED_BYTES == sealed_bytes);
            if let Some(sealed) = text.and_then(&sealed) {
                self.squeezers[..=place].rotate_right(1);
                return Some(sealed.bytes);
            }
        }
        None
    }

    /// The squeezer at a place; a level that was not tried yet is set up when it is its turn.
    fn squeezer(&mut self, place: usize) -> Option<&mut Squeezer> {
        if place == self.squeezers.len() {
            let level = self.untried.pop()?;
            self.squeezers.push(Squeezer::new(Some(level)).ok()?);
        }
        self.squeezers.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{noise, words};
    use crate::seal::AccountSecret;

    #[test]
    fn a_chunk_comes_out_as_it_was_whatever_level_it_was_squeezed_at() {
        let keys = AccountSecret::from_bytes([3; 32]).keys();
        let mut hand = Hand::new().expect("set up");
        for (seed, level) in Level::choices().chain(Level::choices()).enumerate() {
            for plain in [words(seed as u64, 50_000), noise(seed as u64, 40_000), vec![7; 20]] {
                let mut squeezer = Squeezer::new(Some(level)).expect("set up");
                let was = keys.seal(&keys.tag(&plain), squeezer.squeeze(&plain));
                let again = hand.seal(&keys, &plain, was.bytes.len(), &was.chunk.id);
                assert_eq!(again, Some(was.bytes), "level {level:?}");
            }
        }
    }

    #[test]
    fn what_has_changed_does_not_come_out() {
        let keys = AccountSecret::from_bytes([3; 32]).keys();
        let mut hand = Hand::new().expect("set up");
        for plain in [words(1, 50_000), noise(1, 40_000)] {
            let mut squeezer = Squeezer::new(Some(Level::new(3))).expect("set up");
            let was = keys.seal(&keys.tag(&plain), squeezer.squeeze(&plain));
            let mut changed = plain;
            changed[1000] ^= 1;
            assert_eq!(hand.seal(&keys, &changed, was.bytes.len(), &was.chunk.id), None);
        }
    }
}
