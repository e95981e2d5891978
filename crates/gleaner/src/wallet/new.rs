//! `gleaner wallet new`.
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use gleaner_chain::Account;
use gleaner_chain::wallet::{self, Cost, Password, Unlock};

use crate::failure::Advice;
use crate::output::{data, say};
use crate::settings::Settings;

/// Options of `gleaner wallet new`.
#[derive(clap::Args)]
pub struct Args {
    /// Keep the password in the system's keyring
    #[arg(long)]
    keyring: bool,
}

/// Makes the wallet and prints its address.
pub fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    let file = settings.wallet_file()?;
    if file.exists() {
        let problem = format!("there is a wallet in {} already, and it is not overwritten", file.display());
        return Err(Advice::new(problem, "name another file with --wallet FILE").into());
    }
    let password = password(settings, &file)?;
    let account = Account::random();
    if args.keyring {
        let help = "leave --keyring out and keep the password yourself, or in a file for --password-file";
        let refused = || Advice::new("the password could not be kept in the system's keyring", help);
        password.remember(account.address()).with_context(refused)?;
    }
    let made = wallet::create(&file, &account, &password, Cost::STANDARD);
    if made.is_err() && args.keyring {
        // Nothing is lost if this fails too: the password opens no file.
        let _stays = Password::forget(account.address());
    }
    made?;
    say(format!("made the wallet {}: without this file and its password, what it holds is lost", file.display()));
    data(&account.address().to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn password(settings: &Settings, file: &Path) -> Result<Password> {
    if let Some(password_file) = &settings.password_file {
        return Ok(Unlock::File(password_file.clone()).password("")?);
    }
    if !std::io::stdin().is_terminal() {
        let problem = "a wallet needs a password, and there is no terminal to ask for one";
        return Err(Advice::new(problem, "name a file that holds it with --password-file FILE").into());
    }
    let password = Unlock::Prompt.password(&format!("password for {}: ", file.display()))?;
    if password.is_empty() {
        return Err(Advice::new("an empty password protects nothing", "choose another one").into());
    }
    if Unlock::Prompt.password("the same again: ")? != password {
        return Err(Advice::new("the two passwords differ, and no wallet was made", "try again").into());
    }
    Ok(password)
}
