//! `gleaner stake show`.
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use gleaner_chain::market::Market;
use gleaner_chain::primitives::{Address, U256};
use gleaner_wire::{Amount, Millis};
use serde::Serialize;

use crate::output::{data, json};
use crate::settings::Settings;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::wallet::input;
use crate::wallet::place::{self, Place, Where};
use crate::words;

/// Options of `gleaner stake show`.
#[derive(clap::Args)]
pub struct Args {
    /// Whose stake [default: the wallet's]
    #[arg(value_name = "ADDRESS", value_parser = input::address)]
    account: Option<Address>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What an account has staked.
#[derive(Serialize)]
pub struct StakeView {
    /// All of it.
    pub total: Amount,
    /// What work, disputes or published rewards depend on.
    pub locked: Amount,
    /// The rest.
    pub free: Amount,
    /// On its way out, and not part of the total.
    pub unbonding: Amount,
    /// Unix seconds from which that can be claimed.
    pub ready_at: Option<u64>,
}

/// The same with what only `gleaner stake show` tells.
#[derive(Serialize)]
struct Account {
    address: Address,
    #[serde(flatten)]
    stake: StakeView,
    /// What a provider or an auditor must have staked.
    minimum: Amount,
    auditor: bool,
    /// How much of it the hub may hold locked at a time.
    allowed: Option<Amount>,
}

impl StakeView {
    /// Asks the chain.
    pub async fn read(market: &Market, account: Address) -> Result<Self> {
        let (total, free) = (market.stake_of(account).await?, market.free_stake_of(account).await?);
        let (unbonding, ready) = market.unbonding_of(account).await?;
        let ready_at = (unbonding > Amount::ZERO).then_some(ready);
        Ok(Self { total, locked: Amount(total.0.saturating_sub(free.0)), free, unbonding, ready_at })
    }
}

/// Shows the stake.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let place = Place::find(settings, place).await?;
    let address = match args.account {
        Some(account) => account,
        None => place::own_address(settings)?,
    };
    let market = &place.market;
    let allowed = match place.hub {
        Some(hub) => Some(limited(market.stake_allowance(address, hub).await?)),
        None => None,
    };
    let account = Account {
        address,
        stake: StakeView::read(market, address).await?,
        minimum: market.terms().await?.stake_min,
        auditor: market.is_auditor(address).await?,
        allowed,
    };
    match args.json {
        true => json(&account)?,
        false => data(&render(&account))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// An allowance can be above all tokens there are.
fn limited(allowance: U256) -> Amount {
    Amount(allowance.saturating_to())
}

fn render(account: &Account) -> String {
    let mut table = Table::new([("WHAT", Left), ("AMOUNT", Right), ("", Left)]);
    for (what, amount, more) in stake_rows(&account.stake) {
        table.row([what.to_owned(), amount, more]);
    }
    if let Some(allowed) = account.allowed {
        let amount = if allowed.0 == u64::MAX { "any".to_owned() } else { words::money(allowed) };
        table.row(["allowed".to_owned(), amount, "what this hub may hold locked at a time".to_owned()]);
    }
    table.row(["minimum".to_owned(), words::money(account.minimum), "for providers and auditors".to_owned()]);
    let role = if account.auditor { " · auditor" } else { "" };
    format!("{}{role}\n\n{}", account.address, table.render())
}

/// Stake as lines of a table: what, how much, and a remark.
pub fn stake_rows(stake: &StakeView) -> Vec<(&'static str, String, String)> {
    let mut rows = vec![
        ("stake", words::money(stake.total), String::new()),
        ("  locked", words::money(stake.locked), "work, disputes or published rewards depend on it".to_owned()),
        ("  free", words::money(stake.free), String::new()),
    ];
    if let Some(ready_at) = stake.ready_at {
        rows.push(("unbonding", words::money(stake.unbonding), ready(ready_at)));
    }
    rows
}

fn ready(ready_at: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    match ready_at.saturating_sub(now) {
        0 => "`gleaner stake claim` takes it out".to_owned(),
        left => format!("can be claimed in {}", words::span(Millis(left.saturating_mul(1000)))),
    }
}
