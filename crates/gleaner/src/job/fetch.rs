//! `gleaner job fetch`.
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::JobId;

use crate::output::{data, say};
use crate::settings::Settings;
use crate::{order, run, words};

/// Options of `gleaner job fetch`.
#[derive(clap::Args)]
pub struct Args {
    /// The job
    #[arg(value_name = "JOB", value_parser = super::parse_job)]
    job: JobId,
    /// Folder for the results
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

/// Fetches what the job has delivered so far.
pub async fn perform(settings: &Settings, client: &Client, args: &Args) -> Result<ExitCode> {
    let view = client.job(args.job).await?;
    let fetched = run::fetch(client, &view, &args.out).await?;
    let kept = if fetched.kept > 0 {
        format!(", {} of them there before", words::grouped(fetched.kept))
    } else {
        String::new()
    };
    let (files, bytes) = (words::count(fetched.files, "file"), words::bytes(fetched.bytes));
    say(format!("{files} ({bytes}) in {}{kept}", args.out.display()));
    fetched.pictures.iter().try_for_each(|picture| data(&picture.display().to_string()))?;
    if view.summary.state.has_ended()
        && let Some(settled) = order::settle_late(settings, client, args.job).await?
    {
        say(order::told(&settled));
    }
    Ok(ExitCode::SUCCESS)
}
