//! `gleaner data list`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::Millis;

use super::find::name;
use crate::output::{data, json, say};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// Options of `gleaner data list`.
#[derive(clap::Args)]
pub struct Args {
    /// Also what is kept for jobs only: their inputs and outputs
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lists the datasets.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let mut views = client.data().datasets().await?;
    views.retain(|view| args.all || view.kind == "pushed");
    if args.json {
        json(&views)?;
        return Ok(ExitCode::SUCCESS);
    }
    if views.is_empty() {
        say("no datasets yet; `gleaner data push FOLDER` brings one");
        return Ok(ExitCode::SUCCESS);
    }
    let columns =
        [("NAME", Left), ("ROOT", Left), ("KIND", Left), ("SEALED", Right), ("CHUNKS", Right), ("CAME", Left)];
    let mut table = Table::new(columns);
    for view in &views {
        table.row([
            name(client, view),
            view.data.root.id.to_string()[..12].to_owned(),
            view.kind.clone(),
            words::bytes(view.data.bytes),
            words::grouped(view.chunks),
            words::ago(Millis(view.made_ms)),
        ]);
    }
    data(&table.render())?;
    Ok(ExitCode::SUCCESS)
}
