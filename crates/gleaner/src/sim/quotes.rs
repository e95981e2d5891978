//! `gleaner sim quotes`: how far quotes are from what jobs then cost and take, as more of their kind has run.
use std::process::ExitCode;

use anyhow::Result;

use super::failed;
use crate::output::{data, json};
use crate::words::{count, grouped};

/// Measures and prints.
pub fn perform(from: u64, seeds: u64, as_json: bool) -> Result<ExitCode> {
    let rows = match gleaner_sim::quotes(from, seeds) {
        Ok(rows) => rows,
        Err(violation) => return Ok(failed(&violation)),
    };
    if as_json {
        json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let part = |mille: u64| format!("{}.{} %", mille / 10, mille % 10);
    data(&format!("16 uneven machines, jobs of 20 to 120 tasks; medians over {}", count(seeds, "seed")))?;
    data("TASKS BEFORE  ERROR OF PRICE  ERROR OF TIME  WIDTH OF RANGE  WITHIN IT  WITHIN BINDING PRICE")?;
    for row in rows {
        data(&format!(
            "{:>12}{:>16}{:>15}{:>16}{:>11}{:>22}",
            grouped(row.history),
            part(row.price_mille),
            part(row.time_mille),
            part(row.range_mille),
            part(row.within_mille),
            part(row.covered_mille)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
