//! `gleaner hub account roles`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;

use super::{Entry, find, line};
use crate::output::{data, json};

/// A role, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Role {
    Requester,
    Provider,
    Operator,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Requester => "requester",
            Self::Provider => "provider",
            Self::Operator => "operator",
        }
    }
}

/// Options of `gleaner hub account roles`.
#[derive(clap::Args)]
pub struct Args {
    /// The account's name
    name: String,
    /// Give it this role; its sessions end
    #[arg(long, value_name = "ROLE")]
    add: Vec<Role>,
    /// Take this role from it; its sessions end
    #[arg(long, value_name = "ROLE")]
    remove: Vec<Role>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows or changes the roles of an account.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let mut entry = find(client, &args.name).await?;
    let wanted = wanted(&entry, args);
    if wanted != entry.roles {
        client.put(&format!("/accounts/{}/roles", entry.id), &serde_json::json!({ "roles": wanted })).await?;
        entry = find(client, &args.name).await?;
    }
    if args.json {
        json(&entry)?
    } else {
        data(&line(&entry))?
    }
    Ok(ExitCode::SUCCESS)
}

fn wanted(entry: &Entry, args: &Args) -> Vec<String> {
    let mut roles = entry.roles.clone();
    roles.extend(args.add.iter().map(|role| role.name().to_owned()).filter(|role| !entry.roles.contains(role)));
    roles.retain(|role| !args.remove.iter().any(|removed| removed.name() == role));
    roles
}
