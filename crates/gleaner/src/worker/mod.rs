//! `gleaner worker …`: a file for each verb.

mod list;
mod pause;
mod show;

use std::process::ExitCode;

use anyhow::Result;
use gleaner_wire::WorkerId;

use crate::settings::Settings;

/// What can be done with workers.
#[derive(clap::Subcommand)]
pub enum Verb {
    /// List the workers
    List(list::Args),
    /// Show one worker: its devices and what it did
    Show(show::Args),
    /// Take a worker's machine back: what runs is handed on, and no work comes
    Pause(pause::Args),
    /// Give a paused worker work again
    Resume(pause::Args),
    /// Give a worker that failed too often another chance
    Readmit(pause::Args),
}

/// Does it.
pub async fn perform(settings: &Settings, verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::List(args) => list::perform(&settings.client().await?, &args).await,
        Verb::Show(args) => show::perform(&settings.client().await?, &args).await,
        Verb::Pause(args) => pause::perform(settings, &args, pause::Order::Pause).await,
        Verb::Resume(args) => pause::perform(settings, &args, pause::Order::Resume).await,
        Verb::Readmit(args) => pause::perform(settings, &args, pause::Order::Readmit).await,
    }
}

fn parse_worker(text: &str) -> Result<WorkerId, String> {
    text.parse().map(WorkerId).map_err(|_| "a worker is a number; `gleaner worker list` shows them".to_owned())
}
