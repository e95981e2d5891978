//! `gleaner job logs`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::JobId;
use gleaner_wire::api::LogView;

use crate::output::data;
use crate::words::plain;

/// Options of `gleaner job logs`.
#[derive(clap::Args)]
pub struct Args {
    /// The job
    #[arg(value_name = "JOB", value_parser = super::parse_job)]
    job: JobId,
    /// Go on until the job ends
    #[arg(short, long)]
    follow: bool,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Prints the log.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let mut logs = client.logs(args.job, args.follow);
    while let Some(entry) = logs.next().await? {
        if args.json {
            data(&serde_json::to_string(&entry)?)?;
        } else {
            render(&entry)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn render(entry: &LogView) -> Result<()> {
    let origin = format!("{} {}", plain(&entry.task), plain(&entry.worker));
    entry.text.lines().try_for_each(|line| data(&format!("{origin} | {}", plain(line))))
}
