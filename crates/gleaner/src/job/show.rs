//! `gleaner job show`, and the summary that `gleaner run` ends with.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_core::blame::{Payer, consequence};
use gleaner_wire::api::{CaseView, JobState, JobView};
use gleaner_wire::market::{Mode, Tier};
use gleaner_wire::progress::TracedJob;
use gleaner_wire::{Amount, Extent, JobId, Micros};
use serde::Serialize;

use super::contests;
use crate::output::{data, json};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// The most failures that are listed; `--json` has all that the hub keeps.
const FAILURES_SHOWN_MAX: usize = 10;

/// The most awards that are listed; `--json` has all that the hub keeps.
const AWARDS_SHOWN_MAX: usize = 10;

/// Options of `gleaner job show`.
#[derive(clap::Args)]
pub struct Args {
    /// The job
    #[arg(value_name = "JOB", value_parser = super::parse_job)]
    job: JobId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows one job.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let TracedJob { view, trace_id } = client.traced_job(args.job).await?;
    let court = contests::court_of(client, args.job, &view.contests).await?;
    if args.json {
        json(&Shown { view: TracedJob { view, trace_id }, court })?
    } else {
        let trace = trace_id.map(|trace| format!("\ntrace {trace}\n")).unwrap_or_default();
        let text = format!("{}{trace}", summary(&view));
        let text = if court.is_empty() { text } else { format!("{text}\n{}\n", contests::court(&court)) };
        data(text.trim_end())?
    }
    Ok(ExitCode::SUCCESS)
}

/// A job, and what the court made of those who were wrong in it.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    view: TracedJob,
    court: Vec<CaseView>,
}

/// The whole job in a few lines.
pub fn summary(view: &JobView) -> String {
    let mut text = headline(view);
    quoted(view).iter().chain(&market(view)).for_each(|line| text += &format!("{line}\n"));
    text += &format!("\n{}\n", groups(view));
    if !view.workers.is_empty() {
        text += &format!("\n{}\n", workers(view));
    }
    if !view.checks.is_empty() {
        text += &format!("\n{}\n", checks(view));
    }
    if !view.tolerances.is_empty() {
        text += &format!("\n{}\n", contests::tolerances(&view.tolerances));
    }
    if !view.awards.is_empty() {
        text += &format!("\n{}\n", awards(view));
    }
    if !view.contests.is_empty() {
        text += &format!("\n{}\n", contests::contests(&view.contests));
    }
    if !view.failures.is_empty() {
        text += &format!("\n{}\n", failures(view));
    }
    text
}

/// How results were checked before they were paid.
fn checks(view: &JobView) -> String {
    let mut table = Table::new([("RESULTS", Right), ("PAID", Left), ("HOW THEY WERE CHECKED", Left)]);
    for checks in &view.checks {
        let paid = if checks.paid { "yes" } else { "no" };
        table.row([words::grouped(checks.results), paid.to_owned(), words::plain(&checks.verdict)]);
    }
    table.render()
}

fn headline(view: &JobView) -> String {
    let job = &view.summary;
    let name = words::plain(&job.name);
    let took = job.ended_at.map(|end| format!(" in {}", words::span(end.since(job.submitted_at))));
    let mut text = format!(
        "job {} · {name} · {}{} · {} of {} · {} of at most {}\n",
        job.id,
        words::state(&job.state),
        took.unwrap_or_default(),
        words::grouped(job.done),
        words::count(job.tasks, "task"),
        words::money(job.spent),
        words::money(job.price_max),
    );
    if job.known > 0 {
        text += &format!("{} needed no run: the result was known\n", words::count(job.known, "task"));
    }
    if let JobState::Failed { task, cause, reason } = &job.state {
        let task = task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
        let cause = cause.map(|cause| format!("{cause}: ")).unwrap_or_default();
        text += &format!("failed: {}{}{}\n", words::plain(&task), cause, words::plain(reason));
    }
    text
}

/// What was quoted, beside what was paid.
fn quoted(view: &JobView) -> Option<String> {
    let quoted = view.quoted.as_ref()?;
    let mut text = format!(
        "quoted {} ({} expected in about {})",
        words::money(quoted.price),
        words::money(quoted.expected),
        words::span(quoted.time_ms)
    );
    if let (Some(price), Some(time)) = (quoted.price_error_mille, quoted.time_error_mille) {
        text += &format!(": the cost was {} off, the time {}", part(price), part(time));
    }
    if quoted.platform_paid > Amount::ZERO {
        text += &format!("; the platform paid {} beyond it", words::money(quoted.platform_paid));
    }
    Some(text)
}

