//! `gleaner hub account list`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;

use super::{Entry, Page};
use crate::output::{data, json, say};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// Options of `gleaner hub account list`.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lists the accounts.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let entries = all(client).await?;
    if args.json {
        json(&entries)?;
    } else if entries.is_empty() {
        say("there are no accounts yet; people make theirs on the hub's page");
    } else {
        data(&render(&entries))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn all(client: &Client) -> Result<Vec<Entry>> {
    let mut page: Page = client.get("/accounts").await?;
    let mut entries = page.items;
    while let Some(next) = page.next {
        page = client.get(&format!("/accounts?cursor={next}")).await?;
        entries.append(&mut page.items);
    }
    Ok(entries)
}

fn render(entries: &[Entry]) -> String {
    let mut table = Table::new([("ACCOUNT", Right), ("NAME", Left), ("ROLES", Left), ("MADE", Left), ("STATE", Left)]);
    for entry in entries {
        let state = if entry.suspended { "suspended" } else { "" };
        let (made, roles) = (words::ago(entry.made_at), entry.roles.join(", "));
        table.row([entry.id.to_string(), entry.name.clone(), roles, made, state.to_owned()]);
    }
    table.render()
}
