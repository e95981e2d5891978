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

impl Keys {
    /// Seals the encoded root of a dataset under a key that belongs to exactly this root.
    pub(crate) fn seal_root(&self, mut text: Vec<u8>) -> (DatasetKey, Vec<u8>) {
        let key = DatasetKey(Zeroizing::new(*blake3::keyed_hash(&self.dataset, &text).as_bytes()));
        seal_in_place(&key.0, b"root", &mut text);
        (key, text)
    }
}

impl DatasetKey {
    pub(crate) fn open_root(&self, mut sealed: Vec<u8>) -> Result<Vec<u8>, Error> {
        let length = open_in_place(&self.0, b"root", &mut sealed, "the root of a dataset")?.len();
        sealed.truncate(length);
        Ok(sealed)
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
}
