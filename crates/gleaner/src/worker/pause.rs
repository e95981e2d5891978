//! `gleaner worker pause`, `gleaner worker resume` and `gleaner worker readmit`: orders about one worker, through the hub
//! or, without a number, about the one of this machine.
use std::process::ExitCode;

use anyhow::{Context, Result};
use gleaner_wire::WorkerId;
use gleaner_worker::set_paused;

use crate::failure::Advice;
use crate::output::say;
use crate::settings::Settings;
use crate::words;

/// Options of each order.
#[derive(clap::Args)]
pub struct Args {
    /// The worker [default: the one that this machine shares itself with]
    #[arg(value_name = "WORKER", value_parser = super::parse_worker)]
    worker: Option<WorkerId>,
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
pub async fn perform(settings: &Settings, args: &Args, order: Order) -> Result<ExitCode> {
    let Some(worker) = args.worker else { return here(settings, order) };
    let client = settings.client().await?;
    match order {
        Order::Pause => client.pause(worker).await?,
        Order::Resume => client.resume(worker).await?,
        Order::Readmit => client.readmit(worker).await?,
    }
    let worker = client.worker(worker).await?;
    say(format!("worker {} ({}) is {}", worker.id, words::plain(&worker.offer.name), worker.state));
    Ok(ExitCode::SUCCESS)
}

/// Tells the worker of this machine, which looks twice a second; no hub has to be reached for it.
fn here(settings: &Settings, order: Order) -> Result<ExitCode> {
    let dir = settings.folder()?.join("workers").join("1");
    let nothing = || Advice::new("this machine is not shared", "name a worker of the hub, or start `gleaner share`");
    if !dir.is_dir() {
        return Err(nothing().into());
    }
    let paused = match order {
        Order::Pause => true,
        Order::Resume => false,
        Order::Readmit => return Err(Advice::new("which worker?", "name one of `gleaner worker list`").into()),
    };
    set_paused(&dir, paused).with_context(|| format!("cannot write into {}", dir.display()))?;
    say(if paused {
        "this machine is yours; `gleaner worker resume` shares it again"
    } else {
        "this machine is shared again"
    });
    Ok(ExitCode::SUCCESS)
}
