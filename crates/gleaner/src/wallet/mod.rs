//! `gleaner wallet …`: a file for each verb, and what the other rooms of money share with it.

mod allocation;
mod deposit;
mod faucet;
mod history;
pub mod input;
mod new;
pub mod place;
mod prove_worker;
mod release;
mod rewards;
mod send;
mod show;
pub mod till;
mod withdraw;

use std::process::ExitCode;

use anyhow::Result;

use crate::settings::Settings;

/// Options of `gleaner wallet`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: place::Where,
    #[command(subcommand)]
    verb: Verb,
}

/// What can be done with a wallet.
#[derive(clap::Subcommand)]
enum Verb {
    /// Make a wallet: a key in an encrypted file
    New(new::Args),
    /// Show the wallet's address and what it has
    Show(show::Args),
    /// Send tokens to somebody
    Send(send::Args),
    /// Put tokens where orders can lock them; they stay yours
    Deposit(deposit::Args),
    /// Take deposited and earned tokens out
    Withdraw(withdraw::Args),
    /// List what has happened to the wallet, newest last
    History(history::Args),
    /// Take back what orders lock whose hub has missed their deadline
    Release(release::Args),
    /// List your shares of the node rewards, or claim them
    Rewards(rewards::Args),
    /// Sign that a worker is this wallet's own: what `gleaner worker statement` printed
    ProveWorker(prove_worker::Args),
    /// Have the hub give a newcomer tokens, where they are worth nothing
    Faucet,
    /// Print who gets which part of all tokens, and when
    Allocation(allocation::Args),
}

/// Does it.
pub async fn perform(settings: &Settings, args: Args) -> Result<ExitCode> {
    let place = &args.place;
    match args.verb {
        Verb::New(args) => new::perform(settings, &args),
        Verb::Show(args) => show::perform(settings, place, &args).await,
        Verb::Send(args) => send::perform(settings, place, &args).await,
        Verb::Deposit(args) => deposit::perform(settings, place, &args).await,
        Verb::Withdraw(args) => withdraw::perform(settings, place, &args).await,
        Verb::History(args) => history::perform(settings, place, &args).await,
        Verb::Release(args) => release::perform(settings, place, &args).await,
        Verb::Rewards(args) => rewards::perform(settings, place, &args).await,
        Verb::ProveWorker(args) => prove_worker::perform(settings, &args),
        Verb::Faucet => faucet::perform(settings).await,
        Verb::Allocation(args) => allocation::perform(&args),
    }
}
