//! `gleaner stake unbond`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_wire::Amount;

use crate::failure::Advice;
use crate::settings::Settings;
use crate::vote::seconds;
use crate::wallet::input::{self, Portion};
use crate::wallet::place::Where;
use crate::wallet::till::{Consent, Story, Till, rest};
use crate::words;

/// Options of `gleaner stake unbond`.
#[derive(clap::Args)]
pub struct Args {
    /// How much, such as "10 GLN", or all that is free
    #[arg(value_name = "AMOUNT", value_parser = input::portion)]
    amount: Portion,
    #[command(flatten)]
    consent: Consent,
}

/// Begins to take stake out.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let till = Till::open(settings, place, args.consent).await?;
    let (market, address) = (till.market(), till.address());
    let (free, staked) = (market.free_stake_of(address).await?, market.stake_of(address).await?);
    let amount = args.amount.of(free);
    if amount == Amount::ZERO {
        let problem = format!("nothing of the stake of {address} is free");
        return Err(Advice::new(problem, "what is locked comes free when the work it stands behind has ended").into());
    }
    rest(free, amount, "free of the stake are", "what is locked comes free when its work has ended")?;
    let (unbonding, _) = market.unbonding_of(address).await?;
    let delay = seconds(market.terms().await?.unbonding_delay);
    let mut story = Story::new(format!("begin to take {} out of the stake", words::money(amount)))
        .row("account", address.to_string())
        .change("your stake", staked, Amount(staked.0.saturating_sub(amount.0)))
        .change("unbonding", unbonding, Amount(unbonding.0.saturating_add(amount.0)))
        .row("then", format!("`gleaner stake claim`, in {delay}"));
    if unbonding > Amount::ZERO {
        story = story.row("note", "what is unbonding already waits anew with it");
    }
    till.spend(story, &[market.unbond(amount)]).await
}
