//! `gleaner price …`: what devices are worth; a file for each verb.
mod list;
mod show;

use std::process::ExitCode;

use anyhow::Result;

use crate::settings::Settings;

/// What can be asked about prices.
#[derive(clap::Subcommand)]
pub enum Verb {
    /// List what each class of devices is worth now
    List(list::Args),
    /// Show what a class of devices was worth over time
    Show(show::Args),
}

/// Answers.
pub async fn perform(settings: &Settings, verb: Verb) -> Result<ExitCode> {
    let client = settings.guest().await?;
    match verb {
        Verb::List(args) => list::perform(&client, &args).await,
        Verb::Show(args) => show::perform(&client, &args).await,
    }
}
