//! `gleaner receipt verify`.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use gleaner_receipt::{Fault, JobChecked, Verifier, verify_job};
use gleaner_wire::receipt::TaskReceipt;
use gleaner_wire::{Amount, Hash, JobId, WorkerKey};
use serde::Serialize;

use crate::output::{data, json};
use crate::words;

/// Options of `gleaner receipt verify`.
#[derive(clap::Args)]
pub struct Args {
    /// Receipts: one in a file, or an array or lines of them. Those of one job are checked together
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The key of the hub that must have signed them; without it, any hub's receipts hold
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    hub_key: Option<WorkerKey>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn parse_key(text: &str) -> Result<WorkerKey, String> {
    let hash = text.parse::<Hash>().map_err(|_| "a hub's key is 64 hexadecimal digits".to_owned())?;
    Ok(WorkerKey(hash.0))
}

/// What came out for one job.
#[derive(Serialize)]
struct Report {
    hub: WorkerKey,
    job: JobId,
    job_file: Hash,
    receipts: usize,
    holds: bool,
    faults: Vec<String>,
    signatures: usize,
    gross: Amount,
    platform: Amount,
    workers: BTreeMap<String, Amount>,
    without_receipt: Amount,
    refuted: usize,
    believed: Vec<String>,
}

/// Checks receipts, those of each job together.
pub fn perform(args: &Args) -> Result<ExitCode> {
    let mut jobs: BTreeMap<(WorkerKey, JobId, Hash), Vec<TaskReceipt>> = BTreeMap::new();
    for file in &args.files {
        for receipt in super::read(file)? {
            let facts = &receipt.facts;
            jobs.entry((facts.hub, facts.task.job, facts.job)).or_default().push(receipt);
        }
    }
    let mut verifier = Verifier::default();
    if let Some(key) = args.hub_key {
        verifier = verifier.of_hub(key);
    }
    let mut reports = Vec::new();
    for ((hub, job, job_file), receipts) in jobs {
        let outcome = verify_job(&receipts, &mut verifier);
        reports.push(report(hub, job, job_file, receipts.len(), outcome));
    }
    if args.json {
        json(&reports)?;
    } else {
        reports.iter().try_for_each(|report| data(&told(report)))?;
    }
    let holds = reports.iter().all(|report| report.holds);
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report(
    hub: WorkerKey,
    job: JobId,
    job_file: Hash,
    receipts: usize,
    outcome: Result<JobChecked, Vec<Fault>>,
) -> Report {
    let holds = outcome.is_ok();
    let (checked, faults) = match outcome {
        Ok(checked) => (checked, Vec::new()),
        Err(faults) => (JobChecked::default(), faults.iter().map(|fault| words::plain(&fault.to_string())).collect()),
    };
    Report {
        hub,
        job,
        job_file,
        receipts,
        holds,
        faults,
        signatures: checked.signatures,
        gross: checked.gross,
        platform: checked.platform,
        workers: checked.workers.iter().map(|(worker, amount)| (worker.to_string(), *amount)).collect(),
        without_receipt: checked.without,
        refuted: checked.refuted,
        believed: checked.believed.into_iter().map(|what| words::plain(&what)).collect(),
    }
}

fn told(report: &Report) -> String {
    let count = words::count(report.receipts as u64, "receipt");
    let of = format!("of job {} by the hub {}", report.job, report.hub);
    let mut lines = Vec::new();
    if !report.holds {
        let faults = words::count(report.faults.len() as u64, "thing");
        let verb = if report.faults.len() == 1 { "does" } else { "do" };
        lines.push(format!("{count} {of}: {faults} {verb} not fit"));
        lines.extend(report.faults.iter().map(|fault| format!("  {fault}")));
        return lines.join("\n");
    }
    let verb = if report.receipts == 1 { "holds" } else { "hold" };
    lines.push(format!("{count} {of}: {verb}"));
    let signatures = words::count(report.signatures as u64, "signature");
    lines.push(format!("  {signatures}, draws, votes, prices and hashes are right"));
    let (gross, platform) = (words::money(report.gross), words::money(report.platform));
    lines.push(format!("  {gross} paid, of which {platform} to the platform"));
    if report.without_receipt > Amount::ZERO {
        let more = words::money(report.without_receipt);
        lines.push(format!("  {more} paid besides for attempts that delivered nothing and have no receipt"));
    }
    if report.refuted > 0 {
        lines.push(format!("  {} refuted and unpaid", words::count(report.refuted as u64, "claim")));
    }
    lines.extend(report.believed.iter().map(|what| format!("  not shown by it: {what}")));
    lines.join("\n")
}
