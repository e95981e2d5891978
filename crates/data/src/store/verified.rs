//! Chunks whose bytes have been hashed, so that nobody on their way to the disk has to do it again.
use super::{CHUNK_BYTES_MAX, Chunk, Error};
use bytes::Bytes;
use gleaner_wire::{BlobRef, Hash};

/// A chunk whose bytes are what its name says and that a store takes. The only way to one is to hash the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    id: Hash,
    bytes: Bytes,
}

impl Verified {
    /// A chunk of these bytes, with its name computed.
    pub fn of(bytes: Bytes) -> Result<Self, Error> {
        let id = Hash::of(&bytes);
        measured(id, &bytes).map(|()| Self { id, bytes })
    }

    /// A chunk that somebody else has named.
    pub fn check(chunk: Chunk) -> Result<Self, Error> {
        let Chunk { id, bytes } = chunk;
        measured(id, &bytes)?;
        if Hash::of(&bytes) == id { Ok(Self { id, bytes }) } else { Err(Error::Mismatch(id)) }
    }

    /// The BLAKE3 hash of the bytes.
    pub fn id(&self) -> Hash {
        self.id
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Its name and its length.
    pub fn blob(&self) -> BlobRef {
        BlobRef { id: self.id, bytes: self.bytes.len() as u64 }
    }
}

fn measured(id: Hash, bytes: &Bytes) -> Result<(), Error> {
    if bytes.is_empty() {
        return Err(Error::Empty);
    }
    if bytes.len() > CHUNK_BYTES_MAX {
        return Err(Error::TooLarge { id, bytes: bytes.len() as u64, max: CHUNK_BYTES_MAX as u64 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_chunks_that_are_what_they_are_called_are_verified() {
        let good = Chunk::of(vec![1; 9]);
        assert_eq!(Verified::check(good.clone()).expect("good").blob(), BlobRef::of(&[1; 9]));
        let bad = Chunk { id: good.id, bytes: Bytes::from(vec![2; 9]) };
        assert!(matches!(Verified::check(bad), Err(Error::Mismatch(_))));
        assert!(matches!(Verified::of(Bytes::new()), Err(Error::Empty)));
        assert!(matches!(Verified::of(vec![0; CHUNK_BYTES_MAX + 1].into()), Err(Error::TooLarge { .. })));
    }
}
