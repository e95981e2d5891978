//! Keys at rest: one encrypted file for each account, and the ways to come by the password that opens it.
//!
//! Files have the Web3 Secret Storage format, version 3, so that every Ethereum wallet reads them. Nothing secret is
//! ever an argument, an environment variable or a line of a log; passwords and keys print as `[redacted]`.
mod keystore;
mod own;
mod password;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use alloy_primitives::Address;

pub use keystore::{Cost, Keystore};
pub use own::{own, password_file};
pub use password::{Password, Unlock};

use crate::account::Account;

/// The longest file that is read as a keystore.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Why a wallet could not be made or opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read or written.
    #[error("could not {doing} {}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A wallet is never overwritten.
    #[error("{} exists already: it may hold the only key to someone's money, so it is not overwritten", .0.display())]
    Exists(PathBuf),
    /// The file is not a keystore, or one with settings that are not supported or not safe.
    #[error("{} is not a keystore that can be opened: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The password does not fit.
    #[error("wrong password for {}", .0.display())]
    Password(PathBuf),
    /// No password could be had.
    #[error("no password: {0}")]
    NoPassword(String),
    /// The password file lets others read it.
    #[error("{} can be read by other users: make it private with `chmod 600`", .0.display())]
    Public(PathBuf),
    /// The system's keyring did not answer.
    #[error("the system's keyring refused")]
    Keyring(#[source] keyring::Error),
}

/// Writes a new keystore file, readable by its owner only and on disk before this returns. Never overwrites one.
pub fn create(path: &Path, account: &Account, password: &Password, cost: Cost) -> Result<(), Error> {
    let failed = |doing| move |source| Error::File { doing, path: path.to_owned(), source };
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed("create the folder of"))?;
    if path.exists() {
        return Err(Error::Exists(path.to_owned()));
    }
    let text = Keystore::seal(account, password, cost).to_json();
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed("write"))?;
    file.write_all(text.as_bytes()).map_err(failed("write"))?;
    file.as_file().sync_all().map_err(failed("write"))?;
    file.persist_noclobber(path).map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => Error::Exists(path.to_owned()),
        _ => failed("write")(error.error),
    })?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("write the folder of"))
}

/// Opens a keystore file.
pub fn open(path: &Path, password: &Password) -> Result<Account, Error> {
    read(path)?.open(password).map_err(|error| match error {
        keystore::Error::Password => Error::Password(path.to_owned()),
        keystore::Error::Format(reason) => Error::Format { path: path.to_owned(), reason },
    })
}

/// The address that a keystore file names, without opening it. Some wallets leave it out.
pub fn address(path: &Path) -> Result<Option<Address>, Error> {
    Ok(read(path)?.address)
}

fn read(path: &Path) -> Result<Keystore, Error> {
    let failed = |source| Error::File { doing: "read", path: path.to_owned(), source };
    let length = fs::metadata(path).map_err(failed)?.len();
    let format = |reason: String| Error::Format { path: path.to_owned(), reason };
    if length > FILE_BYTES_MAX {
        return Err(format(format!("it has {length} bytes, more than {FILE_BYTES_MAX}")));
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    Keystore::from_json(&text).map_err(|error| format(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_created_wallet_opens_with_its_password_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys/main.json");
        let account = Account::random();
        create(&path, &account, &Password::new("correct horse"), Cost::QUICK).expect("created");
        assert_eq!(address(&path).expect("readable"), Some(account.address()));
        let opened = open(&path, &Password::new("correct horse")).expect("the right password");
        assert_eq!(opened.address(), account.address());
        assert!(matches!(open(&path, &Password::new("wrong")), Err(Error::Password(_))));
    }

    #[test]
    fn a_wallet_is_never_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("main.json");
        let password = Password::new("p");
        let first = Account::random();
        create(&path, &first, &password, Cost::QUICK).expect("created");
        let again = create(&path, &Account::random(), &password, Cost::QUICK);
        assert!(matches!(again, Err(Error::Exists(_))));
        assert_eq!(open(&path, &password).expect("still there").address(), first.address());
    }

    #[cfg(unix)]
    #[test]
    fn a_wallet_file_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("main.json");
        create(&path, &Account::random(), &Password::new("p"), Cost::QUICK).expect("created");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "mode {mode:o}");
    }
}
