//! `gleaner price show`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::prices::{PriceHistory, PricePoint};
use gleaner_wire::{Amount, DeviceClass};

use crate::output::{data, json};
use crate::table::Align::Right;
use crate::table::Table;
use crate::words;

const SECONDS_PER_HOUR: u64 = 3600;
/// Points that are shown; `--json` has all of them.
const SHOWN: usize = 24;

/// Options of `gleaner price show`.
#[derive(clap::Args)]
pub struct Args {
    /// The class, as `gleaner price list` names it
    class: DeviceClass,
    /// Show the last minutes instead of the last hours
    #[arg(long)]
    minutes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows one class.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let history = client.price_history(args.class).await?;
    if args.json {
        json(&history)?;
    } else {
        data(&render(&history, args.minutes))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(history: &PriceHistory, minutes: bool) -> String {
    let now = &history.now;
    let head = format!(
        "{} · {} GLN an hour is suggested\n{} of {} busy, {} waiting; pressure {}.{} %, the price stays at 70 %",
        now.class,
        now.per_hour,
        words::grouped(now.busy),
        words::count(now.slots, "slot"),
        words::count(now.waiting, "task"),
        now.pressure / 10,
        now.pressure % 10,
    );
    let points = if minutes { &history.minutes } else { &history.hours };
    if points.is_empty() {
        return head;
    }
    format!("{head}\n\n{}", table(&points[points.len().saturating_sub(SHOWN)..]))
}

fn table(points: &[PricePoint]) -> String {
    let mut table =
        Table::new([("WHEN", Right), ("GLN AN HOUR", Right), ("BUSY", Right), ("WAITING FOR 1000 SLOTS", Right)]);
    for point in points.iter().rev() {
        table.row([
            words::ago(point.at),
            Amount(point.per_second.0.saturating_mul(SECONDS_PER_HOUR)).to_string(),
            format!("{}.{} %", point.utilisation / 10, point.utilisation % 10),
            words::grouped(point.queue.into()),
        ]);
    }
    table.render()
}
