//! `gleaner hub account readmit`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;

use super::{Entry, find, line};
use crate::output::data;

/// Options of `gleaner hub account readmit`.
#[derive(clap::Args)]
pub struct Args {
    /// The account's name
    name: String,
}

/// Lets an account in again.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let id = find(client, &args.name).await?.id;
    let entry: Entry = client.put_in(&format!("/accounts/{id}/readmit"), &serde_json::json!({})).await?;
    data(&line(&entry))?;
    Ok(ExitCode::SUCCESS)
}
