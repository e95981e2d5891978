//! `gleaner stake add`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::market::Call;
use gleaner_chain::primitives::{Address, U256};
use gleaner_wire::Amount;

use crate::settings::Settings;
use crate::vote::seconds;
use crate::wallet::input;
use crate::wallet::place::Where;
use crate::wallet::till::{Consent, Story, Till, rest};
use crate::words;

/// Options of `gleaner stake add`.
#[derive(clap::Args)]
pub struct Args {
    /// How much, such as "10 GLN"
    #[arg(value_name = "AMOUNT", value_parser = input::amount)]
    amount: Amount,
    /// Account of the hub that may lock the stake [default: the hub's, if one is asked]
    #[arg(long, value_name = "ADDRESS", value_parser = input::address, conflicts_with = "no_allow")]
    allow: Option<Address>,
    /// Do not let the hub lock the stake
    #[arg(long)]
    no_allow: bool,
    #[command(flatten)]
    consent: Consent,
}

/// Stakes the tokens, with their permit in the same transaction.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let till = Till::open(settings, place, args.consent).await?;
    let (market, address) = (till.market(), till.address());
    let (has, staked) = (market.token_balance(address).await?, market.stake_of(address).await?);
    let left = rest(has, args.amount, "the wallet has", "stake less, or send tokens to the wallet")?;
    let total = Amount(staked.0.saturating_add(args.amount.0));
    let story = Story::new(format!("stake {}", words::money(args.amount)))
        .row("from", address.to_string())
        .row("to", format!("the stake contract {}, in your name", market.deployment.stake))
        .change("your tokens", has, left)
        .change("your stake", staked, total);
    let calls = vec![market.stake_with_permit(&till.account, args.amount).await?];
    let hub = args.allow.or(till.place.hub).filter(|hub| !args.no_allow && *hub != address);
    let (story, calls) = match hub {
        Some(hub) => allow(&till, hub, total, story, calls).await?,
        None => (story, calls),
    };
    let delay = seconds(market.terms().await?.unbonding_delay);
    till.spend(story.row("way back", format!("`gleaner stake unbond`, then {delay}")), &calls).await
}

/// Lets the hub lock all of the stake, unless it may already.
async fn allow(
    till: &Till,
    hub: Address,
    total: Amount,
    story: Story,
    mut calls: Vec<Call>,
) -> Result<(Story, Vec<Call>)> {
    let market = till.market();
    let allowed = market.stake_allowance(till.address(), hub).await?;
    if allowed >= U256::from(total.0) {
        return Ok((story, calls));
    }
    calls.push(market.allow(hub, total));
    Ok((story.row("allow", format!("the hub {hub} may hold {} of it locked at a time", words::money(total))), calls))
}
