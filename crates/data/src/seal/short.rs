//! Short texts, sealed with little around them: results that still fit into the message that reports them, and names.
//!
//! The proof of wholeness is made from the content, and the key stream from the proof: equal results of a task come out
//! equal, so that a hub can compare what two workers found without reading it, and different ones share nothing.
use gleaner_wire::INLINE_BYTES_MAX;

use super::{Error, Keys};

const PROOF_BYTES: usize = 16;
/// The longest result that travels inside a message.
pub const SHORT_BYTES_MAX: usize = INLINE_BYTES_MAX - PROOF_BYTES;

impl Keys {
    /// Seals a short content that belongs to `place`, such as the number of an element.
    pub fn seal_short(&self, place: u64, content: &[u8]) -> Vec<u8> {
        let mut sealed = self.proof(place, content).to_vec();
        sealed.extend_from_slice(content);
        self.mask(place, &mut sealed);
        sealed
    }

    /// Opens what was sealed for the same place.
    pub fn open_short(&self, place: u64, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        let shut = || Error::Shut { what: "a short result" };
        if sealed.len() < PROOF_BYTES {
            return Err(shut());
        }
        let mut opened = sealed.to_vec();
        self.mask(place, &mut opened);
        let content = opened.split_off(PROOF_BYTES);
        // Comparing proofs in the time it takes leaks nothing: whoever could try often holds the key already.
        if opened == self.proof(place, &content) { Ok(content) } else { Err(shut()) }
    }

    fn proof(&self, place: u64, content: &[u8]) -> [u8; PROOF_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.short);
        hasher.update(b"proof").update(&place.to_le_bytes()).update(content);
        *hasher.finalize().as_bytes().first_chunk().expect("a hash is longer")
    }

    /// Covers or uncovers what stands behind the proof.
    fn mask(&self, place: u64, sealed: &mut [u8]) {
        let (proof, content) = sealed.split_at_mut(PROOF_BYTES);
        let mut hasher = blake3::Hasher::new_keyed(&self.short);
        hasher.update(b"mask").update(&place.to_le_bytes()).update(proof);
        let mut mask = vec![0; content.len()];
        hasher.finalize_xof().fill(&mut mask);
        content.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::AccountSecret;

    #[test]
    fn short_results_open_in_their_place_only() {
        let keys = AccountSecret::from_bytes([1; 32]).keys();
        for length in 0..=SHORT_BYTES_MAX {
            let content = vec![7; length];
            let sealed = keys.seal_short(3, &content);
            assert!(sealed.len() <= INLINE_BYTES_MAX);
            assert_eq!(keys.open_short(3, &sealed).expect("opens"), content);
            assert_eq!(keys.seal_short(3, &content), sealed, "equal results are equal");
            assert!(keys.open_short(4, &sealed).is_err());
            assert!(AccountSecret::from_bytes([2; 32]).keys().open_short(3, &sealed).is_err());
            for at in 0..sealed.len() {
                let mut damaged = sealed.clone();
                damaged[at] ^= 1;
                assert!(keys.open_short(3, &damaged).is_err(), "byte {at} of {length}");
            }
        }
        assert!(keys.open_short(3, &[]).is_err() && keys.open_short(3, &[0; 99]).is_err());
        let long = vec![5; 1000];
        assert_eq!(keys.open_short(1, &keys.seal_short(1, &long)).expect("opens"), long);
    }

    #[test]
    fn contents_that_differ_in_a_bit_share_nothing() {
        let keys = AccountSecret::from_bytes([1; 32]).keys();
        let (one, other) = (keys.seal_short(0, b"aaaaaaaa"), keys.seal_short(0, b"aaaaaaab"));
        assert!(one.iter().zip(&other).filter(|(one, other)| one == other).count() < 6);
    }
}
