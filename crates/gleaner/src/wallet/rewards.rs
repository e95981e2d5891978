//! `gleaner wallet rewards`: shares of the node rewards, listed and claimed.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::market::{Call, EpochStage, Market};
use gleaner_chain::primitives::Address;
use gleaner_wire::{Amount, Millis};
use serde::Serialize;

use super::place::{self, Place, Where};
use super::till::{Consent, Story, Till};
use crate::failure::Advice;
use crate::output::{data, json, say};
use crate::settings::Settings;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// Epochs that are looked at, newest first.
const EPOCHS_MAX: usize = 120;

/// Options of `gleaner wallet rewards`.
#[derive(clap::Args)]
pub struct Args {
    /// Claim all that can be claimed
    #[arg(long)]
    claim: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "claim")]
    json: bool,
    #[command(flatten)]
    consent: Consent,
}

/// A share of an epoch.
#[derive(Serialize)]
struct Listed {
    epoch: u64,
    stage: EpochStage,
    /// What all shares come to.
    total: Amount,
    /// The wallet's share.
    share: Amount,
    claimed: bool,
    /// Unix seconds from which it can be claimed.
    final_at: u64,
    /// Whether the shares that were published are those that the payments on the chain make.
    right: bool,
    #[serde(skip)]
    claim: Option<Call>,
}

/// Lists shares, or claims them.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    if args.claim {
        return claim(settings, place, args.consent).await;
    }
    let market = Place::find(settings, place).await?.market;
    let (listed, now) = (look(&market, place::own_address(settings)?).await?, market.now().await?);
    if args.json {
        json(&listed)?;
    } else if listed.is_empty() {
        say("no node rewards have been shared yet; an epoch's are, once it has ended and tokens for it have vested");
    } else {
        data(&render(&listed, now))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn look(market: &Market, account: Address) -> Result<Vec<Listed>> {
    let mut listed = Vec::new();
    for epoch in market.published_epochs().await?.into_iter().rev().take(EPOCHS_MAX) {
        let state = market.epoch_state(epoch).await?;
        let shares = market.epoch_shares(epoch).await?;
        let right = shares.root() == state.root && shares.total == state.total;
        let claim = shares.claim(account).filter(|_| right);
        let share = claim.as_ref().map_or(Amount::ZERO, |(amount, _)| *amount);
        let claim = claim.map(|(amount, proof)| market.claim_reward(epoch, account, amount, proof));
        let claimed = market.is_claimed(epoch, account).await?;
        let (stage, total, final_at) = (state.stage, state.total, state.final_at);
        listed.push(Listed { epoch, stage, total, share, claimed, final_at, right, claim });
    }
    Ok(listed)
}

async fn claim(settings: &Settings, place: &Where, consent: Consent) -> Result<ExitCode> {
    let till = Till::open(settings, place, consent).await?;
    let (market, address) = (till.market(), till.address());
    let (listed, now) = (look(market, address).await?, market.now().await?);
    let due: Vec<&Listed> = listed.iter().filter(|listed| listed.is_due(now)).collect();
    let sum = Amount(due.iter().map(|listed| listed.share.0).sum());
    if sum == Amount::ZERO {
        let problem = format!("{address} has no node rewards to claim now");
        return Err(
            Advice::new(problem, "`gleaner wallet rewards` lists them, and from when they can be claimed").into()
        );
    }
    let has = market.token_balance(address).await?;
    let story = Story::new(format!("claim {} of node rewards", words::money(sum)))
        .row("for", words::count(due.len() as u64, "epoch"))
        .change("your tokens", has, Amount(has.0.saturating_add(sum.0)));
    let calls: Vec<Call> = due.iter().filter_map(|listed| listed.claim.clone()).collect();
    till.spend(story, &calls).await
}

impl Listed {
    fn is_due(&self, now: u64) -> bool {
        let open = match self.stage {
            EpochStage::Final => true,
            EpochStage::Published => self.final_at <= now,
            EpochStage::Open | EpochStage::Contested => false,
        };
        open && !self.claimed && self.share > Amount::ZERO
    }

    fn standing(&self, now: u64) -> String {
        if !self.right {
            return "published shares that the payments do not make; they can be contested".to_owned();
        }
        match self.stage {
            EpochStage::Open => "open again: the court could not decide".to_owned(),
            EpochStage::Contested => "contested; the court decides".to_owned(),
            _ if self.claimed => "claimed".to_owned(),
            _ if self.share == Amount::ZERO => "no paid work of yours".to_owned(),
            _ if self.is_due(now) => "can be claimed".to_owned(),
            _ => {
                let left = Millis(self.final_at.saturating_sub(now).saturating_mul(1000));
                format!("can be claimed in {}", words::span(left))
            }
        }
    }
}

fn render(listed: &[Listed], now: u64) -> String {
    let mut table = Table::new([("EPOCH", Right), ("SHARED", Right), ("YOURS", Right), ("", Left)]);
    for epoch in listed {
        let (total, share) = (words::money(epoch.total), words::money(epoch.share));
        table.row([epoch.epoch.to_string(), total, share, epoch.standing(now)]);
    }
    table.render()
}
