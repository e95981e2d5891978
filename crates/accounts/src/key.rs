//! The key in the hub's folder: it seals what must be read again, and authenticates what is handed out.
//!
//! Whoever steals the database alone gets neither secrets of second factors nor the means to make challenges.
use crate::{Chance, Error, chance};
use data_encoding::HEXLOWER;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use zeroize::Zeroizing;

/// The length of the key.
const KEY_BYTES: usize = 32;

/// What the key is used for; each use has a key of its own.
#[derive(Clone, Copy)]
pub(crate) enum Use {
    /// Challenges that wallets and passkeys sign.
    Challenge,
    /// What a page sends with each change.
    Csrf,
}

impl Use {
    fn context(self) -> &'static str {
        match self {
            Self::Challenge => "gleaner accounts 2026 challenge",
            Self::Csrf => "gleaner accounts 2026 csrf",
        }
    }
}

/// The key, and what is made of it.
pub(crate) struct Key {
    root: Zeroizing<[u8; KEY_BYTES]>,
    seal: LessSafeKey,
}

impl Key {
    /// Reads the key, or makes it.
    pub(crate) fn open(path: &Path, chance: &dyn Chance) -> Result<Self, Error> {
        let file = |source| Error::File { path: path.to_owned(), source };
        if !fs::exists(path).map_err(file)? {
            make(path, chance)?;
        }
        let text = Zeroizing::new(fs::read_to_string(path).map_err(file)?);
        let bytes = HEXLOWER.decode(text.trim().as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.ok_or_else(|| file(io::Error::other("it does not hold a key of 64 hexadecimal digits")))?;
        Ok(Self::from_bytes(bytes))
    }

    fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        let seal = Zeroizing::new(blake3::derive_key("gleaner accounts 2026 seal", &bytes));
        let seal = UnboundKey::new(&AES_256_GCM, &*seal).expect("a key of 32 bytes fits AES-256");
        Self { root: Zeroizing::new(bytes), seal: LessSafeKey::new(seal) }
    }

    /// What tells this key from others, without telling the key.
    pub(crate) fn check(&self) -> [u8; 32] {
        blake3::derive_key("gleaner accounts 2026 check", &*self.root)
    }

    /// A code that only this key makes of the parts.
    pub(crate) fn mac(&self, purpose: Use, parts: &[&[u8]]) -> blake3::Hash {
        let key = Zeroizing::new(blake3::derive_key(purpose.context(), &*self.root));
        let mut hasher = blake3::Hasher::new_keyed(&key);
        for part in parts {
            // Lengths keep parts apart.
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        hasher.finalize()
    }

    /// Seals a text for a place; elsewhere it does not open.
    pub(crate) fn seal(&self, place: &[u8], text: &[u8], chance: &dyn Chance) -> Result<Vec<u8>, Error> {
        let nonce: [u8; NONCE_LEN] = chance::bytes(chance)?;
        let mut sealed = text.to_vec();
        let done =
            self.seal.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(place), &mut sealed);
        done.expect("a short text can be sealed");
        Ok([&nonce[..], &sealed].concat())
    }

    /// Opens what was sealed for a place.
    pub(crate) fn open_sealed(&self, place: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut text = Zeroizing::new(sealed.to_vec());
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self.seal.open_in_place(nonce, Aad::from(place), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

/// Makes a key file whole or not at all; if another process was faster, its key stands.
fn make(path: &Path, chance: &dyn Chance) -> Result<(), Error> {
    let file = |source| Error::File { path: path.to_owned(), source };
    let bytes = Zeroizing::new(chance::bytes::<KEY_BYTES>(chance)?);
    let text = Zeroizing::new(HEXLOWER.encode(&*bytes));
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut made = tempfile::NamedTempFile::new_in(folder).map_err(file)?;
    made.as_file().set_permissions(fs::Permissions::from_mode(0o600)).map_err(file)?;
    made.write_all(text.as_bytes()).map_err(file)?;
    made.as_file().sync_all().map_err(file)?;
    match made.persist_noclobber(path) {
        Ok(_) => fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(file),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(file(error.error)),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::SystemChance;

    #[test]
    fn a_key_is_made_once_and_only_its_owner_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("accounts.key");
        let first = Key::open(&path, &SystemChance).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Key::open(&path, &SystemChance).unwrap().check(), first.check());
        make(&path, &SystemChance).unwrap();
        assert_eq!(Key::open(&path, &SystemChance).unwrap().check(), first.check(), "the first key stands");
    }

    #[test]
    fn a_broken_key_file_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("accounts.key");
        fs::write(&path, "too short").unwrap();
        assert!(Key::open(&path, &SystemChance).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "too short");
    }

    #[test]
    fn what_is_sealed_opens_at_its_place_alone() {
        let key = Key::from_bytes([7; 32]);
        let sealed = key.seal(b"account 1", b"secret", &SystemChance).unwrap();
        assert_eq!(&**key.open_sealed(b"account 1", &sealed).unwrap(), b"secret");
        assert!(key.open_sealed(b"account 2", &sealed).is_none());
        assert!(Key::from_bytes([8; 32]).open_sealed(b"account 1", &sealed).is_none());
        assert!(key.open_sealed(b"account 1", &sealed[..sealed.len() - 1]).is_none());
        assert!(key.open_sealed(b"account 1", b"short").is_none());
    }

    #[test]
    fn codes_differ_by_purpose_and_by_where_parts_end() {
        let key = Key::from_bytes([7; 32]);
        assert_ne!(key.mac(Use::Csrf, &[b"ab"]), key.mac(Use::Challenge, &[b"ab"]));
        assert_ne!(key.mac(Use::Csrf, &[b"ab", b"c"]), key.mac(Use::Csrf, &[b"a", b"bc"]));
    }
}
