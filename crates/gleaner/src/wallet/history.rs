//! `gleaner wallet history`.
use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::market::{Entry, Kind, Market};
use gleaner_chain::primitives::Address;
use gleaner_wire::Millis;
use serde::Serialize;

use super::place::{self, Place, Where};
use crate::output::{data, json, say};
use crate::settings::Settings;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// Options of `gleaner wallet history`.
#[derive(clap::Args)]
pub struct Args {
    /// How many of the newest lines to print
    #[arg(long, value_name = "N", default_value_t = 100)]
    last: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A line and when it happened.
#[derive(Serialize)]
struct Line {
    /// Unix seconds.
    time: u64,
    #[serde(flatten)]
    entry: Entry,
}

/// Lists what has happened.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let place = Place::find(settings, place).await?;
    let (market, address) = (&place.market, place::own_address(settings)?);
    let newest = market.node.height().await?;
    let mut entries = market.history(address, market.deployment.block, newest).await?;
    let earlier = entries.len().saturating_sub(args.last);
    let lines = timed(market, entries.split_off(earlier)).await?;
    if args.json {
        json(&lines)?;
    } else if lines.is_empty() {
        say(format!("nothing has happened to {address} yet"));
    } else {
        data(&render(&lines, address, place.hub))?;
    }
    if earlier > 0 {
        say(format!("{} before these; --last N prints more", words::count(earlier as u64, "line")));
    }
    Ok(ExitCode::SUCCESS)
}

async fn timed(market: &Market, entries: Vec<Entry>) -> Result<Vec<Line>> {
    let mut times: BTreeMap<u64, u64> = BTreeMap::new();
    let mut lines = Vec::new();
    for entry in entries {
        let time = match times.get(&entry.block) {
            Some(time) => *time,
            None => market.node.block(entry.block).await?.map_or(0, |block| block.timestamp),
        };
        times.insert(entry.block, time);
        lines.push(Line { time, entry });
    }
    Ok(lines)
}

fn render(lines: &[Line], own: Address, hub: Option<Address>) -> String {
    let mut table = Table::new([("WHEN", Left), ("WHAT", Left), ("AMOUNT", Right), ("WITH", Left), ("BLOCK", Right)]);
    for Line { time, entry } in lines {
        let with = match entry.with {
            with if with.is_none() || with == Some(own) => String::new(),
            with if with == hub => "this hub".to_owned(),
            with => with.map(|address| address.to_string()).unwrap_or_default(),
        };
        table.row([
            words::ago(Millis(time.saturating_mul(1000))),
            kind(entry.kind).to_owned(),
            words::money(entry.amount),
            with,
            entry.block.to_string(),
        ]);
    }
    table.render()
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Received => "received",
        Kind::Sent => "sent",
        Kind::Deposited => "deposited",
        Kind::Withdrawn => "withdrawn",
        Kind::Locked => "locked for an order",
        Kind::Refunded => "back from an order",
        Kind::Earned => "earned",
        Kind::Staked => "staked",
        Kind::Unbonding => "stake unbonding",
        Kind::Unstaked => "stake claimed",
        Kind::Slashed => "stake lost",
        Kind::Reward => "node reward",
        Kind::IntoChannel => "put into a channel",
        Kind::OutOfChannel => "out of a channel",
        Kind::Pledged => "pledged for an accusation",
        Kind::Awarded => "awarded by the court",
    }
}
