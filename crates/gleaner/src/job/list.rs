//! `gleaner job list`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::api::JobSummary;

use crate::output::{data, json, say};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// Options of `gleaner job list`.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lists the jobs.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let jobs = client.jobs().await?;
    if args.json {
        json(&jobs)?;
    } else if jobs.is_empty() {
        say("no jobs yet; `gleaner run JOB.toml` submits one");
    } else {
        data(&render(&jobs))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(jobs: &[JobSummary]) -> String {
    let mut table = Table::new([
        ("JOB", Right),
        ("NAME", Left),
        ("STATE", Left),
        ("DONE", Right),
        ("TASKS", Right),
        ("RETRIED", Right),
        ("SPENT", Right),
        ("SUBMITTED", Left),
    ]);
    for job in jobs {
        table.row([
            job.id.to_string(),
            job.name.clone(),
            words::state(&job.state).to_owned(),
            words::grouped(job.done),
            words::grouped(job.tasks),
            words::grouped(job.retried),
            words::money(job.spent),
            words::ago(job.submitted_at),
        ]);
    }
    table.render()
}
