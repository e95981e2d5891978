//! `gleaner data show`.
use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_client::data::{Opens, Pull};
use gleaner_wire::api::{DatasetView, SeedingView};
use gleaner_wire::{Millis, WorkerKey};
use serde::Serialize;

use super::find::{find, name};
use crate::output::{data, json};
use crate::words;

/// Options of `gleaner data show`.
#[derive(clap::Args)]
pub struct Args {
    /// The dataset: its name or root
    dataset: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A dataset, and what workers have sent each other of it.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    view: DatasetView,
    seeding: SeedingView,
}

/// Shows one dataset.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let view = find(client, &args.dataset).await?;
    let seeding = client.data().seeding(None, Some(view.data.root.id)).await?;
    if args.json {
        json(&Shown { view, seeding })?;
        return Ok(ExitCode::SUCCESS);
    }
    let keys = client.account()?.keys();
    let pull = Pull { hub: client.data(), root: view.data.root, opens: Opens::of(&view, &keys), steer: None };
    let inside = match pull.open().await {
        Ok(root) => {
            let totals = root.totals;
            format!("{} in {}", words::bytes(totals.bytes), words::count(totals.entries, "item"))
        }
        Err(_) => "sealed for somebody else".to_owned(),
    };
    let kept = match view.until_ms {
        None => "until it is removed".to_owned(),
        Some(until) => format!("at least until {} from now", words::span(until_from_now(until))),
    };
    let workers: BTreeSet<WorkerKey> = seeding.seeded.iter().map(|seeded| seeded.worker).collect();
    data(&format!(
        "name      {}\nreference {}\ncontent   {inside}\non hub    {} in {}, {} of them there\nkept      {kept}\n\
         fetched   or offered by {} now\n\
         seeded    {} by {}",
        words::plain(&name(client, &view)),
        view.data,
        words::bytes(view.data.bytes),
        words::count(view.chunks, "chunk"),
        words::grouped(view.held),
        words::count(view.machines, "machine"),
        words::bytes(seeding.bytes),
        words::count(workers.len() as u64, "worker"),
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn until_from_now(until: u64) -> Millis {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Millis(until.saturating_sub(u64::try_from(now.as_millis()).unwrap_or(u64::MAX)))
}
