//! `gleaner worker pause`, `gleaner worker resume` and `gleaner worker readmit`: orders about one worker.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::WorkerId;

use crate::output::say;
use crate::words;

/// Options of each order.
#[derive(clap::Args)]
pub struct Args {
    /// The worker
    #[arg(value_name = "WORKER", value_parser = super::parse_worker)]
    worker: WorkerId,
}

/// Which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// No new work.
    Pause,
    /// Work again.
    Resume,
    /// Another chance.
    Readmit,
}

/// Gives the order and says what the worker is then.
pub async fn perform(client: &Client, args: &Args, order: Order) -> Result<ExitCode> {
    match order {
        Order::Pause => client.pause(args.worker).await?,
        Order::Resume => client.resume(args.worker).await?,
        Order::Readmit => client.readmit(args.worker).await?,
    }
    let worker = client.worker(args.worker).await?;
    say(format!("worker {} ({}) is {}", worker.id, words::plain(&worker.offer.name), worker.state));
    Ok(ExitCode::SUCCESS)
}
