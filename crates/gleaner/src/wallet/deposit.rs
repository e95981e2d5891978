//! `gleaner wallet deposit`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_wire::Amount;

use super::input;
use super::place::Where;
use super::till::{Consent, Story, Till, rest};
use crate::settings::Settings;
use crate::words;

/// Options of `gleaner wallet deposit`.
#[derive(clap::Args)]
pub struct Args {
    /// How much, such as "2.5 GLN"
    #[arg(value_name = "AMOUNT", value_parser = input::amount)]
    amount: Amount,
    #[command(flatten)]
    consent: Consent,
}

/// Deposits the tokens, with their permit in the same transaction.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let till = Till::open(settings, place, args.consent).await?;
    let (market, address) = (till.market(), till.address());
    let (has, deposited) = (market.token_balance(address).await?, market.escrow_balance(address).await?);
    let left = rest(has, args.amount, "the wallet has", "deposit less, or send tokens to the wallet")?;
    let story = Story::new(format!("deposit {}", words::money(args.amount)))
        .row("from", address.to_string())
        .row("to", format!("the escrow contract {}, in your name", market.deployment.escrow))
        .change("your tokens", has, left)
        .change("deposited", deposited, Amount(deposited.0.saturating_add(args.amount.0)));
    let call = market.deposit_with_permit(&till.account, args.amount).await?;
    till.spend(story, &[call]).await
}
