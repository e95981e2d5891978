//! The wallet that a command pays with: opened where its password is kept, or by who sits at the terminal.
use std::io::IsTerminal;
use std::path::Path;

use anyhow::{Context, Result};
use gleaner_chain::Account;
use gleaner_chain::wallet::{self, Unlock};
use gleaner_requester::{Error, Turn};

use crate::failure::Advice;
use crate::output::say;
use crate::settings::Settings;

/// The account of the settings' wallet, which is made at first use.
pub fn account(settings: &Settings) -> Result<Account> {
    let file = settings.wallet_file()?;
    match gleaner_requester::open(&file, settings.password_file.as_deref()) {
        Ok(opened) => {
            if opened.made {
                let beside = wallet::password_file(&file);
                let (file, beside, address) = (file.display(), beside.display(), opened.account.address());
                say(format!("made the wallet {file} for {address}, with its password in {beside}: keep both"));
            }
            Ok(opened.account)
        }
        Err(Error::Locked(_)) => ask(&file),
        Err(error) => Err(error.into()),
    }
}

fn ask(file: &Path) -> Result<Account> {
    if !std::io::stdin().is_terminal() {
        let problem = format!("the wallet {} needs its password, and there is no terminal to ask", file.display());
        return Err(Advice::new(problem, "name a file that holds it with --password-file FILE").into());
    }
    let password = Unlock::Prompt.password(&format!("password of {}: ", file.display()))?;
    wallet::open(file, &password).context("the wallet stays closed")
}

/// Waits for other commands that use a wallet.
pub async fn turn(wallet: &Path) -> Result<Turn> {
    Ok(Turn::take(wallet, || tell_waiting(wallet)).await?)
}

/// Says why nothing happens.
pub fn tell_waiting(wallet: &Path) {
    say(format!("waiting for another command that uses the wallet {}", wallet.display()));
}
