//! `gleaner job receipts`.
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use gleaner_client::Client;
use gleaner_wire::JobId;
use gleaner_wire::receipt::TaskReceipt;

use crate::output::{data, say};
use crate::words;

/// Options of `gleaner job receipts`.
#[derive(clap::Args)]
pub struct Args {
    /// The job
    #[arg(value_name = "JOB", value_parser = super::parse_job)]
    job: JobId,
    /// Folder for the receipts
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

/// Fetches the receipts that there are so far, a file for each.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot make the folder {}", args.out.display()))?;
    let mut count = 0;
    loop {
        let receipts = client.task_receipts(args.job, count).await?;
        for receipt in &receipts {
            data(&write(&args.out, receipt)?.display().to_string())?;
        }
        if receipts.is_empty() {
            break;
        }
        count += receipts.len() as u64;
    }
    say(format!(
        "{} in {}; `gleaner receipt verify FILE...` checks them",
        words::count(count, "receipt"),
        args.out.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Named so that a folder lists them in the order in which they follow each other.
fn write(folder: &Path, receipt: &TaskReceipt) -> Result<PathBuf> {
    let facts = &receipt.facts;
    let path = folder.join(format!("receipt-{}-{:06}.json", facts.task.job, facts.number));
    let text = serde_json::to_string_pretty(receipt).context("cannot encode a receipt as JSON")?;
    std::fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
