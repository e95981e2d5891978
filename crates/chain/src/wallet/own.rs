//! A wallet that opens without anyone at the keyboard: its password is drawn by chance and kept beside it, in a file that
//! only its user can read.
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Cost, Error, Password, Unlock, create, open};
use crate::account::Account;

/// Where the password of a keystore file is kept if it is kept beside it.
pub fn password_file(wallet: &Path) -> PathBuf {
    wallet.with_extension("password")
}

/// The account in a keystore file, which is made at first use with its password beside it.
pub fn own(wallet: &Path) -> Result<Account, Error> {
    let password_file = password_file(wallet);
    if !wallet.exists() {
        let password = draw_password(&password_file)?;
        // Nobody guesses 256 random bits, however cheap each guess is.
        create(wallet, &Account::random(), &password, Cost::QUICK)?;
    }
    let password = Unlock::File(password_file).password("")?;
    open(wallet, &password)
}

fn draw_password(path: &Path) -> Result<Password, Error> {
    let failed = |source| Error::File { doing: "write", path: path.to_owned(), source };
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| failed(std::io::Error::other(error)))?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    // A password without its keystore is of a start that was cut short.
    let mut file = private().open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok(Password::new(text))
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wallet_of_ones_own_lasts_and_opens_by_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = (folder.path().join("keys/one.json"), folder.path().join("keys/other.json"));
        let first = own(&one).expect("made").address();
        assert_eq!(own(&one).expect("opened").address(), first);
        assert_ne!(own(&other).expect("made").address(), first);
    }

    #[cfg(unix)]
    #[test]
    fn its_password_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let wallet = folder.path().join("one.json");
        own(&wallet).expect("made");
        let mode = std::fs::metadata(password_file(&wallet)).expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "mode {mode:o}");
    }

    #[test]
    fn a_start_that_was_cut_short_is_begun_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let wallet = folder.path().join("one.json");
        draw_password(&password_file(&wallet)).expect("written");
        own(&wallet).expect("made after all");
    }
}
