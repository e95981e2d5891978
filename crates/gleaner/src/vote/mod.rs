//! `gleaner vote …`: a file for each verb.

mod cast;
mod delegate;
mod execute;
mod list;
mod parameter;
mod proposal;
mod propose;

use std::process::ExitCode;

use anyhow::Result;

use crate::settings::Settings;
use crate::wallet::place::Where;

pub use parameter::{Parameter, seconds};

/// Options of `gleaner vote`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Where,
    #[command(subcommand)]
    verb: Verb,
}

/// What can be done with votes.
#[derive(clap::Subcommand)]
enum Verb {
    /// Propose to change a number of the economy, or to pay somebody out of the treasury
    Propose(propose::Args),
    /// List the proposals, newest last
    List(list::Args),
    /// Vote on a proposal
    Cast(cast::Args),
    /// Carry out a proposal that has passed, as far as it may be yet
    Execute(execute::Args),
    /// Make votes of the wallet's tokens, or give them to somebody
    Delegate(delegate::Args),
}

/// Does it.
pub async fn perform(settings: &Settings, args: Args) -> Result<ExitCode> {
    let place = &args.place;
    match args.verb {
        Verb::Propose(args) => propose::perform(settings, place, &args).await,
        Verb::List(args) => list::perform(settings, place, &args).await,
        Verb::Cast(args) => cast::perform(settings, place, &args).await,
        Verb::Execute(args) => execute::perform(settings, place, &args).await,
        Verb::Delegate(args) => delegate::perform(settings, place, &args).await,
    }
}
