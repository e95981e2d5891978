//! `gleaner data remove`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;

use super::find::{find, name};
use crate::output::say;
use crate::words;

/// Options of `gleaner data remove`.
#[derive(clap::Args)]
pub struct Args {
    /// The datasets: names or roots
    #[arg(required = true)]
    datasets: Vec<String>,
}

/// Lets the hub forget datasets.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    for text in &args.datasets {
        let view = find(client, text).await?;
        client.data().remove(view.data.root.id).await?;
        say(format!("removed {} ({})", words::plain(&name(client, &view)), words::bytes(view.data.bytes)));
    }
    Ok(ExitCode::SUCCESS)
}
