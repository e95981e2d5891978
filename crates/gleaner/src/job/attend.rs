//! `gleaner job attend`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_client::data::Attendant;
use gleaner_wire::JobId;

use crate::output::say;
use crate::watch::Watch;
use crate::words;

/// Options of `gleaner job attend`.
#[derive(clap::Args)]
pub struct Args {
    /// The job
    #[arg(value_name = "JOB", value_parser = super::parse_job)]
    job: JobId,
}

/// Gives workers the keys that they ask for.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let view = client.job(args.job).await?;
    let attendant = Attendant::of(client.data(), client.account()?, args.job, view.groups.len()).await?;
    let _attending = attendant.start();
    say(format!("workers that get a task of job {} get its keys from here; Ctrl-C ends it", args.job));
    let view = Watch::new(client, args.job).follow(|_| {}).await?;
    say(format!("job {} is {}", args.job, words::state(&view.summary.state)));
    Ok(ExitCode::SUCCESS)
}
