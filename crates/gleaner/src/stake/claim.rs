//! `gleaner stake claim`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_wire::{Amount, Millis};

use crate::failure::Advice;
use crate::settings::Settings;
use crate::wallet::place::Where;
use crate::wallet::till::{Consent, Story, Till};
use crate::words;

/// Options of `gleaner stake claim`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    consent: Consent,
}

/// Takes out what has been unbonding long enough.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let till = Till::open(settings, place, args.consent).await?;
    let (market, address) = (till.market(), till.address());
    let (amount, ready) = market.unbonding_of(address).await?;
    if amount == Amount::ZERO {
        let problem = format!("nothing of {address} is unbonding");
        return Err(Advice::new(problem, "begin with `gleaner stake unbond AMOUNT`").into());
    }
    let left = ready.saturating_sub(market.now().await?);
    if left > 0 {
        let left = words::span(Millis(left.saturating_mul(1000)));
        let problem = format!("{} are unbonding and cannot be claimed yet", words::money(amount));
        return Err(Advice::new(problem, format!("try again in {left}")).into());
    }
    let has = market.token_balance(address).await?;
    let story = Story::new(format!("take {} out of the stake", words::money(amount)))
        .row("to", address.to_string())
        .change("unbonding", amount, Amount::ZERO)
        .change("your tokens", has, Amount(has.0.saturating_add(amount.0)));
    till.spend(story, &[market.claim_stake()]).await
}
