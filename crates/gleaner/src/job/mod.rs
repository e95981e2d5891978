//! `gleaner job …`: a file for each verb.

mod attend;
mod cancel;
pub mod contests;
mod dispute;
pub mod explain;
mod fetch;
mod list;
mod logs;
mod receipts;
pub mod show;

use std::process::ExitCode;

use anyhow::Result;

use crate::settings::Settings;

/// What can be done with jobs.
#[derive(clap::Subcommand)]
pub enum Verb {
    /// List the jobs, newest last
    List(list::Args),
    /// Show one job: its tasks, its workers, its failures
    Show(show::Args),
    /// Say why a job stands where it stands
    Explain(explain::Args),
    /// Print what a job's programs said
    Logs(logs::Args),
    /// Give workers the keys of a job's data until it ends
    Attend(attend::Args),
    /// Stop a job
    Cancel(cancel::Args),
    /// Dispute what the hub wants to be paid for a job that has ended
    Dispute(dispute::Args),
    /// Fetch a job's results; run again, it goes on where it was
    Fetch(fetch::Args),
    /// Fetch the receipts of a job's settled tasks
    Receipts(receipts::Args),
}

/// Does it.
pub async fn perform(settings: &Settings, verb: Verb) -> Result<ExitCode> {
    let client = settings.client().await?;
    match verb {
        Verb::List(args) => list::perform(&client, &args).await,
        Verb::Show(args) => show::perform(&client, &args).await,
        Verb::Explain(args) => explain::perform(&client, &args).await,
        Verb::Logs(args) => logs::perform(&client, &args).await,
        Verb::Attend(args) => attend::perform(&client, &args).await,
        Verb::Cancel(args) => cancel::perform(&client, &args).await,
        Verb::Dispute(args) => dispute::perform(settings, &client, &args).await,
        Verb::Fetch(args) => fetch::perform(settings, &client, &args).await,
        Verb::Receipts(args) => receipts::perform(&client, &args).await,
    }
}

fn parse_job(text: &str) -> Result<gleaner_wire::JobId, String> {
    text.parse().map(gleaner_wire::JobId).map_err(|_| "a job is a number; `gleaner job list` shows them".to_owned())
}
