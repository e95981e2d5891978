//! The root of a dataset: what it amounts to, and the chunks that its manifest is in. Whoever has its key has it all.
use gleaner_wire::{BlobRef, Hash};

use super::bytes::{array, number, number_to, put_number};
use super::decode::chunk;
use super::encode::put_chunk;
use super::{Error, Totals, VERSION};
use crate::chunk::ChunkRef;
use crate::seal::{DatasetKey, Keys};

/// The largest sealed root: it is stored and sent as a chunk.
pub const ROOT_BYTES_MAX: usize = crate::store::CHUNK_BYTES_MAX;
/// The most chunks that a manifest may be in, which is enough for about a terabyte.
pub const CHUNKS_MAX: usize = 15_000;
/// A manifest up to this size travels in the root itself.
pub const INLINE_BYTES_MAX: usize = 16 * 1024;

/// The root of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// What the dataset amounts to. Nothing beyond it is ever written.
    pub totals: Totals,
    /// How long the manifest is.
    pub manifest_bytes: u64,
    /// The chunks of the manifest, in order; none if it is here.
    pub chunks: Vec<ChunkRef>,
    /// The manifest itself, if it is short.
    pub manifest: Vec<u8>,
}

/// A sealed root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedRoot {
    /// What names it.
    pub blob: BlobRef,
    /// What opens it.
    pub key: DatasetKey,
    /// The sealed bytes.
    pub bytes: Vec<u8>,
}

impl Root {
    /// Seals it. The same dataset of the same account gives the same bytes.
    pub fn seal(&self, keys: &Keys) -> Result<SealedRoot, Error> {
        let (key, bytes) = keys.seal_root(self.encode()?);
        Ok(SealedRoot { blob: BlobRef::of(&bytes), key, bytes })
    }

    /// Opens and checks a sealed root.
    pub fn open(key: &DatasetKey, sealed: Vec<u8>) -> Result<Self, Error> {
        if sealed.len() > ROOT_BYTES_MAX {
            return Err(Error::Refused("its root is too large"));
        }
        Self::decode(&key.open_root(sealed)?)
    }

    fn encode(&self) -> Result<Vec<u8>, Error> {
        if self.chunks.len() > CHUNKS_MAX {
            return Err(Error::Refused("it is too long: split the dataset"));
        }
        let mut bytes = vec![VERSION];
        let Totals { entries, bytes: file_bytes, stored_bytes } = self.totals;
        for number in [entries, file_bytes, stored_bytes, self.manifest_bytes, self.chunks.len() as u64] {
            put_number(&mut bytes, number)?;
        }
        self.chunks.iter().try_for_each(|chunk| put_chunk(&mut bytes, chunk))?;
        bytes.extend_from_slice(&self.manifest);
        Ok(bytes)
    }

    fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let from = &mut &bytes[..];
        match array(from)? {
            [VERSION] => {}
            [found] => return Err(Error::Version { found }),
        }
        let mut total = || number(from);
        let totals = Totals { entries: total()?, bytes: total()?, stored_bytes: total()? };
        let manifest_bytes = total()?;
        let count = number_to(from, CHUNKS_MAX as u64, "its root has too many chunks")?;
        let chunks: Vec<_> = (0..count).map(|_| chunk(from)).collect::<Result<_, _>>()?;
        let inside: u64 = chunks.iter().map(|chunk| u64::from(chunk.plain_bytes)).sum();
        let manifest = from.to_vec();
        let is_whole = if chunks.is_empty() { manifest.len() as u64 } else { inside } == manifest_bytes;
        if !is_whole || manifest.len() > if chunks.is_empty() { INLINE_BYTES_MAX } else { 0 } {
            return Err(Error::Refused("its root does not fit itself"));
        }
        Ok(Self { totals, manifest_bytes, chunks, manifest })
    }
}

impl SealedRoot {
    /// The name of the root.
    pub fn id(&self) -> Hash {
        self.blob.id
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::seal::{AccountSecret, ChunkKey};

    fn root() -> Root {
        let chunk = |number: u8| ChunkRef {
            id: Hash([number; 32]),
            key: ChunkKey::from_bytes([number; 32]),
            plain_bytes: 1000,
            sealed_bytes: 900,
        };
        let totals = Totals { entries: 3, bytes: 70_000, stored_bytes: 60_000 };
        Root { totals, manifest_bytes: 3000, chunks: (1..=3).map(chunk).collect(), manifest: Vec::new() }
    }

    #[test]
    fn a_short_manifest_travels_in_the_root() {
        let keys = AccountSecret::from_bytes([1; 32]).keys();
        let short = Root { manifest_bytes: 5, chunks: Vec::new(), manifest: b"short".to_vec(), ..root() };
        let sealed = short.seal(&keys).expect("sealed");
        assert_eq!(Root::open(&sealed.key, sealed.bytes).expect("opened"), short);
        for wrong in [
            Root { manifest_bytes: 6, ..short.clone() },
            Root { manifest: b"short".to_vec(), ..root() },
            Root { manifest: vec![0; INLINE_BYTES_MAX + 1], manifest_bytes: INLINE_BYTES_MAX as u64 + 1, ..short },
        ] {
            assert!(Root::decode(&wrong.encode().expect("encoded")).is_err());
        }
    }

    #[test]
    fn a_root_is_sealed_and_opened() {
        let keys = AccountSecret::from_bytes([1; 32]).keys();
        let sealed = root().seal(&keys).expect("sealed");
        assert_eq!(sealed, root().seal(&keys).expect("sealed"));
        assert_eq!(Root::open(&sealed.key, sealed.bytes.clone()).expect("opened"), root());
        let mut damaged = sealed.bytes;
        damaged[5] ^= 1;
        assert!(Root::open(&sealed.key, damaged).is_err());
    }

    #[test]
    fn its_encoding_is_pinned() {
        let bytes = root().encode().expect("encoded");
        assert_eq!(bytes[..13], [1, 3, 240, 162, 4, 224, 212, 3, 184, 23, 3, 1, 1]);
        assert_eq!(bytes.len(), 11 + 3 * 68);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, at: prop::sample::Index, value: u8) {
            let _ = Root::decode(&bytes);
            let mut encoded = root().encode().expect("encoded");
            let at = at.index(encoded.len());
            encoded[at] = value;
            if let Ok(other) = Root::decode(&encoded) {
                prop_assert_eq!(other.encode().expect("encoded"), encoded);
            }
        }
    }
}
