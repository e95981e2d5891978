//! `gleaner wallet release`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::market::{Call, State};
use gleaner_wire::{Amount, Millis};

use super::place::Where;
use super::till::{Consent, Story, Till};
use crate::failure::Advice;
use crate::settings::Settings;
use crate::words;

/// Options of `gleaner wallet release`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    consent: Consent,
}

/// Releases every order of the wallet whose deadline has passed without a settlement.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let till = Till::open(settings, place, args.consent).await?;
    let (market, address) = (till.market(), till.address());
    let now = market.now().await?;
    let open = market.open_orders(address).await?;
    let locked: Vec<_> = open.iter().filter(|(_, order)| order.state == State::Locked).collect();
    let late: Vec<_> = locked.iter().filter(|(_, order)| order.deadline < now).collect();
    let sum = Amount(late.iter().map(|(_, order)| order.locked().0).sum());
    if late.is_empty() {
        let problem = format!("no order of {address} is past its deadline without a settlement");
        let help = match locked.iter().map(|(_, order)| order.deadline).min() {
            Some(next) => {
                let left = Millis(next.saturating_sub(now).saturating_mul(1000));
                format!("the next deadline is in {}", words::span(left))
            }
            None => "`gleaner wallet show` shows what open orders lock".to_owned(),
        };
        return Err(Advice::new(problem, help).into());
    }
    let free = market.escrow_balance(address).await?;
    let story =
        Story::new(format!("release {} that {} lock", words::money(sum), words::count(late.len() as u64, "order")))
            .row("because", "the hub did not settle them before their deadline")
            .change("deposited", free, Amount(free.0.saturating_add(sum.0)));
    let calls: Vec<Call> = late.iter().map(|(id, _)| market.release(*id)).collect();
    till.spend(story, &calls).await
}
