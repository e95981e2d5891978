//! The key by which clients know the server again.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::keys::{Algorithm, HashAlg, PrivateKey};

/// No key file is longer than this.
const FILE_BYTES_MAX: u64 = 16 * 1024;

/// An ed25519 key of a server.
#[derive(Clone)]
pub struct HostKey(PrivateKey);

/// Why there is no host key.
#[derive(Debug, thiserror::Error)]
pub enum HostKeyError {
    /// The file cannot be read or written.
    #[error("could not use the SSH host key in {}", path.display())]
    File {
        /// Where it is, or was to be.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Others can read the file.
    #[error("others can read the SSH host key in {}: run chmod 600 on it", path.display())]
    Open {
        /// Where it is.
        path: PathBuf,
    },
    /// The file is no ed25519 key.
    #[error("{} is not an ed25519 key in OpenSSH's format without a password", path.display())]
    Format {
        /// Where it is.
        path: PathBuf,
    },
    /// The system gave no random bytes.
    #[error("could not make an SSH host key: the system gave no random bytes")]
    Random(#[source] getrandom::Error),
}

impl HostKey {
    /// Makes a key from the 32 bytes of its seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let data = KeypairData::Ed25519(Ed25519Keypair::from_seed(seed));
        Self(PrivateKey::new(data, "").expect("an ed25519 key pair without a comment is a key"))
    }

    /// Loads the key from a file in OpenSSH's format. Without a file, makes a key and keeps it there, for the owner only.
    pub fn load_or_make(path: &Path) -> Result<Self, HostKeyError> {
        match Self::load(path) {
            Err(HostKeyError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Self::make(path),
            loaded => loaded,
        }
    }

    fn load(path: &Path) -> Result<Self, HostKeyError> {
        let failed = |source| HostKeyError::File { path: path.to_path_buf(), source };
        let file = OpenOptions::new().read(true).open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.mode() & 0o077 != 0 {
            return Err(HostKeyError::Open { path: path.to_path_buf() });
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
        match PrivateKey::from_openssh(&text) {
            Ok(key) if key.algorithm() == Algorithm::Ed25519 && !key.is_encrypted() => Ok(Self(key)),
            Ok(_) | Err(_) => Err(HostKeyError::Format { path: path.to_path_buf() }),
        }
    }

    fn make(path: &Path) -> Result<Self, HostKeyError> {
        let failed = |source| HostKeyError::File { path: path.to_path_buf(), source };
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(HostKeyError::Random)?;
        let key = Self::from_seed(&seed);
        let text = key.0.to_openssh(LineEnding::LF).expect("an unencrypted key can be written");
        // Written beside and renamed, so that a crash leaves no half of a key.
        let beside = path.with_extension("new");
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        std::fs::rename(&beside, path).map_err(failed)?;
        Ok(key)
    }

    /// What users compare when their client asks whether it is the right server: `SHA256:` and base64.
    pub fn fingerprint(&self) -> String {
        self.0.fingerprint(HashAlg::Sha256).to_string()
    }

    /// The public key as a line for `known_hosts`, without the name of the host.
    pub fn public_line(&self) -> String {
        self.0.public_key().to_openssh().expect("a public key can be written")
    }

    pub(crate) fn private(&self) -> PrivateKey {
        self.0.clone()
    }
}

impl fmt::Debug for HostKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HostKey([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_key_stays_the_same_and_is_the_owners_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("host_key");
        let made = HostKey::load_or_make(&path).expect("it is made");
        let loaded = HostKey::load_or_make(&path).expect("it is loaded");
        assert_eq!(made.fingerprint(), loaded.fingerprint());
        assert_eq!(std::fs::metadata(&path).expect("it is there").mode() & 0o777, 0o600);
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("host_key");
        HostKey::load_or_make(&path).expect("it is made");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("it is ours");
        assert!(matches!(HostKey::load_or_make(&path), Err(HostKeyError::Open { .. })));
    }

    #[test]
    fn a_broken_key_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("host_key");
        HostKey::load_or_make(&path).expect("it is made");
        std::fs::write(&path, "half a key").expect("it is ours");
        assert!(matches!(HostKey::load_or_make(&path), Err(HostKeyError::Format { .. })));
        assert_eq!(std::fs::read(&path).expect("it is there"), b"half a key");
    }
}
