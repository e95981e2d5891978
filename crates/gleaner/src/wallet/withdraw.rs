//! `gleaner wallet withdraw`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::primitives::Address;
use gleaner_wire::Amount;

use super::input::{self, Portion};
use super::place::Where;
use super::till::{Consent, Story, Till, rest};
use crate::failure::Advice;
use crate::settings::Settings;
use crate::words;

/// Options of `gleaner wallet withdraw`.
#[derive(clap::Args)]
pub struct Args {
    /// How much, such as "2.5 GLN", or all; there is no minimum
    #[arg(value_name = "AMOUNT", value_parser = input::portion, default_value = "all")]
    amount: Portion,
    /// Who gets it [default: the wallet]
    #[arg(long, value_name = "ADDRESS", value_parser = input::address)]
    to: Option<Address>,
    #[command(flatten)]
    consent: Consent,
}

/// Takes free money out of Escrow.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let till = Till::open(settings, place, args.consent).await?;
    let (market, address) = (till.market(), till.address());
    let free = market.escrow_balance(address).await?;
    let amount = args.amount.of(free);
    if amount == Amount::ZERO {
        let help = "what open orders lock comes back when they are settled; `gleaner wallet show` shows it";
        return Err(Advice::new(format!("{address} has nothing to withdraw"), help).into());
    }
    let help = "what open orders lock cannot be withdrawn; `gleaner wallet show` shows it";
    let left = rest(free, amount, "free to withdraw are", help)?;
    let to = args.to.unwrap_or(address);
    till.place.check_receiver(to)?;
    let has = market.token_balance(to).await?;
    let whose = if to == address { "your tokens" } else { "their tokens" };
    let story = Story::new(format!("withdraw {}", words::money(amount)))
        .row("from", format!("the escrow contract {}, in your name", market.deployment.escrow))
        .row("to", to.to_string())
        .change("deposited", free, left)
        .change(whose, has, Amount(has.0.saturating_add(amount.0)));
    let call = if to == address { market.withdraw(amount) } else { market.withdraw_to(to, amount) };
    till.spend(story, &[call]).await
}
