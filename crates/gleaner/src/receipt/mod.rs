//! `gleaner receipt …`: a file for each verb. They ask no hub and no chain.
mod show;
mod verify;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use gleaner_wire::receipt::TaskReceipt;

use crate::failure::Advice;

/// The largest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// What can be done with receipts.
#[derive(clap::Subcommand)]
pub enum Verb {
    /// Reckon everything in receipts again, and say what does not fit
    Verify(verify::Args),
    /// Print what a receipt says
    Show(show::Args),
}

/// Does it.
pub fn perform(verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::Verify(args) => verify::perform(&args),
        Verb::Show(args) => show::perform(&args),
    }
}

/// The receipts in a file: one, or an array or lines of them.
fn read(path: &Path) -> Result<Vec<TaskReceipt>> {
    let tried = || format!("cannot read {}", path.display());
    let length = std::fs::metadata(path).with_context(tried)?.len();
    if length > FILE_BYTES_MAX {
        let problem = format!("{} has {length} bytes, more than {FILE_BYTES_MAX}", path.display());
        return Err(Advice::new(problem, "check its receipts in several files, in their order").into());
    }
    let bytes = std::fs::read(path).with_context(tried)?;
    let help = "`gleaner job receipts JOB --out DIR` fetches receipts as JSON";
    gleaner_receipt::read(&bytes).map_err(|error| anyhow::Error::new(error).context(Advice::new(tried(), help)))
}
