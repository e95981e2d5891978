//! `gleaner sim prices`: the step response of the price index.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_sim::PricePhase;
use gleaner_wire::Amount;

use crate::output::{data, json};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

const SECONDS_PER_HOUR: u64 = 3600;

/// Runs the phases for each seed.
pub fn perform(from: u64, seeds: u64, as_json: bool) -> Result<ExitCode> {
    let runs: Vec<_> = (from..from + seeds).map(gleaner_sim::prices).collect();
    if as_json {
        json(&runs)?;
        return Ok(ExitCode::SUCCESS);
    }
    for run in &runs {
        data(&format!("seed {}: 200 providers whose machines cost them 0.144 to 1.44 GLN an hour", run.seed))?;
        data(&render(&run.phases))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(phases: &[PricePhase]) -> String {
    let mut table = Table::new([
        ("WHAT HAPPENS", Left),
        ("LOAD", Right),
        ("PROVIDERS", Right),
        ("GLN AN HOUR BEFORE", Right),
        ("AFTER", Right),
        ("LOWEST", Right),
        ("HIGHEST", Right),
        ("SETTLED AFTER", Right),
        ("SLOTS", Right),
        ("BUSY", Right),
    ]);
    let hourly = |price: Amount| {
        let thousandths = price.0 * SECONDS_PER_HOUR / 1_000_000;
        format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
    };
    for phase in phases {
        table.row([
            phase.name.to_owned(),
            format!("{} %", phase.load),
            format!("{} %", phase.supply),
            hourly(phase.before),
            hourly(phase.after),
            hourly(phase.lowest),
            hourly(phase.highest),
            phase.settled_minutes.map_or_else(|| "never".to_owned(), |minutes| words::count(minutes, "minute")),
            words::grouped(phase.slots),
            format!("{}.{} %", phase.utilisation / 10, phase.utilisation % 10),
        ]);
    }
    table.render()
}
