//! `gleaner job explain`: why tasks wait, and why the others run where they run.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::JobId;
use gleaner_wire::api::{CaseView, ExplainView, JobState, ReasonView};
use serde::Serialize;

use super::contests;
use crate::output::{data, json};
use crate::words;

/// Options of `gleaner job explain`.
#[derive(clap::Args)]
pub struct Args {
    /// The job
    #[arg(value_name = "JOB", value_parser = super::parse_job)]
    job: JobId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Explains one job.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let view = client.explain(args.job).await?;
    let court = contests::court_of(client, args.job, &view.contests).await?;
    if args.json {
        json(&Shown { view, court })?
    } else {
        data(&render(&view, &court))?
    }
    Ok(ExitCode::SUCCESS)
}

/// A job, and what the court made of those who were wrong in it.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    view: ExplainView,
    court: Vec<CaseView>,
}

/// What waits, and a line for each reason.
pub fn waiting(view: &ExplainView) -> Vec<String> {
    let mut lines = Vec::new();
    for waiting in &view.waiting {
        lines.push(format!("{} of `{}` waiting:", words::count(waiting.queued, "task"), words::plain(&waiting.task)));
        lines.extend(reasons(&waiting.reasons));
    }
    lines
}

/// A line for each reason.
pub fn reasons(reasons: &[ReasonView]) -> impl Iterator<Item = String> {
    reasons.iter().map(|reason| {
        let devices = reason.devices.map(|devices| format!("{}: ", words::count(devices, "device")));
        format!("  - {}{}", devices.unwrap_or_default(), words::plain(&reason.text))
    })
}

fn render(view: &ExplainView, court: &[CaseView]) -> String {
    let mut lines = vec![format!("job {} · {}", view.job, words::state(&view.state))];
    if let JobState::Failed { reason, .. } = &view.state {
        lines.push(format!("  {}", words::plain(reason)));
    }
    lines.extend(waiting(view));
    for running in &view.running {
        let second = if running.second { ", a second attempt beside a slow one" } else { "" };
        let expected =
            running.expected_at.map(|end| format!(", expected to take {}", words::span(end.since(running.since))));
        lines.push(format!(
            "{} runs on {}, placed {}{}{second}",
            words::plain(&running.task),
            words::plain(&running.worker),
            words::ago(running.since),
            expected.unwrap_or_default(),
        ));
        lines.push(format!("  - {}", words::plain(&running.why)));
    }
    if view.running_more > 0 {
        lines.push(format!("and {} more run", words::grouped(view.running_more)));
    }
    if lines.len() == 1 {
        lines.push("nothing waits and nothing runs".to_owned());
    }
    if !view.contests.is_empty() {
        lines.push(contests::contests(&view.contests));
    }
    if !court.is_empty() {
        lines.push(contests::court(court));
    }
    lines.join("\n")
}
