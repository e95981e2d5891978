//! `gleaner data …`: a file for each verb.
mod check;
mod find;
mod list;
mod pull;
mod push;
mod remove;
mod show;
mod steer;
mod transfer;

use std::process::ExitCode;

use anyhow::Result;

pub use steer::Steering;
pub use transfer::Pushing;

use crate::settings::Settings;

/// What can be done with data.
#[derive(clap::Subcommand)]
pub enum Verb {
    /// Seal a folder or file and bring it to the hub: only what it does not have
    Push(push::Args),
    /// Fetch a dataset into a folder; run again, it goes on where it was
    Pull(pull::Args),
    /// List the datasets that the hub keeps
    List(list::Args),
    /// Show one dataset: its size, and for how long it is kept
    Show(show::Args),
    /// Let the hub forget a dataset
    Remove(remove::Args),
    /// Have the hub read all that it keeps, and send again what has gone bad
    Check(check::Args),
    /// Let running and coming transfers stand still
    Pause,
    /// Let transfers go on
    Resume,
    /// Set how fast transfers may be
    Limit(steer::LimitArgs),
    /// Set the hours of the day in which transfers run
    Schedule(steer::ScheduleArgs),
}

/// Does it.
pub async fn perform(settings: &Settings, verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::Pause => return steer::pause(settings, true),
        Verb::Resume => return steer::pause(settings, false),
        Verb::Limit(args) => return steer::limit(settings, &args),
        Verb::Schedule(args) => return steer::schedule(settings, &args),
        _ => {}
    }
    let client = settings.client().await?;
    match verb {
        Verb::Push(args) => push::perform(&client, &args).await,
        Verb::Pull(args) => pull::perform(&client, &args).await,
        Verb::List(args) => list::perform(&client, &args).await,
        Verb::Show(args) => show::perform(&client, &args).await,
        Verb::Remove(args) => remove::perform(&client, &args).await,
        Verb::Check(args) => check::perform(&client, &args).await,
        Verb::Pause | Verb::Resume | Verb::Limit(_) | Verb::Schedule(_) => unreachable!("these need no hub"),
    }
}
