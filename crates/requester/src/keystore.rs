//! The wallet that pays: made at first use, opened by a password that is kept somewhere.
use std::path::Path;

use gleaner_chain::Account;
use gleaner_chain::wallet::{self, Unlock};

use crate::Error;

/// A wallet that is open.
#[derive(Debug)]
pub struct Opened {
    /// Who pays.
    pub account: Account,
    /// Whether it was made just now, with its password beside it.
    pub made: bool,
}

/// Opens the wallet in a keystore file, which is made if there is none and no password file is named. The password is in the
/// named file, beside the wallet or in the system's keyring; [`Error::Locked`] says that it is nowhere.
pub fn open(file: &Path, password_file: Option<&Path>) -> Result<Opened, Error> {
    if !file.exists() && password_file.is_none() {
        return Ok(Opened { account: wallet::own(file)?, made: true });
    }
    let account = unlock(file, password_file)?;
    Ok(Opened { account, made: false })
}

fn unlock(file: &Path, password_file: Option<&Path>) -> Result<Account, Error> {
    if let Some(password_file) = password_file {
        let password = Unlock::File(password_file.to_owned()).password("")?;
        return Ok(wallet::open(file, &password)?);
    }
    if wallet::password_file(file).exists() {
        return Ok(wallet::own(file)?);
    }
    let known = wallet::address(file)?.and_then(|address| Unlock::Keyring(address).password("").ok());
    let password = known.ok_or_else(|| Error::Locked(file.to_owned()))?;
    Ok(wallet::open(file, &password)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wallet_is_made_once_and_one_without_a_password_stays_locked() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("wallet.json");
        let first = open(&file, None).expect("made");
        let again = open(&file, None).expect("opened");
        assert!(first.made && !again.made);
        assert_eq!(first.account.address(), again.account.address());
        let beside = wallet::password_file(&file);
        let elsewhere = folder.path().join("secret");
        std::fs::rename(&beside, &elsewhere).expect("moved");
        assert!(matches!(open(&file, None), Err(Error::Locked(_))));
        let named = open(&file, Some(&elsewhere)).expect("opened");
        assert_eq!(named.account.address(), first.account.address());
    }

    #[test]
    fn no_wallet_is_made_for_a_password_that_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, password) = (folder.path().join("wallet.json"), folder.path().join("secret"));
        assert!(matches!(open(&file, Some(&password)), Err(Error::Wallet(_))));
        assert!(!file.exists());
    }
}
