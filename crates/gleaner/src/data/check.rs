//! `gleaner data check`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::api::CheckView;

use super::find::name;
use super::push::push;
use crate::output::{data, json, say};
use crate::words;

/// Options of `gleaner data check`.
#[derive(clap::Args)]
pub struct Args {
    /// Say only what is wrong, and send nothing again
    #[arg(long)]
    dry_run: bool,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

/// Checks the hub's store and mends what can be mended from here.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let checked: CheckView = client.data().check().await?;
    if args.json {
        json(&checked)?;
    } else {
        data(&format!(
            "the hub read {} in {}: {} had gone bad",
            words::bytes(checked.bytes),
            words::count(checked.chunks, "chunk"),
            words::count(checked.bad, "chunk"),
        ))?;
    }
    let (account, mut left) = (client.account()?, 0_u32);
    let damaged = client.data().datasets().await?.into_iter().filter(|view| view.held < view.chunks);
    for view in damaged {
        let (name, missing) = (name(client, &view), view.chunks - view.held);
        let from = account.pushed_from(&name).filter(|path| path.exists());
        match from {
            Some(path) if !args.dry_run => {
                let pushed = push(client, &path, &name, false).await?;
                let same = pushed.data.root == view.data.root;
                let as_it_was = if same { "is whole again" } else { "has changed since: the new one is there" };
                say(format!("{}: {}", words::plain(&name), as_it_was));
                left += u32::from(!same);
            }
            Some(_) | None => {
                left += 1;
                let named = if name.is_empty() { view.data.root.id.to_string() } else { words::plain(&name) };
                say(format!("{named}: {} missing; push it again from where it came", words::count(missing, "chunk")));
            }
        }
    }
    Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
