//! `gleaner data pull`.
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_client::data::{Opens, Pull};

use super::find::{find, name};
use super::steer::Steering;
use super::transfer::{Pulling, rate};
use crate::interrupt::Interrupt;
use crate::output::{data, json, say};
use crate::words;

/// Options of `gleaner data pull`.
#[derive(clap::Args)]
pub struct Args {
    /// The dataset: its name or root
    dataset: String,
    /// Folder for its content, made if it is not there [default: its name]
    folder: Option<PathBuf>,
    /// Print what was pulled as JSON
    #[arg(long)]
    json: bool,
}

/// Pulls a dataset.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let view = find(client, &args.dataset).await?;
    let own = name(client, &view);
    let safe = |c: char| if c.is_control() || c == '/' { '-' } else { c };
    let own: String = if own.is_empty() { args.dataset.clone() } else { own };
    let folder = args.folder.clone().unwrap_or_else(|| PathBuf::from(own.chars().map(safe).collect::<String>()));
    let (account, begun) = (client.account()?, Instant::now());
    let (keys, steering) = (account.keys(), Steering::watch(account.steering()));
    let steer = Some(steering.receiver());
    let pull = Pull { hub: client.data(), root: view.data.root, opens: Opens::of(&view, &keys), steer };
    let mut interrupt = Interrupt::listen()?;
    let mut pulling = Pulling::new(&own);
    let pulled = tokio::select! {
        pulled = pull.run(&folder, |so_far| pulling.show(so_far)) => Some(pulled),
        () = interrupt.came() => None,
    };
    pulling.clear();
    let help = "run the same command again: files that are whole are not fetched again";
    let stopped = || crate::failure::Advice::new("stopped", help);
    let pulled = pulled.ok_or_else(stopped)??;
    let (totals, counts) = (pulled.totals, pulled.counts);
    if args.json {
        json(&serde_json::json!({
            "name": own, "folder": folder, "bytes": totals.bytes, "entries": totals.entries,
            "written_bytes": counts.written_bytes, "fetched_bytes": counts.fetched_bytes, "present_files": counts.present,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let seconds = begun.elapsed().as_secs_f64();
    let there = if counts.present > 0 {
        format!(" · {} there before", words::count(counts.present, "file"))
    } else {
        String::new()
    };
    say(format!(
        "{}: {} in {} · fetched {} in {seconds:.1} s ({}){there}",
        words::plain(&own),
        words::bytes(totals.bytes),
        words::count(totals.entries, "item"),
        words::bytes(counts.fetched_bytes),
        rate(counts.fetched_bytes, seconds),
    ));
    data(&folder.display().to_string())?;
    Ok(ExitCode::SUCCESS)
}
