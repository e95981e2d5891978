//! `gleaner stake …`: a file for each verb.

mod add;
mod auditor;
mod claim;
mod judge;
mod show;
mod unbond;

use std::process::ExitCode;

use anyhow::Result;

use crate::settings::Settings;
use crate::wallet::place::Where;

pub use show::{StakeView, stake_rows};

/// Options of `gleaner stake`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Where,
    #[command(subcommand)]
    verb: Verb,
}

/// What can be done with stake.
#[derive(clap::Subcommand)]
enum Verb {
    /// Show what an account has staked
    Show(show::Args),
    /// Stake tokens, and let the hub lock them while work depends on them
    Add(add::Args),
    /// Begin to take free stake out
    Unbond(unbond::Args),
    /// Take out what has been unbonding long enough
    Claim(claim::Args),
    /// Be an auditor, who may be drawn to decide disputes, or stop being one
    Auditor(auditor::Args),
    /// Judge the disputes on whose committees the wallet sits
    Judge(judge::Args),
}

/// Does it.
pub async fn perform(settings: &Settings, args: Args) -> Result<ExitCode> {
    let place = &args.place;
    match args.verb {
        Verb::Show(args) => show::perform(settings, place, &args).await,
        Verb::Add(args) => add::perform(settings, place, &args).await,
        Verb::Unbond(args) => unbond::perform(settings, place, &args).await,
        Verb::Claim(args) => claim::perform(settings, place, &args).await,
        Verb::Auditor(args) => auditor::perform(settings, place, &args).await,
        Verb::Judge(args) => judge::perform(settings, place, &args).await,
    }
}
