//! A wallet that opens without anyone at the keyboard: its password is drawn by chance and kept beside it, in a file that
//! only its user can read.
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Cost, Error, Unlock, create, open};
use crate::account::Account;

/// Where the password of a keystore file is kept if it is kept beside it.
pub fn password_file(wallet: &Path) -> PathBuf {
    wallet.with_extension("password")
}

/// The account in a keystore file, which is made at first use with its password beside it. Processes that do this at the
/// same time end up with the same wallet.
pub fn own(wallet: &Path) -> Result<Account, Error> {
    let password_file = password_file(wallet);
    if !wallet.exists() {
        keep_password(&password_file)?;
        let password = Unlock::File(password_file.clone()).password("")?;
        // Nobody guesses 256 random bits, however cheap each guess is.
        match create(wallet, &Account::random(), &password, Cost::QUICK) {
            Ok(()) | Err(Error::Exists(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let password = Unlock::File(password_file).password("")?;
    open(wallet, &password)
}

/// Draws a password, unless there is one: of a start that was cut short, of somebody who was faster, or of a wallet that
/// was moved away and may come back.
fn keep_password(path: &Path) -> Result<(), Error> {
    let failed = |source| Error::File { doing: "write", path: path.to_owned(), source };
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| failed(std::io::Error::other(error)))?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    // Whole or not at all, and readable by its user alone.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(error.error)),
    }
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
        keep_password(&password_file(&wallet)).expect("written");
        own(&wallet).expect("made after all");
    }

    #[test]
    fn a_wallet_that_was_moved_away_opens_when_it_is_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let (wallet, away) = (folder.path().join("one.json"), folder.path().join("away.json"));
        let first = own(&wallet).expect("made").address();
        std::fs::rename(&wallet, &away).expect("moved");
        assert_ne!(own(&wallet).expect("another").address(), first);
        std::fs::rename(&away, &wallet).expect("moved back");
        assert_eq!(own(&wallet).expect("opened").address(), first);
    }

    #[test]
    fn those_who_make_it_at_the_same_time_have_the_same_wallet() {
        let folder = tempfile::tempdir().expect("a folder");
        let wallet = folder.path().join("one.json");
        let made = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8).map(|_| scope.spawn(|| own(&wallet).expect("made").address())).collect();
            makers.into_iter().map(|maker| maker.join().expect("it ends")).collect::<Vec<_>>()
        });
        assert!(made.iter().all(|address| *address == made[0]), "{made:?}");
    }
}
