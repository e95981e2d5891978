//! `gleaner worker statement`: what an owner whose wallet is elsewhere has to sign for this machine's worker.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::primitives::Address;
use gleaner_chain::views::ChainView;

use crate::failure::Advice;
use crate::output::json;
use crate::settings::{Settings, private_files};
use crate::share::owner;
use crate::wallet::input;

/// Options of `gleaner worker statement`.
#[derive(clap::Args)]
pub struct Args {
    /// Who owns the worker: the account that is paid, and whose stake stands behind it
    #[arg(value_name = "ADDRESS", value_parser = input::address)]
    owner: Address,
    /// Which worker of this machine it is, if there are several
    #[arg(long, default_value_t = 1, hide = true)]
    number: u32,
}

/// Prints the statement as typed data.
pub async fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    private_files();
    let view = match settings.guest().await?.get::<ChainView>("/chain").await {
        Ok(view) => view,
        Err(error) if error.is_not_found() => {
            let problem = "this hub's money is on no chain, so its workers prove no owner";
            return Err(Advice::new(problem, "share the machine as it is: `gleaner share`").into());
        }
        Err(error) => return Err(error.into()),
    };
    let dir = settings.folder()?.join("workers").join(args.number.to_string());
    json(&owner::statement(&dir, &view, args.owner)?.to_json())?;
    Ok(ExitCode::SUCCESS)
}
