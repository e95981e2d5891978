//! `gleaner worker show`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::api::{AuditsView, CaseView, SeedingView, TestView, WorkerView};
use gleaner_wire::{Amount, Runtime, WorkerId};
use serde::Serialize;

use crate::job::contests;
use crate::output::{data, json};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// Options of `gleaner worker show`.
#[derive(clap::Args)]
pub struct Args {
    /// The worker
    #[arg(value_name = "WORKER", value_parser = super::parse_worker)]
    worker: WorkerId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows one worker.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let worker = client.worker(args.worker).await?;
    let seeding = client.data().seeding(Some(worker.key), None).await?;
    let court = match worker.offer.provider {
        Some(provider) => client.cases(None, Some(provider)).await?,
        None => Vec::new(),
    };
    if args.json {
        json(&Shown { worker, seeding, court })?
    } else {
        let text = render(&worker, &seeding);
        let text = if court.is_empty() { text } else { format!("{text}\n\n{}", contests::court(&court)) };
        data(&text)?
    }
    Ok(ExitCode::SUCCESS)
}

/// A worker, and what it has sent to others.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    worker: WorkerView,
    seeding: SeedingView,
    /// What the court of the chain made of wrong answers of its owner's workers.
    court: Vec<CaseView>,
}

/// How a runtime did in the hub's test, and whether its owner needs the device now.
fn tested(worker: &WorkerView, device: usize, runtime: Runtime) -> String {
    let rests = if worker.resting.iter().any(|resting| usize::from(*resting) == device) { ", rests" } else { "" };
    let test = worker.tests.iter().find(|test| usize::from(test.device) == device && test.runtime == runtime);
    let word = match test {
        None => "none".to_owned(),
        Some(TestView { score: Some(score), .. }) => words::grouped((*score).into()),
        Some(TestView { why, .. }) if !why.is_empty() => format!("failed: {}", words::plain(why)),
        Some(TestView { .. }) => "under way".to_owned(),
    };
    format!("{word}{rests}")
}

/// How often its results are checked, with the figures that this follows from.
fn audits(audits: &AuditsView) -> String {
    let percent = |share: u32| format!("{}.{:02} %", share / 10_000, share / 100 % 100);
    format!(
        "{} of its results are computed again by others: {} by its record ({} right in a row, {} wrong ever, {} not given), {} by what a verdict would take ({} of the {} staked; {} unpaid of at most {})\n{}",
        percent(audits.rate),
        percent(audits.by_record),
        words::grouped(audits.good.into()),
        words::grouped(audits.bad.into()),
        words::grouped(audits.given_up.into()),
        percent(audits.by_stake),
        words::money(audits.loses),
        words::money(audits.stake),
        words::money(audits.exposure),
        words::money(audits.exposure_max),
        cheating(audits),
    )
}

/// What making up all that is unpaid would cost and bring on average; nothing where nobody has anything to lose.
fn cheating(audits: &AuditsView) -> String {
    const WHOLE: u64 = 1_000_000;
    if audits.loses == Amount::ZERO {
        return String::new();
    }
    let found = u64::from(audits.rate) * u64::from(audits.honest) / WHOLE;
    let share = |of: Amount, part: u64| {
        let amount = u128::from(of.0) * u128::from(part) / u128::from(WHOLE);
        words::money(Amount(u64::try_from(amount).unwrap_or(u64::MAX)))
    };
    format!(
        "making all of that up would cost {} and bring {} on average, with {}.{} % of those who check being honest\n",
        share(audits.loses, found),
        share(audits.exposure, WHOLE - found),
        audits.honest / 10_000,
        audits.honest / 1000 % 10,
    )
}

fn render(worker: &WorkerView, seeding: &SeedingView) -> String {
    let mut table = Table::new([
        ("DEVICE", Left),
        ("KIND", Left),
        ("MEMORY", Right),
        ("SLOTS", Right),
        ("PRICE A SECOND", Right),
        ("RUNTIME", Left),
        ("SCORE", Right),
        ("HUB'S TEST", Left),
        ("LEARNED SPEED", Right),
        ("LOOPS", Right),
    ]);
    for (place, device) in worker.offer.devices.iter().enumerate() {
        for runtime in &device.runtimes {
            table.row([
                device.name.clone(),
                device.kind.to_string(),
                words::bytes(device.memory.0),
                device.slots.to_string(),
                words::money(device.price_per_second),
                runtime.runtime.to_string(),
                words::grouped(runtime.score.into()),
                tested(worker, place, runtime.runtime),
                worker.speeds.get(place).map_or_else(|| "-".to_owned(), |speed| words::grouped((*speed).into())),
                runtime.loops_max.map_or_else(|| "any".to_owned(), |loops| format!("≤ {}", words::grouped(loops))),
            ]);
        }
    }
    format!(
        "worker {} · {} · {} · region {}\nkey {}\n{} done, {} failed or lost, {} running, {} earned\nfinishes {} of what it is given{}\n{} of datasets sent to other workers\n{}\n{}",
        worker.id,
        words::plain(&worker.offer.name),
        worker.state,
        words::plain(&worker.offer.region),
        worker.key,
        words::grouped(worker.done),
        words::grouped(worker.failed),
        words::grouped(worker.running),
        words::money(worker.earned),
        share(worker.reliability_per_mille),
        bonds(worker),
        words::bytes(seeding.bytes),
        worker.audits.as_ref().map(audits).unwrap_or_default(),
        table.render()
    )
}

fn share(per_mille: u64) -> String {
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

/// What the worker lost because it won auctions and did not start.
fn bonds(worker: &WorkerView) -> String {
    match worker.forfeited {
        Amount::ZERO => String::new(),
        lost => format!(", and lost {} in bonds: it won auctions and did not start", words::money(lost)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_the_formula_are_shown() {
        let figures = AuditsView {
            rate: 45_000,
            by_record: 45_000,
            by_stake: 28_015,
            good: 200,
            bad: 0,
            given_up: 1,
            stake: Amount::gln(10),
            loses: Amount(500_000_000),
            honest: 700_000,
            exposure: Amount(10_000_000),
            exposure_max: Amount(16_262_261),
        };
        assert_eq!(
            audits(&figures),
            "4.50 % of its results are computed again by others: 4.50 % by its record (200 right in a row, 0 wrong ever, \
             1 not given), 2.80 % by what a verdict would take (0.5 GLN of the 10 GLN staked; 0.01 GLN unpaid of at most \
             0.016262261 GLN)\nmaking all of that up would cost 0.01575 GLN and bring 0.009685 GLN on average, with \
             70.0 % of those who check being honest\n"
        );
        let nothing = AuditsView { loses: Amount::ZERO, ..figures };
        assert!(!audits(&nothing).contains("making all of that up"));
    }
}
