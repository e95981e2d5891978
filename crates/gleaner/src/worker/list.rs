//! `gleaner worker list`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::Amount;
use gleaner_wire::api::WorkerView;
use gleaner_wire::query::Query;

use crate::output::{data, json, say};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// The most pages that are asked for: a query that rules out almost everybody is answered in many.
const PAGES_MAX: usize = 10_000;
/// Workers that are asked for at a time.
const PAGE: usize = 1000;
const SECONDS_PER_HOUR: u64 = 3600;

/// Options of `gleaner worker list`.
#[derive(clap::Args)]
pub struct Args {
    /// Only workers that match, cheapest first: 'memory>=24GiB device=nvidia region=eu price<0.4 score>=80'. Fields are
    /// memory, device, region, price (GLN an hour), score, runtime, state, name, owner, managed and slots; operators are
    /// =, !=, <, <=, > and >=
    query: Option<String>,
    /// The most workers to list with a query
    #[arg(long, value_name = "N", default_value_t = 100, requires = "query")]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lists the workers.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    if let Some(query) = &args.query {
        return find(client, query, args).await;
    }
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

/// Lists those that match. What makes no sense is refused here, before a hub is asked.
async fn find(client: &Client, query: &str, args: &Args) -> Result<ExitCode> {
    query.parse::<Query>()?;
    let (mut workers, mut cursor, mut counted) = (Vec::new(), None, None);
    for _ in 0..PAGES_MAX {
        let left = args.limit.saturating_sub(workers.len()).clamp(1, PAGE);
        let page = client.search(query, left, cursor.as_deref()).await?;
        counted.get_or_insert((page.matches, page.exact));
        workers.extend(page.items);
        cursor = page.next;
        if cursor.is_none() || workers.len() >= args.limit {
            break;
        }
    }
    if args.json {
        json(&workers)?;
        return Ok(ExitCode::SUCCESS);
    }
    if workers.is_empty() {
        say("no worker matches");
        return Ok(ExitCode::SUCCESS);
    }
    data(&render_found(&workers))?;
    if let (Some((most, false)), Some(_)) = (counted, cursor) {
        let (shown, most) = (words::grouped(workers.len() as u64), words::grouped(most));
        say(format!("the cheapest {shown} are shown; at most {most} match; --limit shows more"));
    }
    Ok(ExitCode::SUCCESS)
}

fn render_found(workers: &[WorkerView]) -> String {
    let mut table = Table::new([
        ("WORKER", Right),
        ("NAME", Left),
        ("STATE", Left),
        ("REGION", Left),
        ("GLN AN HOUR", Right),
        ("MEMORY", Right),
        ("SCORE", Right),
        ("OWNER", Left),
        ("DEVICES", Left),
    ]);
    for worker in workers {
        let offered = &worker.offer.devices;
        let price = offered.iter().map(|device| device.price_per_second.0.saturating_mul(SECONDS_PER_HOUR)).min();
        let memory = offered.iter().map(|device| device.memory.0).max().unwrap_or(0);
        let scores = offered.iter().flat_map(|device| device.runtimes.iter().map(|runtime| runtime.score));
        let provider = worker.offer.provider.map_or_else(|| "-".to_owned(), |owner| owner.to_string());
        table.row([
            worker.id.to_string(),
            worker.offer.name.clone(),
            worker.state.to_string(),
            worker.offer.region.clone(),
            Amount(price.unwrap_or(0)).to_string(),
            words::bytes(memory),
            words::grouped(scores.max().unwrap_or(0).into()),
            if worker.managed { "managed".to_owned() } else { provider },
            devices(worker),
        ]);
    }
    table.render()
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
