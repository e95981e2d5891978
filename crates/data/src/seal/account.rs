//! The secret of an account, and the keys that come from it.
use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use super::Error;

/// The one secret of an account: whoever has it can read all its datasets.
#[derive(Clone)]
pub struct AccountSecret(Zeroizing<[u8; 32]>);

impl fmt::Debug for AccountSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl AccountSecret {
    /// Draws a new secret.
    pub fn random() -> Result<Self, Error> {
        let mut secret = Self(Zeroizing::new([0; 32]));
        getrandom::fill(&mut secret.0[..]).map_err(Error::Random)?;
        Ok(secret)
    }

    /// The secret that was kept as these bytes.
    pub fn from_bytes(mut bytes: [u8; 32]) -> Self {
        let secret = Self(Zeroizing::new(bytes));
        bytes.zeroize();
        secret
    }

    /// The bytes, to be kept where only their owner can read them.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// A secret for one purpose, from which nobody finds back to this one: for a task's results, say.
    #[must_use]
    pub fn derive(&self, purpose: &[u8]) -> Self {
        let root = blake3::derive_key("gleaner 2026 data purpose", &self.0[..]);
        Self(Zeroizing::new(*blake3::keyed_hash(&root, purpose).as_bytes()))
    }

    /// The keys of this account.
    pub fn keys(&self) -> Keys {
        let derive = |purpose: &str| Zeroizing::new(blake3::derive_key(purpose, &self.0[..]));
        let seed = derive("gleaner 2026 data cut");
        Keys {
            tag: derive("gleaner 2026 data tag"),
            chunk: derive("gleaner 2026 data chunk"),
            dataset: derive("gleaner 2026 data dataset"),
            root_mark: derive("gleaner 2026 data root"),
            short: derive("gleaner 2026 data short"),
            sums: derive("gleaner 2026 data sums"),
            cut_seed: u64::from_le_bytes(seed[..8].try_into().expect("eight bytes")),
        }
    }
}

/// The keys of an account, one for each purpose.
#[derive(Clone)]
pub struct Keys {
    tag: Zeroizing<[u8; 32]>,
    pub(super) chunk: Zeroizing<[u8; 32]>,
    pub(super) dataset: Zeroizing<[u8; 32]>,
    pub(super) root_mark: Zeroizing<[u8; 32]>,
    pub(super) short: Zeroizing<[u8; 32]>,
    pub(crate) sums: Zeroizing<[u8; 32]>,
    pub(crate) cut_seed: u64,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// What an account knows a chunk's content by. It stays on the owner's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub [u8; 32]);

impl Keys {
    /// The tag of a chunk.
    pub fn tag(&self, plain: &[u8]) -> Tag {
        Tag(*blake3::keyed_hash(&self.tag, plain).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_printed() {
        let secret = AccountSecret::from_bytes([7; 32]);
        assert_eq!(format!("{secret:?} {:?}", secret.keys()), "[redacted] [redacted]");
    }

    #[test]
    fn tags_are_an_accounts_own() {
        let (one, other) = (AccountSecret::random().expect("drawn"), AccountSecret::random().expect("drawn"));
        assert_eq!(one.keys().tag(b"text"), AccountSecret::from_bytes(*one.expose()).keys().tag(b"text"));
        assert_ne!(one.keys().tag(b"text"), other.keys().tag(b"text"));
        assert_ne!(one.keys().tag(b"text").0, *blake3::hash(b"text").as_bytes());
    }

    #[test]
    fn derived_secrets_differ_and_come_out_the_same_again() {
        let secret = AccountSecret::from_bytes([1; 32]);
        assert_eq!(secret.derive(b"a").expose(), secret.derive(b"a").expose());
        assert_ne!(secret.derive(b"a").expose(), secret.derive(b"b").expose());
        assert_ne!(secret.derive(b"").expose(), secret.expose());
    }

    #[test]
    fn each_purpose_has_its_own_key() {
        let keys = AccountSecret::from_bytes([1; 32]).keys();
        let all = [&keys.tag, &keys.chunk, &keys.dataset, &keys.root_mark, &keys.short, &keys.sums].map(|key| **key);
        assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), all.len());
    }
}
