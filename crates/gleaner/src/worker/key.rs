//! `gleaner worker key`: who this machine's worker is, before it has ever joined a hub.
use std::process::ExitCode;

use anyhow::Result;

use crate::output::data;
use crate::settings::{Settings, private_files};

/// Options of `gleaner worker key`.
#[derive(clap::Args)]
pub struct Args {
    /// Which worker of this machine it is, if there are several
    #[arg(long, default_value_t = 1, hide = true)]
    number: u32,
}

/// Prints the key.
pub fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    private_files();
    let dir = settings.folder()?.join("workers").join(args.number.to_string());
    data(&gleaner_worker::public_key(&dir)?.to_string())?;
    Ok(ExitCode::SUCCESS)
}
