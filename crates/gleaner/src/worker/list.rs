//! `gleaner worker list`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::api::WorkerView;

use crate::output::{data, json, say};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// Options of `gleaner worker list`.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lists the workers.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let workers = client.workers().await?;
    if args.json {
        json(&workers)?;
    } else if workers.is_empty() {
        say(format!("no workers yet; `gleaner share --hub {}` joins this machine", client.url()));
    } else {
        data(&render(&workers))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(workers: &[WorkerView]) -> String {
    let mut table = Table::new([
        ("WORKER", Right),
        ("NAME", Left),
        ("STATE", Left),
        ("REGION", Left),
        ("RUNNING", Right),
        ("DONE", Right),
        ("FAILED", Right),
        ("EARNED", Right),
        ("DEVICES", Left),
    ]);
    for worker in workers {
        table.row([
            worker.id.to_string(),
            worker.offer.name.clone(),
            worker.state.to_string(),
            worker.offer.region.clone(),
            words::grouped(worker.running),
            words::grouped(worker.done),
            words::grouped(worker.failed),
            words::money(worker.earned),
            devices(worker),
        ]);
    }
    table.render()
}

fn devices(worker: &WorkerView) -> String {
    let names = worker.offer.devices.iter().map(|device| {
        let runtimes: Vec<String> = device.runtimes.iter().map(|offer| offer.runtime.to_string()).collect();
        format!("{} ({})", device.kind, runtimes.join(", "))
    });
    names.collect::<Vec<_>>().join(", ")
}
