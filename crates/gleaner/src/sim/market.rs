//! `gleaner sim market`: what bidders gain who do not ask what the work costs them, and who waits for whom.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_sim::market::{Fairness, Racing, Shading, fairness, racing, shading};
use gleaner_wire::Millis;
use serde::Serialize;

use super::failed;
use crate::output::{data, json};
use crate::words::{count, span};

/// Everything that is measured.
#[derive(Serialize)]
struct Measured {
    single: Vec<Shading>,
    lots: Vec<Shading>,
    fairness: Vec<Fairness>,
    racing: Vec<Racing>,
}

/// Measures and prints.
pub fn perform(from: u64, seeds: u64, as_json: bool) -> Result<ExitCode> {
    let (fairness, racing) = match fairness().and_then(|fairness| Ok((fairness, racing(from)?))) {
        Ok(both) => both,
        Err(violation) => return Ok(failed(&violation)),
    };
    let (single, lots) = (shading(from, seeds, false), shading(from, seeds, true));
    let measured = Measured { single, lots, fairness, racing };
    if as_json {
        json(&measured)?;
        return Ok(ExitCode::SUCCESS);
    }
    print_shading(&format!("one bidder's profit over {} of one task", count(seeds, "auction")), &measured.single)?;
    print_shading(&format!("the same over {} of lots", count(seeds, "auction")), &measured.lots)?;
    print_fairness(&measured.fairness)?;
    print_racing(&measured.racing)?;
    Ok(ExitCode::SUCCESS)
}

fn print_shading(title: &str, rows: &[Shading]) -> Result<()> {
    data(title)?;
    data(&format!(
        "{:>16}{:>10}{:>22}{:>26}",
        "asks of its cost", "wins", "profit of a truthful", "auctions it gains by that"
    ))?;
    for row in rows {
        let tenths = |per_mille: i128| format!("{}.{} %", per_mille / 10, (per_mille % 10).abs());
        let asked = format!("{} %", row.asked_percent);
        let (wins, profit) = (tenths(row.won_per_mille.into()), tenths(row.of_truthful_per_mille));
        data(&format!("{asked:>16}{wins:>10}{profit:>22}{:>26}", row.gained_by_it))?;
    }
    data("")
}

fn print_fairness(rows: &[Fairness]) -> Result<()> {
    data("a job of 20 tasks that comes while one of 2,000 runs on 20 machines")?;
    data(&format!("{:>14}{:>14}{:>13}{:>10}{:>13}", "large by", "small by", "small took", "alone", "large took"))?;
    for row in rows {
        let time = |millis| span(Millis(millis));
        let (beside, alone, large) = (time(row.beside_ms), time(row.alone_ms), time(row.large_ms));
        data(&format!("{:>14}{:>14}{beside:>13}{alone:>10}{large:>13}", row.large, row.small))?;
    }
    data("")
}

fn print_racing(rows: &[Racing]) -> Result<()> {
    data("1,000 questions, four a second, to 20 machines that stall now and then")?;
    data(&format!(
        "{:>10}{:>10}{:>10}{:>10}{:>17}{:>16}",
        "by", "half", "99 %", "the last", "second attempts", "wasted of paid"
    ))?;
    for row in rows {
        let [half, most, last] = [row.p50_ms, row.p99_ms, row.most_ms].map(|millis| span(Millis(millis)));
        let wasted = match row.mode.as_str() {
            "race" => format!("{}.{} %", row.wasted_mille / 10, row.wasted_mille % 10),
            _ => "not counted".into(),
        };
        data(&format!("{:>10}{half:>10}{most:>10}{last:>10}{:>17}{wasted:>16}", row.mode, row.seconds))?;
    }
    Ok(())
}