/// How the market treated a job that uses more of it than standing prices.
fn market(view: &JobView) -> Option<String> {
    let market = &view.market;
    let mut parts = Vec::new();
    if market.market.mode == Mode::Race {
        let wasted = market.wasted_micros.saturating_mul(1000).checked_div(market.paid_micros).unwrap_or(0);
        let hedges = words::count(market.hedges, "second attempt");
        parts.push(format!("race: {hedges}, {} of the paid device time wasted", part(wasted)));
    }
    if market.market.tier != Tier::OnDemand {
        parts.push(market.market.tier.to_string());
    }
    if market.moved > 0 {
        parts.push(format!("{} moved for somebody who pays more", words::count(market.moved, "attempt")));
    }
    if market.kept > 0 {
        parts.push(format!("{} kept for it", words::count(market.kept, "device")));
    }
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// Thousandths as a percentage.
fn part(mille: u64) -> String {
    format!("{}.{} %", mille / 10, mille % 10)
}

fn groups(view: &JobView) -> String {
    let columns = [
        ("TASK", Left),
        ("RUNTIME", Left),
        ("DONE", Right),
        ("RUNNING", Right),
        ("WAITING", Right),
        ("OF", Right),
        ("", Left),
    ];
    let mut table = Table::new(columns);
    for group in &view.groups {
        let extent = match group.extent {
            Extent::Single => String::new(),
            Extent::Array(each) => each.to_string(),
            Extent::Tiles { width, height, tile_width, tile_height } => {
                format!("{width}×{height} in tiles of {tile_width}×{tile_height}")
            }
        };
        table.row([
            group.name.clone(),
            group.runtime.to_string(),
            words::grouped(group.done),
            words::grouped(group.running),
            words::grouped(group.queued),
            words::grouped(group.tasks),
            extent,
        ]);
    }
    table.render()
}

fn workers(view: &JobView) -> String {
    let columns =
        [("WORKER", Left), ("DONE", Right), ("FAILED OR LOST", Right), ("DEVICE TIME", Right), ("EARNED", Right)];
    let mut table = Table::new(columns);
    for tally in &view.workers {
        table.row([
            tally.name.clone(),
            words::grouped(tally.done),
            words::grouped(tally.failed),
            words::span(Micros(tally.ran_micros).millis()),
            words::money(tally.earned),
        ]);
    }
    let mut text = table.render();
    if view.failures.iter().any(|failure| consequence(failure.cause).payer == Payer::Requester) {
        text += "\nDEVICE TIME is that of done tasks; EARNED includes failed attempts that the requester pays for.";
    }
    text
}

/// What went to winners of auctions, the most recent last.
fn awards(view: &JobView) -> String {
    let columns = [
        ("AUCTION OF", Left),
        ("WON BY", Left),
        ("BIDS", Right),
        ("BID A SECOND", Right),
        ("SCORE", Right),
        ("SECOND SCORE", Right),
        ("PAID A SECOND", Right),
    ];
    let mut table = Table::new(columns);
    for award in &view.awards[view.awards.len().saturating_sub(AWARDS_SHOWN_MAX)..] {
        table.row([
            award.task.clone(),
            award.worker.clone(),
            award.bids.to_string(),
            words::money(award.bid),
            words::money(award.score),
            award.second.map_or_else(|| "none".to_owned(), words::money),
            words::money(award.price),
        ]);
    }
    table.render()
}

/// What failed and who paid, the most recent last.
pub fn failures(view: &JobView) -> String {
    let hidden = view.failures.len().saturating_sub(FAILURES_SHOWN_MAX);
    let mut lines = Vec::new();
    if hidden > 0 {
        lines.push(format!("the last {FAILURES_SHOWN_MAX} of {} failures:", view.failures.len()));
    }
    for failure in &view.failures[hidden..] {
        let detail = words::plain(failure.detail.trim());
        let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        let (task, worker) = (words::plain(&failure.task), words::plain(&failure.worker));
        lines.push(format!("{task} on {worker}: {}{detail}", failure.cause));
        lines.push(format!("    {}", words::plain(&failure.consequence)));
    }
    lines.join("\n")
}
