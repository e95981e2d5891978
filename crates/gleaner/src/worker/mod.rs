//! `gleaner worker …`: a file for each verb.

mod key;
mod list;
mod manage;
mod pause;
mod show;
mod statement;

use std::process::ExitCode;

use anyhow::Result;
use gleaner_wire::WorkerId;

use crate::settings::Settings;

/// What can be done with workers.
#[derive(clap::Subcommand)]
pub enum Verb {
    /// List the workers, or find those that match a query
    List(list::Args),
    /// Show one worker: its devices and what it did
    Show(show::Args),
    /// Take a worker's machine back: what runs is handed on, and no work comes
    Pause(pause::Args),
    /// Give a paused worker work again
    Resume(pause::Args),
    /// Give a worker that failed too often another chance
    Readmit(pause::Args),
    /// Say that the platform owns a worker: it takes what the community cannot do in time
    Manage(manage::Args),
    /// Say that it does not
    Unmanage(manage::Args),
    /// Print the key of this machine's worker, made if there is none
    Key(key::Args),
    /// Print what an owner whose wallet is elsewhere has to sign for this machine's worker
    Statement(statement::Args),
}

/// Does it.
pub async fn perform(settings: &Settings, verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::List(args) => list::perform(&settings.client().await?, &args).await,
        Verb::Show(args) => show::perform(&settings.client().await?, &args).await,
        Verb::Pause(args) => pause::perform(settings, &args, pause::Order::Pause).await,
        Verb::Resume(args) => pause::perform(settings, &args, pause::Order::Resume).await,
        Verb::Readmit(args) => pause::perform(settings, &args, pause::Order::Readmit).await,
        Verb::Manage(args) => manage::perform(&settings.client().await?, &args, true).await,
        Verb::Unmanage(args) => manage::perform(&settings.client().await?, &args, false).await,
        Verb::Key(args) => key::perform(settings, &args),
        Verb::Statement(args) => statement::perform(settings, &args).await,
    }
}

fn parse_worker(text: &str) -> Result<WorkerId, String> {
    text.parse().map(WorkerId).map_err(|_| "a worker is a number; `gleaner worker list` shows them".to_owned())
}
