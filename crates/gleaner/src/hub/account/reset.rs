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
        "the new passphrase of {}; its second factor is off and its sessions have ended. Hand it on, to be changed at once:",
        words::plain(&entry.name)
    ));
    data(&new.passphrase)?;
    Ok(ExitCode::SUCCESS)
}
