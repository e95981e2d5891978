//! One chunk: squeezed text in, sealed bytes out, and back.
use std::fmt;

use gleaner_wire::Hash;
use zeroize::Zeroizing;

use super::{Error, Keys, Tag, open_in_place, seal_in_place};
use crate::chunk::{ChunkRef, PLAIN_BYTES_MAX};
use crate::squeeze::{Codec, Text};

/// Opens one chunk.
#[derive(Clone, PartialEq, Eq)]
pub struct ChunkKey(Zeroizing<[u8; 32]>);

impl ChunkKey {
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    pub(crate) fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for ChunkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// A chunk as it is stored and sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// What names and opens it.
    pub chunk: ChunkRef,
    /// The sealed bytes.
    pub bytes: Vec<u8>,
}

impl Keys {
    /// Seals a squeezed chunk that has this tag.
    pub fn seal(&self, tag: &Tag, text: Text) -> Sealed {
        let key = self.chunk_key(tag, &text);
        let plain_bytes = text.plain_bytes();
        let mut bytes = text.into_bytes();
        seal_in_place(&key.0, &[], &mut bytes);
        let sealed_bytes = u32::try_from(bytes.len()).expect("chunks are small");
        Sealed { chunk: ChunkRef { id: Hash::of(&bytes), key, plain_bytes, sealed_bytes }, bytes }
    }

    /// What is squeezed may come out otherwise with the next release of the compressor, so its key depends on the very
    /// bytes; what is left alone is known by its tag.
    fn chunk_key(&self, tag: &Tag, text: &Text) -> ChunkKey {
        let mut hasher = blake3::Hasher::new_keyed(&self.chunk);
        hasher.update(&[text.codec().byte()]).update(&tag.0);
        match text.codec() {
            Codec::Raw => {}
            Codec::Zstd => {
                hasher.update(text.body());
            }
        }
        ChunkKey::from_bytes(*hasher.finalize().as_bytes())
    }
}

/// Opens sealed chunks; keeps what the decompressor needs from one to the next.
pub struct Opener {
    zstd: zstd::bulk::Decompressor<'static>,
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").finish_non_exhaustive()
    }
}

impl Opener {
    /// Sets it up.
    pub fn new() -> Result<Self, Error> {
        zstd::bulk::Decompressor::new().map(|zstd| Self { zstd }).map_err(Error::Decompressor)
    }

    /// The plain bytes of a chunk, if `sealed` is exactly what was sealed.
    pub fn open(&mut self, chunk: &ChunkRef, mut sealed: Vec<u8>) -> Result<Vec<u8>, Error> {
        let plain_bytes = chunk.plain_bytes as usize;
        if sealed.len() != chunk.sealed_bytes as usize || plain_bytes > PLAIN_BYTES_MAX {
            return Err(Error::Content("its size is another"));
        }
        let opened = open_in_place(&chunk.key.0, &[], &mut sealed, "a chunk")?;
        let (codec, body) = opened.split_last().ok_or(Error::Content("it is empty"))?;
        let plain = match Codec::from_byte(*codec).ok_or(Error::Content("it is squeezed in an unknown way"))? {
            Codec::Raw => {
                let length = body.len();
                sealed.truncate(length);
                sealed
            }
            Codec::Zstd => {
                let mut plain = Vec::with_capacity(plain_bytes);
                let unsqueezed = self.zstd.decompress_to_buffer(body, &mut plain);
                unsqueezed.map_err(|_| Error::Content("it does not unsqueeze into its size"))?;
                plain
            }
        };
        if plain.len() == plain_bytes { Ok(plain) } else { Err(Error::Content("its plain size is another")) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::{noise, words};
    use crate::seal::AccountSecret;
    use crate::squeeze::{Level, Squeezer};

    fn keys(account: u8) -> Keys {
        AccountSecret::from_bytes([account; 32]).keys()
    }

    fn sealed(keys: &Keys, plain: &[u8]) -> Sealed {
        let mut squeezer = Squeezer::new(Some(Level::new(3))).expect("set up");
        keys.seal(&keys.tag(plain), squeezer.squeeze(plain))
    }

    #[test]
    fn one_account_seals_alike_and_another_otherwise() {
        let plain = words(1, 50_000);
        let one = sealed(&keys(1), &plain);
        assert_eq!(one, sealed(&keys(1), &plain));
        let other = sealed(&keys(2), &plain);
        assert_ne!(one.bytes, other.bytes);
        assert_ne!(one.chunk.key, other.chunk.key);
        assert!(Opener::new().expect("set up").open(&other.chunk, one.bytes).is_err());
    }

    #[test]
    fn no_key_seals_two_texts() {
        let (keys, plain) = (keys(1), words(1, 50_000));
        let tag = keys.tag(&plain);
        let mut seen = std::collections::HashSet::new();
        for level in [None, Some(Level::new(1)), Some(Level::new(9))] {
            let mut squeezer = Squeezer::new(level).expect("set up");
            let sealed = keys.seal(&tag, squeezer.squeeze(&plain));
            assert!(seen.insert(*sealed.chunk.key.expose()), "level {level:?}");
            assert_eq!(Opener::new().expect("set up").open(&sealed.chunk, sealed.bytes).expect("opened"), plain);
        }
    }

    #[test]
    fn keys_are_not_printed() {
        let text = format!("{:?}", sealed(&keys(1), b"hello").chunk);
        assert!(text.contains("key: [redacted]"), "{text}");
    }

    #[test]
    fn sealed_bytes_are_pinned() {
        let sealed = sealed(&keys(1), b"hello");
        assert_eq!(sealed.chunk.id.to_string(), PINNED);
    }

    const PINNED: &str = "917ba7151c2d57db1d55495e38745e2e3040e070a4ddb1702b193d2d6f68a71f";

    #[test]
    fn a_chunk_of_another_declared_size_is_refused() {
        let Sealed { chunk, bytes } = sealed(&keys(1), &words(5, 9_000));
        let mut opener = Opener::new().expect("set up");
        for plain_bytes in [0, 8_999, 9_001, u32::MAX] {
            let lying = ChunkRef { plain_bytes, ..chunk.clone() };
            assert!(matches!(opener.open(&lying, bytes.clone()), Err(Error::Content(_))), "{plain_bytes}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_sealed_opens_and_what_is_damaged_does_not(
            seed: u64, size in 1_usize..PLAIN_BYTES_MAX, is_text: bool, at: prop::sample::Index, bit in 0_u32..8,
        ) {
            let plain = if is_text { words(seed, size) } else { noise(seed, size) };
            let Sealed { chunk, bytes } = sealed(&keys(3), &plain);
            let mut opener = Opener::new().expect("set up");
            prop_assert!(opener.open(&chunk, bytes.clone()).expect("opened") == plain);
            let mut damaged = bytes;
            let at = at.index(damaged.len());
            damaged[at] ^= 1 << bit;
            prop_assert!(opener.open(&chunk, damaged.clone()).is_err());
            damaged.truncate(at);
            prop_assert!(opener.open(&chunk, damaged).is_err());
        }
    }
}
