//! `gleaner vote delegate`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::primitives::Address;

use crate::output::say;
use crate::settings::Settings;
use crate::wallet::input;
use crate::wallet::place::Where;
use crate::wallet::till::{Consent, Story, Till};
use crate::words;

/// Options of `gleaner vote delegate`.
#[derive(clap::Args)]
pub struct Args {
    /// Who votes with the wallet's tokens [default: the wallet itself]
    #[arg(value_name = "ADDRESS", value_parser = input::address)]
    to: Option<Address>,
    #[command(flatten)]
    consent: Consent,
}

/// Makes votes of tokens. Only those in the wallet's own hands count, not what is deposited or staked.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let till = Till::open(settings, place, args.consent).await?;
    let (market, address) = (till.market(), till.address());
    let to = args.to.unwrap_or(address);
    let before = market.delegate_of(address).await?;
    if before == Some(to) {
        say(format!("the votes of {address} are with {to} already"));
        return Ok(ExitCode::SUCCESS);
    }
    let tokens = words::money(market.token_balance(address).await?);
    let story = Story::new("give the votes of the wallet's tokens")
        .row("from", address.to_string())
        .row("to", if to == address { "yourself".to_owned() } else { to.to_string() })
        .row("votes", format!("{tokens}, and as many as the wallet's tokens later"))
        .row("before", before.map_or_else(|| "with nobody".to_owned(), |before| format!("with {before}")))
        .row("note", "the tokens stay yours; what is deposited or staked does not vote");
    till.spend(story, &[market.delegate(to)]).await
}
