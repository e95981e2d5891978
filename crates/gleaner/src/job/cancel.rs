//! `gleaner job cancel`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::JobId;

use crate::output::say;
use crate::words;

/// Options of `gleaner job cancel`.
#[derive(clap::Args)]
pub struct Args {
    /// The job
    #[arg(value_name = "JOB", value_parser = super::parse_job)]
    job: JobId,
}

/// Stops the job.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    client.cancel(args.job).await?;
    let job = client.job(args.job).await?.summary;
    say(format!("job {} is {}; {} spent", job.id, words::state(&job.state), words::money(job.spent)));
    Ok(ExitCode::SUCCESS)
}
