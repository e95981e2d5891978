//! `gleaner sim proof`: Proof of Sync against cheats, as a table.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_core::proof::Policy;
use gleaner_sim::proof::{Group, Row, STEADY_AFTER_PERCENT, rows, run_all};
use gleaner_wire::Millis;

use crate::output::{data, json, say};
use crate::table::{Align, Table};
use crate::words::{grouped, span};

const MINUTE_MS: u64 = 60_000;

/// Runs every world of the table and prints what came out.
pub fn perform(jobs: u64, seed: u64, threads: usize, as_json: bool) -> Result<ExitCode> {
    let worlds = rows(jobs, seed);
    say(format!("{} worlds of {} tasks each; this takes a minute or two", worlds.len(), grouped(jobs)));
    let rows = run_all(&worlds, threads);
    let failed = rows.iter().filter(|row| !row.holds).count();
    if as_json {
        json(&rows)?;
    } else {
        print(&rows, jobs, seed)?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(rows: &[Row], jobs: u64, seed: u64) -> Result<()> {
    let steady = jobs * STEADY_AFTER_PERCENT / 100;
    data(&format!("seed {seed}, {} tasks in each world, steady state after {}", grouped(jobs), grouped(steady)))?;
    data(&policy_line(&Policy::default()))?;
    data("a task of a minute costs 0.003 to 0.012 GLN, a verdict takes 0.5 GLN, the second one puts an owner out")?;
    for (group, title) in [
        (Group::Lying, "Liars"),
        (Group::Other, "Other ways to cheat, and machines that differ (liars collude and build trust first)"),
        (Group::Without, "If audits could be told from paid work (the same liars)"),
        (Group::Dear, "Tasks that cost more beside what a verdict takes (liars collude and build trust first)"),
        (Group::Limit, "Until it breaks: colluding liars who are back at once with a new stake"),
    ] {
        let mut table = Table::new([
            ("LIARS", Align::Right),
            ("WHAT THEY DO", Align::Left),
            ("WRONG PAID", Align::Right),
            ("OVERHEAD", Align::Right),
            ("FALSE SLASHINGS", Align::Right),
            ("PROFIT", Align::Right),
            ("OUT AFTER", Align::Right),
            ("WRONG EACH", Align::Right),
            ("GOAL", Align::Left),
        ]);
        rows.iter().filter(|row| row.group == group).for_each(|row| table.row(cells(row)));
        data(&format!("\n{title}\n\n{}", table.render()))?;
    }
    let goals = rows.iter().filter(|row| row.goal.is_some()).count();
    let held = rows.iter().filter(|row| row.goal.is_some() && row.holds).count();
    data(&format!("\n{held} of {goals} goals hold"))
}

fn cells(row: &Row) -> [String; 9] {
    let outcome = &row.outcome;
    let task_ms = MINUTE_MS * u64::from(row.setting.minutes);
    let goal = match (row.goal, row.holds) {
        (None, _) => "",
        (Some(_), true) => "holds",
        (Some(_), false) => "FAILS",
    };
    let out =
        if outcome.exclusions == 0 { "never".to_owned() } else { span(Millis(outcome.tasks_until_out * task_ms)) };
    [
        format!("{} %", row.setting.liars / 10),
        row.name.clone(),
        percent(outcome.wrong_paid, 4),
        percent(outcome.overhead, 2),
        grouped(outcome.false_slashings),
        millionths(outcome.profit_micro),
        out,
        thousandths(i64::try_from(outcome.wrong_each_milli).unwrap_or(i64::MAX)),
        goal.to_owned(),
    ]
}

fn policy_line(policy: &Policy) -> String {
    let Policy { floor, halving, poll, quorum, streak, polls_max, .. } = policy;
    let floor = percent(*floor, 1);
    format!(
        "floor {floor}, halved by {halving} good verdicts, polls of {poll} with a quorum of {quorum}, \
         {streak} in a row of at most {polls_max}"
    )
}

/// Millionths as a percentage with so many decimals, of at most four.
fn percent(share: u32, decimals: usize) -> String {
    format!("{:.decimals$} %", f64::from(share) / 10_000.0)
}

/// Thousandths with two decimals.
fn thousandths(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let hundredths = value.unsigned_abs().div_ceil(10);
    format!("{sign}{}.{:02}", grouped(hundredths / 100), hundredths % 100)
}

/// Millionths with four decimals, so that a small loss is not taken for none.
fn millionths(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let parts = value.unsigned_abs().div_ceil(100);
    format!("{sign}{}.{:04}", grouped(parts / 10_000), parts % 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_readable() {
        assert_eq!((percent(189, 4), percent(45_000, 1)), ("0.0189 %".to_owned(), "4.5 %".to_owned()));
        let shown = [-135_437, -25, 0, 5366].map(thousandths);
        assert_eq!(shown, ["-135.44", "-0.03", "0.00", "5.37"]);
        assert_eq!([-29_264_000, -40, 0].map(millionths), ["-29.2640", "-0.0001", "0.0000"]);
    }
}
