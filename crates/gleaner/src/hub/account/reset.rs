//! `gleaner hub account reset`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use serde::Deserialize;

use super::find;
use crate::output::{data, say};
use crate::words;

/// Options of `gleaner hub account reset`.
#[derive(clap::Args)]
pub struct Args {
    /// The account's name
    name: String,
}

#[derive(Deserialize)]
struct NewPassphrase {
    passphrase: String,
}

/// Gives an account a new passphrase. It alone goes to stdout, so that it can be handed on.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let entry = find(client, &args.name).await?;
    let new: NewPassphrase =
        client.put_in(&format!("/accounts/{}/passphrase", entry.id), &serde_json::json!({})).await?;
    say(format!(
        "the new passphrase of {}, which is its only way in now: its sessions have ended, its second factor is off, its tokens, \
         passkeys and webhooks are gone, and its wallets do not sign in until they are linked again. Hand it on, to be changed \
         at once:",
        words::plain(&entry.name)
    ));
    data(&new.passphrase)?;
    Ok(ExitCode::SUCCESS)
}
