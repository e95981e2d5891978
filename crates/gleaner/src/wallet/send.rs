//! `gleaner wallet send`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::primitives::Address;
use gleaner_wire::Amount;

use super::input;
use super::place::Where;
use super::till::{Consent, Story, Till, rest};
use crate::settings::Settings;
use crate::words;

/// Options of `gleaner wallet send`.
#[derive(clap::Args)]
pub struct Args {
    /// Who gets it
    #[arg(value_name = "ADDRESS", value_parser = input::address)]
    to: Address,
    /// How much, such as "2.5 GLN"
    #[arg(value_name = "AMOUNT", value_parser = input::amount)]
    amount: Amount,
    #[command(flatten)]
    consent: Consent,
}

/// Sends the tokens.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let till = Till::open(settings, place, args.consent).await?;
    till.place.check_receiver(args.to)?;
    let (market, from) = (till.market(), till.address());
    let has = market.token_balance(from).await?;
    let help = "`gleaner wallet withdraw` brings deposited and earned tokens into the wallet";
    let left = rest(has, args.amount, "the wallet has", help)?;
    let theirs = market.token_balance(args.to).await?;
    let mut story = Story::new(format!("send {}", words::money(args.amount)));
    story = story.row("from", from.to_string()).row("to", args.to.to_string());
    if args.to != from {
        story = story.change("your tokens", has, left);
        story = story.change("their tokens", theirs, Amount(theirs.0.saturating_add(args.amount.0)));
    }
    till.spend(story, &[market.transfer(args.to, args.amount)]).await
}
