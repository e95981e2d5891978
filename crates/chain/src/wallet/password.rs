//! Where a wallet's password comes from: a prompt, a private file, or the system's keyring.
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use alloy_primitives::Address;
use zeroize::Zeroizing;

use super::Error;

/// The longest password file that is read.
const FILE_BYTES_MAX: u64 = 4 * 1024;
/// The name under which the system's keyring holds our passwords.
const SERVICE: &str = "gleaner wallet";

/// A password. It is wiped from memory when dropped and never printed.
#[derive(Clone)]
pub struct Password(Zeroizing<String>);

impl Password {
    /// This password.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Whether it has no characters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl PartialEq for Password {
    fn eq(&self, other: &Self) -> bool {
        subtle::ConstantTimeEq::ct_eq(self.bytes(), other.bytes()).into()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Where to look for a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unlock {
    /// Ask on the terminal, without echo.
    Prompt,
    /// The first line of a file that only its owner can read.
    File(PathBuf),
    /// What the system's keyring holds for this address.
    Keyring(Address),
}

impl Unlock {
    /// The password, from where it is kept. `question` is what a prompt shows.
    pub fn password(&self, question: &str) -> Result<Password, Error> {
        match self {
            Self::Prompt => prompt(question),
            Self::File(path) => from_file(path),
            Self::Keyring(address) => from_keyring(*address),
        }
    }
}

fn prompt(question: &str) -> Result<Password, Error> {
    let refused = |error| Error::NoPassword(format!("the terminal did not give one ({error}); name a password file"));
    rpassword::prompt_password(question).map(Password::new).map_err(refused)
}

fn from_file(path: &Path) -> Result<Password, Error> {
    let failed = |source| Error::File { doing: "read the password from", path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(failed)?;
    if is_public(&metadata) {
        return Err(Error::Public(path.to_owned()));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(Error::NoPassword(format!("{} is longer than {FILE_BYTES_MAX} bytes", path.display())));
    }
    let text = Zeroizing::new(fs::read_to_string(path).map_err(failed)?);
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() {
        return Err(Error::NoPassword(format!("the first line of {} is empty", path.display())));
    }
    Ok(Password::new(line))
}

#[cfg(unix)]
fn is_public(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_public(_: &fs::Metadata) -> bool {
    false
}

fn entry(address: Address) -> Result<keyring::Entry, Error> {
    keyring::Entry::new(SERVICE, &address.to_checksum(None)).map_err(Error::Keyring)
}

fn from_keyring(address: Address) -> Result<Password, Error> {
    match entry(address)?.get_password() {
        Ok(text) => Ok(Password::new(text)),
        Err(keyring::Error::NoEntry) => {
            Err(Error::NoPassword(format!("the system's keyring holds none for {address}")))
        }
        Err(error) => Err(Error::Keyring(error)),
    }
}

impl Password {
    /// Puts the password into the system's keyring, for this address.
    pub fn remember(&self, address: Address) -> Result<(), Error> {
        entry(address)?.set_password(&self.0).map_err(Error::Keyring)
    }

    /// Takes the password for this address out of the system's keyring.
    pub fn forget(address: Address) -> Result<(), Error> {
        entry(address)?.delete_credential().map_err(Error::Keyring)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn file(content: &str, mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), content).expect("written");
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).expect("set");
        file
    }

    #[test]
    fn the_first_line_of_a_private_file_is_the_password() {
        let file = file("correct horse\nnot this\n", 0o600);
        let password = Unlock::File(file.path().to_owned()).password("").expect("a password");
        assert!(password == Password::new("correct horse"));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let file = file("correct horse\n", 0o640);
        assert!(matches!(from_file(file.path()), Err(Error::Public(_))));
    }

    #[test]
    fn an_empty_or_missing_file_gives_no_password() {
        assert!(matches!(from_file(file("\n", 0o600).path()), Err(Error::NoPassword(_))));
        assert!(matches!(from_file(file(&"x".repeat(5000), 0o600).path()), Err(Error::NoPassword(_))));
        assert!(matches!(from_file(Path::new("/nowhere/at/all")), Err(Error::File { .. })));
    }

    #[test]
    fn a_password_is_never_printed() {
        assert_eq!(format!("{:?}", Password::new("correct horse")), "[redacted]");
    }
}
