//! What the hub decides about the door: where it is, whose it is, and who may come in.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{HostKey, PublicKey};

/// Everything a server needs to know.
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// By which key clients know the server again.
    pub host_key: HostKey,
    /// The folder that holds the users' folders, and nothing else. It is made if it is missing.
    pub root: PathBuf,
    /// The most bytes that all users' folders may hold together.
    pub bytes_max: u64,
    /// Who may come in.
    pub users: Arc<dyn Users>,
}

/// Who may come in. Called from threads that may block.
pub trait Users: Send + Sync {
    /// The account that a password opens. Comparing it in constant time is up to this function; guessing is slowed down
    /// by the server.
    fn password(&self, user: &str, password: &str) -> Option<Account>;
    /// The account that a key opens; the client may not have proved yet that it has the key.
    fn public_key(&self, user: &str, key: &PublicKey) -> Option<Account>;
}

/// A user who has come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The name of the user's folder: one plain name, not starting with a dot.
    pub folder: String,
    /// The most bytes that it may hold.
    pub bytes_max: u64,
}

impl Account {
    /// Whether the folder is a plain name, so that it cannot lie anywhere else.
    pub(crate) fn is_plain(&self) -> bool {
        !self.folder.is_empty() && !self.folder.starts_with('.') && !self.folder.contains(['/', '\0'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_folders() {
        let is_plain = |folder: &str| Account { folder: folder.into(), bytes_max: 0 }.is_plain();
        assert!(is_plain("ada"));
        for folder in ["", ".", "..", ".hidden", "a/b", "/", "a\0"] {
            assert!(!is_plain(folder), "{folder:?}");
        }
    }
}
