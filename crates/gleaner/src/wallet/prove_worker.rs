//! `gleaner wallet prove-worker`: an owner's word that a worker is its own, signed where the wallet is. It asks nobody.
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use gleaner_chain::ownership::{Ownership, Proof};
use gleaner_chain::wallet;

use crate::failure::Advice;
use crate::output::{json, say};
use crate::purse;
use crate::settings::Settings;

/// Options of `gleaner wallet prove-worker`.
#[derive(clap::Args)]
pub struct Args {
    /// What `gleaner worker statement` printed on the worker's machine
    #[arg(value_name = "FILE")]
    statement: PathBuf,
}

/// Signs the statement and prints the proof.
pub fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    let file = args.statement.display();
    let text = std::fs::read_to_string(&args.statement).with_context(|| format!("cannot read {file}"))?;
    let statement = Ownership::from_json(&text).map_err(|error| {
        let advice = Advice::new(
            format!("{file} is not signed"),
            "sign only what `gleaner worker statement` printed on a machine of yours",
        );
        anyhow::Error::new(error).context(advice)
    })?;
    let keystore = settings.wallet_file()?;
    if !keystore.exists() {
        let problem = format!("there is no wallet at {}", keystore.display());
        return Err(Advice::new(problem, "name the owner's wallet with --wallet FILE").into());
    }
    // Before anybody is asked for a password.
    if let Some(address) = wallet::address(&keystore)? {
        check_owner(&statement, address)?;
    }
    let account = purse::account(settings)?;
    check_owner(&statement, account.address())?;
    let Ownership { owner, worker, hub, chain_id, .. } = statement;
    say(format!(
        "{owner} owns the worker {worker} on the hub {hub} of chain {chain_id}: it may earn for it, and lose its stake"
    ));
    json(&Proof { owner, signature: statement.sign(&account) })?;
    Ok(ExitCode::SUCCESS)
}

fn check_owner(statement: &Ownership, address: gleaner_chain::primitives::Address) -> Result<()> {
    if statement.owner == address {
        return Ok(());
    }
    let problem = format!("the statement is for {} to sign, and this is the wallet of {address}", statement.owner);
    let help = "name the owner's wallet with --wallet FILE, or have a statement made for this one";
    Err(Advice::new(problem, help).into())
}
