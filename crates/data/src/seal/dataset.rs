//! The key of a dataset, which opens its root and, by it, everything below.
use std::fmt;

use zeroize::Zeroizing;

use super::{Error, Keys, open_in_place, seal_in_place};

/// Opens the root of one dataset.
#[derive(Clone, PartialEq, Eq)]
pub struct DatasetKey(pub(super) Zeroizing<[u8; 32]>);

impl fmt::Debug for DatasetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// How many bytes stand before a sealed root, in the open: they tell its owner which key opens it, and others nothing.
const MARK_BYTES: usize = 32;

impl DatasetKey {
    /// The key that was kept as these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes, to be handed to those who may read the dataset.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn open_root(&self, mut sealed: Vec<u8>) -> Result<Vec<u8>, Error> {
        let what = "the root of a dataset";
        let (mark, text) = sealed.split_first_chunk_mut::<MARK_BYTES>().ok_or(Error::Shut { what })?;
        let length = open_in_place(&self.0, mark, text, what)?.len();
        sealed.drain(..MARK_BYTES);
        sealed.truncate(length);
        Ok(sealed)
    }
}

impl Keys {
    /// Seals the encoded root of a dataset under a key that belongs to exactly this root.
    pub(crate) fn seal_root(&self, mut text: Vec<u8>) -> (DatasetKey, Vec<u8>) {
        let mark = *blake3::keyed_hash(&self.root_mark, &text).as_bytes();
        let key = self.key_of(&mark);
        seal_in_place(&key.0, &mark, &mut text);
        text.splice(..0, mark);
        (key, text)
    }

    /// What opens a root that was sealed with these keys.
    pub fn dataset_key(&self, sealed: &[u8]) -> Result<DatasetKey, Error> {
        let mark = sealed.first_chunk().ok_or(Error::Shut { what: "the root of a dataset" })?;
        Ok(self.key_of(mark))
    }

    fn key_of(&self, mark: &[u8; MARK_BYTES]) -> DatasetKey {
        DatasetKey(Zeroizing::new(*blake3::keyed_hash(&self.dataset, mark).as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use crate::seal::AccountSecret;

    #[test]
    fn a_root_opens_with_its_own_key_only() {
        let keys = AccountSecret::from_bytes([1; 32]).keys();
        let (key, sealed) = keys.seal_root(b"one".to_vec());
        let (other, _) = keys.seal_root(b"two".to_vec());
        assert_eq!(key.open_root(sealed.clone()).expect("opened"), b"one");
        assert!(other.open_root(sealed).is_err());
        assert_eq!(format!("{key:?}"), "[redacted]");
    }

    #[test]
    fn its_owner_needs_nothing_but_the_secret() {
        let (keys, others) = (AccountSecret::from_bytes([1; 32]).keys(), AccountSecret::from_bytes([2; 32]).keys());
        let (key, sealed) = keys.seal_root(b"one".to_vec());
        assert_eq!(keys.dataset_key(&sealed).expect("has a mark"), key);
        assert_ne!(others.dataset_key(&sealed).expect("has a mark"), key);
        assert!(keys.dataset_key(&sealed[..31]).is_err() && key.open_root(sealed[..31].to_vec()).is_err());
    }
}
