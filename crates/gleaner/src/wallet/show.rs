//! `gleaner wallet show`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::market::Market;
use gleaner_chain::primitives::{Address, U256};
use gleaner_wire::Amount;
use serde::Serialize;

use super::place::{self, Place, Where};
use super::till::coin;
use crate::output::{data, json};
use crate::settings::Settings;
use crate::stake::{StakeView, stake_rows};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// Options of `gleaner wallet show`.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What an account has.
#[derive(Serialize)]
struct WalletView {
    address: Address,
    /// In its own hands.
    tokens: Amount,
    /// Free in Escrow: deposited, earned, given back.
    deposited: Amount,
    /// In open orders, bonds included.
    locked: Amount,
    open_orders: usize,
    stake: StakeView,
    votes: Amount,
    /// Who votes with its tokens.
    delegate: Option<Address>,
    /// The chain's own coin, in its smallest unit.
    coin: U256,
}

/// Shows the wallet.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let place = Place::find(settings, place).await?;
    let address = place::own_address(settings)?;
    let wallet = look(&place.market, address).await?;
    match args.json {
        true => json(&wallet)?,
        false => data(&render(&wallet))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn look(market: &Market, address: Address) -> Result<WalletView> {
    let open = market.open_orders(address).await?;
    Ok(WalletView {
        address,
        tokens: market.token_balance(address).await?,
        deposited: market.escrow_balance(address).await?,
        locked: Amount(open.iter().map(|(_, order)| order.locked().0).sum()),
        open_orders: open.len(),
        stake: StakeView::read(market, address).await?,
        votes: market.votes(address).await?,
        delegate: market.delegate_of(address).await?,
        coin: market.node.balance(address).await?,
    })
}

fn render(wallet: &WalletView) -> String {
    let mut table = Table::new([("WHAT", Left), ("AMOUNT", Right), ("", Left)]);
    let mut row = |what: &str, amount: String, more: String| table.row([what.to_owned(), amount, more]);
    row("tokens", words::money(wallet.tokens), String::new());
    row("deposited", words::money(wallet.deposited), "free for orders and withdrawals".to_owned());
    let orders = words::count(wallet.open_orders as u64, "open order");
    row("locked", words::money(wallet.locked), format!("in {orders}, bonds included"));
    for (what, amount, more) in stake_rows(&wallet.stake) {
        row(what, amount, more);
    }
    row("votes", words::money(wallet.votes), votes(wallet));
    row("coin for gas", coin(wallet.coin), String::new());
    format!("{}\n\n{}", wallet.address, table.render())
}

fn votes(wallet: &WalletView) -> String {
    match wallet.delegate {
        None if wallet.tokens > Amount::ZERO => "`gleaner vote delegate` makes votes of the tokens".to_owned(),
        Some(delegate) if delegate != wallet.address => format!("the tokens' votes are with {delegate}"),
        None | Some(_) => String::new(),
    }
}
