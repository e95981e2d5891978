//! `gleaner worker manage` and `gleaner worker unmanage`: which workers are the platform's own.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::WorkerKey;

use crate::output::say;
use crate::words;

/// Options of both.
#[derive(clap::Args)]
pub struct Args {
    /// The worker's number, or its key (`gleaner worker key`) if it has not joined yet
    #[arg(value_name = "WORKER|KEY", value_parser = parse)]
    worker: String,
}

fn parse(text: &str) -> Result<String, String> {
    let known = text.parse::<u32>().is_ok() || text.parse::<WorkerKey>().is_ok();
    let help = "name a worker by its number in `gleaner worker list`, or by its key of 64 hexadecimal digits";
    known.then(|| text.to_owned()).ok_or_else(|| help.to_owned())
}

/// Says so, and what the worker is then.
pub async fn perform(client: &Client, args: &Args, managed: bool) -> Result<ExitCode> {
    let whose = if managed { "the platform's own" } else { "its provider's" };
    match client.manage(&args.worker, managed).await? {
        Some(worker) => say(format!("worker {} ({}) is {whose}", worker.id, words::plain(&worker.offer.name))),
        None => say(format!("the worker with the key {} will be {whose} when it joins", args.worker)),
    }
    Ok(ExitCode::SUCCESS)
}
