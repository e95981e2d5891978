//! Who may ask: the operator's token in a file, and a token for each worker's connection.
//!
//! Tokens are compared and kept by their hash, so that neither a timing nor a memory dump of the table gives one away.
use crate::Error;
use gleaner_accounts::AccountId;
use gleaner_wire::{WorkerId, WorkerKey};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{Read, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

/// The longest token that is looked at.
const TOKEN_BYTES_MAX: usize = 128;

/// Who is asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Holds the token of the hub's folder.
    Operator,
    /// A connected worker; it may use chunks, outputs and its own keys only.
    Worker(WorkerId, WorkerKey),
    /// An account; it may use what is its own.
    Account(AccountId),
}

/// The tokens that are valid now.
pub(crate) struct Tokens {
    operator: blake3::Hash,
    sessions: RwLock<HashMap<[u8; 32], (WorkerId, WorkerKey)>>,
}

/// A worker's token; it is valid until this is dropped.
pub(crate) struct SessionToken {
    tokens: Arc<Tokens>,
    text: String,
}

impl Tokens {
    /// Reads the operator's token from its file, or makes it.
    pub(crate) fn open(path: &Path) -> Result<Arc<Self>, Error> {
        let folder = |source| Error::Folder { path: path.to_owned(), source };
        let text = match std::fs::File::open(path) {
            Ok(file) => {
                let mut text = String::new();
                file.take(TOKEN_BYTES_MAX as u64).read_to_string(&mut text).map_err(folder)?;
                text
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => make_token_file(path)?,
            Err(error) => return Err(folder(error)),
        };
        let text = text.trim();
        if text.len() < 32 {
            let reason = "the token in it is shorter than 32 characters: delete the file to have a new one made";
            return Err(folder(std::io::Error::other(reason)));
        }
        Ok(Arc::new(Self { operator: blake3::hash(text.as_bytes()), sessions: RwLock::default() }))
    }

    /// Whose token this is.
    pub(crate) fn caller(&self, token: &str) -> Option<Caller> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let hash = blake3::hash(token.as_bytes());
        if hash == self.operator {
            return Some(Caller::Operator);
        }
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        sessions.get(hash.as_bytes()).map(|(worker, key)| Caller::Worker(*worker, *key))
    }

    /// Whether a worker with this key is connected.
    pub(crate) fn is_connected(&self, key: &WorkerKey) -> bool {
        self.sessions.read().unwrap_or_else(PoisonError::into_inner).values().any(|(_, other)| other == key)
    }

    /// A new token for a worker's connection.
    pub(crate) fn issue(self: &Arc<Self>, worker: WorkerId, key: WorkerKey) -> Result<SessionToken, Error> {
        let token = SessionToken { tokens: Arc::clone(self), text: random_hex()? };
        self.sessions.write().unwrap_or_else(PoisonError::into_inner).insert(token.hash(), (worker, key));
        Ok(token)
    }
}

impl SessionToken {
    /// The token itself, for its worker only.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn hash(&self) -> [u8; 32] {
        *blake3::hash(self.text.as_bytes()).as_bytes()
    }
}

impl Drop for SessionToken {
    fn drop(&mut self) {
        self.tokens.sessions.write().unwrap_or_else(PoisonError::into_inner).remove(&self.hash());
    }
}

/// 32 random bytes.
pub(crate) fn random_bytes() -> Result<[u8; 32], Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(Error::Random)?;
    Ok(bytes)
}

fn random_hex() -> Result<String, Error> {
    let mut text = String::with_capacity(64);
    for byte in random_bytes()? {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
    }
    Ok(text)
}

fn make_token_file(path: &Path) -> Result<String, Error> {
    let folder = |source| Error::Folder { path: path.to_owned(), source };
    let text = random_hex()?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(folder)?;
    file.write_all(text.as_bytes()).map_err(folder)?;
    file.sync_all().map_err(folder)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_file_is_made_once_and_only_its_owner_reads_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("api.token");
        let tokens = Tokens::open(&path).expect("made");
        let text = std::fs::read_to_string(&path).expect("there");
        assert_eq!(std::fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(tokens.caller(&text), Some(Caller::Operator));
        assert_eq!(Tokens::open(&path).expect("read").caller(&text), Some(Caller::Operator));
        assert_eq!(tokens.caller(""), None);
        assert_eq!(tokens.caller(&text[1..]), None);
    }

    #[test]
    fn a_workers_token_ends_with_its_connection() {
        let dir = tempfile::tempdir().expect("a folder");
        let tokens = Tokens::open(&dir.path().join("api.token")).expect("made");
        let token = tokens.issue(WorkerId(7), WorkerKey([7; 32])).expect("issued");
        let text = token.text().to_owned();
        assert_eq!(tokens.caller(&text), Some(Caller::Worker(WorkerId(7), WorkerKey([7; 32]))));
        drop(token);
        assert_eq!(tokens.caller(&text), None);
    }
}
