//! `gleaner chain …`: a file for each verb.

mod deploy;
mod show;

use std::process::ExitCode;

use anyhow::Result;

use crate::settings::Settings;

/// What can be done with chains.
#[derive(clap::Subcommand)]
pub enum Verb {
    /// Show where the hub's money is: the chain, the contracts, the numbers that hold
    Show(show::Args),
    /// Put the contracts on a chain, and print where they are
    Deploy(deploy::Args),
}

/// Does it.
pub async fn perform(settings: &Settings, verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::Show(args) => show::perform(settings, &args).await,
        Verb::Deploy(args) => deploy::perform(settings, &args).await,
    }
}
