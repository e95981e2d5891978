//! Who a worker is: an ed25519 key in its folder, made at first use.
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ed25519_dalek::{Signer, SigningKey};
use gleaner_wire::commit::Tree;
use gleaner_wire::{Finished, Signed, TaskId, WorkerKey, challenge_bytes, receipt};

use crate::Error;

const KEY_FILE: &str = "worker.key";
const LOCK_FILE: &str = "worker.lock";
const KEY_BYTES: usize = 32;

/// A worker's identity; while it lives no other worker runs in the same folder.
pub struct Identity {
    key: SigningKey,
    _lock: Lock,
}

/// A worker's folder, as long as nobody else may use it.
pub(crate) struct Lock(#[expect(dead_code, reason = "it is locked for as long as it is open")] File);

/// Takes a worker's folder, which is made if it is not there; [`Error::Occupied`] if a worker has it.
pub(crate) fn lock(dir: &Path) -> Result<Lock, Error> {
    std::fs::create_dir_all(dir).map_err(Error::file("make the folder", dir))?;
    let path = dir.join(LOCK_FILE);
    let lock = File::create(&path).map_err(Error::file("open", &path))?;
    match lock.try_lock() {
        Ok(()) => Ok(Lock(lock)),
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::Occupied(dir.to_path_buf())),
        Err(std::fs::TryLockError::Error(error)) => Err(Error::file("lock", &path)(error)),
    }
}

impl Identity {
    /// The identity in this folder, made if there is none.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let lock = lock(dir)?;
        Ok(Self { key: load_or_make(&dir.join(KEY_FILE))?, _lock: lock })
    }

    /// The public half.
    pub fn public(&self) -> WorkerKey {
        WorkerKey(self.key.verifying_key().to_bytes())
    }

    /// The key, by which this machine is known to others and which opens what was wrapped for it.
    pub fn key(&self) -> SigningKey {
        self.key.clone()
    }

    /// Signs a hub's challenge.
    pub fn sign(&self, nonce: &[u8; 32]) -> Vec<u8> {
        self.key.sign(&challenge_bytes(nonce, &self.public())).to_bytes().to_vec()
    }
}

impl Identity {
    /// Signs what results claim, for the hub with this key.
    pub fn sign_claims(&self, results: &[Finished], tasks: Vec<TaskId>, hub: &WorkerKey) -> Signed {
        let Some(claims) = receipt::claims(results, &tasks).filter(|claims| !claims.is_empty()) else {
            return Signed::default();
        };
        let root = Tree::of(claims.iter().map(receipt::claim_hash).collect()).root();
        let signature = self.key.sign(&receipt::batch_message(&root, claims.len() as u32, hub)).to_bytes().to_vec();
        Signed { tasks, signature }
    }
}

/// The public half of the identity in a folder, which a worker may be using; made if there is none.
pub fn public_key(dir: &Path) -> Result<WorkerKey, Error> {
    std::fs::create_dir_all(dir).map_err(Error::file("make the folder", dir))?;
    Ok(WorkerKey(load_or_make(&dir.join(KEY_FILE))?.verifying_key().to_bytes()))
}

fn load_or_make(path: &Path) -> Result<SigningKey, Error> {
    match File::open(path) {
        Ok(file) => load(file, path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => make(path),
        Err(error) => Err(Error::file("read", path)(error)),
    }
}

fn load(file: File, path: &Path) -> Result<SigningKey, Error> {
    let mut bytes = Vec::new();
    file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(Error::file("read", path))?;
    let secret: [u8; KEY_BYTES] = bytes.try_into().map_err(|_| Error::Key(path.to_path_buf()))?;
    Ok(SigningKey::from_bytes(&secret))
}

/// Makes a key. It gets its name only when it is on disk, so that a crash leaves no half of one.
fn make(path: &Path) -> Result<SigningKey, Error> {
    let mut secret = [0; KEY_BYTES];
    getrandom::fill(&mut secret).map_err(Error::Chance)?;
    let new = path.with_extension("new");
    let written = || {
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        file.write_all(&secret)?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    written().map_err(Error::file("write", path))?;
    Ok(SigningKey::from_bytes(&secret))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_identity_lasts_and_is_for_its_owner_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let first = Identity::open(dir.path()).expect("makes a key").public();
        assert_eq!(Identity::open(dir.path()).expect("reads the key").public(), first);
        let mode = std::fs::metadata(dir.path().join(KEY_FILE)).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn two_workers_cannot_share_a_folder() {
        let dir = tempfile::tempdir().expect("a folder");
        let _first = Identity::open(dir.path()).expect("makes a key");
        assert!(matches!(Identity::open(dir.path()), Err(Error::Occupied(_))));
    }

    #[test]
    fn a_damaged_key_is_refused_and_not_replaced() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join(KEY_FILE), b"short").expect("writes");
        assert!(matches!(Identity::open(dir.path()), Err(Error::Key(_))));
        assert_eq!(std::fs::read(dir.path().join(KEY_FILE)).expect("is there"), b"short");
    }
}
