//! `gleaner price list`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::Amount;
use gleaner_wire::prices::PriceView;

use crate::output::{data, json, say};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

const SECONDS_PER_HOUR: u64 = 3600;

/// Options of `gleaner price list`.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lists the prices.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let prices = client.prices().await?;
    if args.json {
        json(&prices)?;
    } else if prices.is_empty() {
        say("no device has been on this hub yet");
    } else {
        data(&render(&prices))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(prices: &[PriceView]) -> String {
    let mut table = Table::new([
        ("CLASS", Left),
        ("GLN AN HOUR", Right),
        ("LOWEST ASKED", Right),
        ("MEDIAN ASKED", Right),
        ("SLOTS", Right),
        ("BUSY", Right),
        ("WAITING", Right),
    ]);
    let hourly = |asked: Option<Amount>| match asked {
        Some(asked) => Amount(asked.0.saturating_mul(SECONDS_PER_HOUR)).to_string(),
        None => "-".to_owned(),
    };
    for price in prices {
        table.row([
            price.class.to_string(),
            price.per_hour.to_string(),
            hourly(price.lowest),
            hourly(price.median),
            words::grouped(price.slots),
            words::grouped(price.busy),
            words::grouped(price.waiting),
        ]);
    }
    table.render()
}
