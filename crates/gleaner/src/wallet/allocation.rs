//! `gleaner wallet allocation`: the token's schedule, which needs no hub.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::genesis::{Allocation, Genesis, Receiver};
use gleaner_wire::Amount;
use serde::Serialize;

use super::input;
use crate::output::{data, json};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// Options of `gleaner wallet allocation`.
#[derive(clap::Args)]
pub struct Args {
    /// Which schedule: hub, capped, or the path of a genesis file
    #[arg(long, value_name = "NAME|FILE", default_value = "hub")]
    genesis: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The whole schedule.
#[derive(Serialize)]
struct Schedule {
    name: String,
    supply: Amount,
    allocations: Vec<Line>,
    months: Vec<Month>,
}

/// One allocation.
#[derive(Serialize)]
struct Line {
    name: String,
    /// Hundredths of a percent of the supply.
    share_points: u32,
    amount: Amount,
    at_launch: Amount,
    cliff_months: u16,
    /// Months after the cliff.
    months: u16,
    last_month: u32,
    to: Receiver,
}

/// What is free after so many months.
#[derive(Serialize)]
struct Month {
    month: u32,
    free: Amount,
    /// In the order of the allocations.
    of_each: Vec<Amount>,
}

/// Prints the schedule.
pub fn perform(args: &Args) -> Result<ExitCode> {
    let schedule = schedule(&input::genesis(&args.genesis)?)?;
    match args.json {
        true => json(&schedule)?,
        false => data(&render(&schedule))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn schedule(genesis: &Genesis) -> Result<Schedule> {
    let launch = genesis.free_after(0);
    let lines = genesis.allocations.iter().zip(&launch).map(|(entry, at_launch)| line(genesis, entry, *at_launch));
    let months = (0..=genesis.months()).map(|month| {
        let of_each = genesis.free_after(month);
        Month { month, free: Amount(of_each.iter().map(|amount| amount.0).sum()), of_each }
    });
    let (name, supply) = (genesis.name.clone(), genesis.supply()?);
    Ok(Schedule { name, supply, allocations: lines.collect(), months: months.collect() })
}

fn line(genesis: &Genesis, entry: &Allocation, at_launch: Amount) -> Line {
    Line {
        name: entry.name.clone(),
        share_points: entry.share_bps,
        amount: genesis.amount(entry),
        at_launch,
        cliff_months: entry.cliff_months,
        months: entry.duration_months,
        last_month: u32::from(entry.cliff_months) + u32::from(entry.duration_months),
        to: entry.to,
    }
}

fn render(schedule: &Schedule) -> String {
    let head = format!("{}: {} GLN, all there will ever be", words::plain(&schedule.name), coins(schedule.supply));
    format!("{head}\n\n{}\n\n{}", allocations(schedule), months(schedule))
}

fn allocations(schedule: &Schedule) -> String {
    let mut table = Table::new([
        ("ALLOCATION", Left),
        ("SHARE", Right),
        ("AMOUNT", Right),
        ("AT LAUNCH", Right),
        ("CLIFF", Right),
        ("MONTHS", Right),
        ("LAST MONTH", Right),
        ("TO", Left),
    ]);
    for line in &schedule.allocations {
        table.row([
            line.name.clone(),
            percent(line.share_points),
            coins(line.amount),
            coins(line.at_launch),
            line.cliff_months.to_string(),
            line.months.to_string(),
            line.last_month.to_string(),
            receiver(line.to),
        ]);
    }
    table.render()
}

fn months(schedule: &Schedule) -> String {
    let mut table = Table::new([("MONTH", Right), ("FREE IN TOTAL", Right), ("NEW", Right), ("OF ALL", Right)]);
    let mut before = Amount::ZERO;
    for month in &schedule.months {
        let new = Amount(month.free.0.saturating_sub(before.0));
        let points = u128::from(month.free.0) * 10_000 / u128::from(schedule.supply.0.max(1));
        let points = u32::try_from(points).unwrap_or(10_000);
        table.row([month.month.to_string(), coins(month.free), coins(new), percent(points)]);
        before = month.free;
    }
    table.render()
}

fn receiver(to: Receiver) -> String {
    match to {
        Receiver::Treasury => "treasury".to_owned(),
        Receiver::Rewards => "node rewards".to_owned(),
        Receiver::Licences => "node licences".to_owned(),
        Receiver::Liquidity => "liquidity".to_owned(),
        Receiver::Account(address) => address.to_string(),
    }
}

fn percent(points: u32) -> String {
    match points % 100 {
        0 => format!("{} %", points / 100),
        rest => format!("{}.{rest:02} %", points / 100),
    }
}

/// An amount in groups of three digits, without its unit.
fn coins(amount: Amount) -> String {
    let text = amount.to_string();
    let decimals = text.split_once('.').map(|(_, decimals)| format!(".{decimals}")).unwrap_or_default();
    words::grouped(amount.0 / Amount::UNITS_PER_GLN) + &decimals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_month_is_printed_and_the_last_one_has_everything() {
        for (preset, months, supply) in [("hub", 120, "1,000,000,000"), ("capped", 240, "21,000,000")] {
            let schedule = schedule(&Genesis::preset(preset).expect("a preset")).expect("it adds up");
            assert_eq!(schedule.months.len(), months + 1);
            assert_eq!(schedule.allocations.iter().map(|line| line.amount.0).sum::<u64>(), schedule.supply.0);
            let text = render(&schedule);
            let last = text.lines().last().expect("a line");
            assert!(last.contains(&months.to_string()) && last.contains(supply) && last.ends_with("100 %"), "{last}");
        }
    }

    #[test]
    fn amounts_are_grouped_and_lose_nothing() {
        assert_eq!(coins(Amount(1_234_567_000_000_001)), "1,234,567.000000001");
        assert_eq!((percent(1500), percent(225)), ("15 %".to_owned(), "2.25 %".to_owned()));
    }
}
