//! `gleaner hub`: runs a hub until Ctrl-C.
use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::{Context, Result};
use gleaner_wire::Amount;

use crate::interrupt::Interrupt;
use crate::output::{data, say};
use crate::settings::Settings;

/// Where a hub listens unless it is told otherwise.
pub const LISTEN: &str = "127.0.0.1:7700";

/// Options of `gleaner hub`.
#[derive(clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = LISTEN)]
    listen: SocketAddr,
    /// Starting credit of a requester that the hub has not seen before
    #[arg(long, value_name = "AMOUNT", default_value = "100 GLN")]
    credit: Amount,
    /// Listen on an address that other machines reach, although HTTP is not encrypted
    #[arg(long)]
    allow_remote: bool,
}

/// Runs the hub. Its address is the one line on stdout, and in the file `address` for other commands.
pub async fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    let mut interrupt = Interrupt::listen()?;
    let folder = settings.hub_folder()?;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let config = gleaner_hub::Config {
        credit: args.credit,
        allow_remote: args.allow_remote,
        ..gleaner_hub::Config::new(&folder, args.listen)
    };
    let mut hub = gleaner_hub::start(config).await?;
    let url = format!("http://{}", hub.address());
    let file = folder.join("address");
    std::fs::write(&file, format!("{url}\n")).with_context(|| format!("cannot write {}", file.display()))?;
    data(&url)?;
    say(format!("the hub keeps its state in {}; Ctrl-C ends it", folder.display()));
    tokio::select! {
        stopped = hub.stopped() => stopped?,
        () = interrupt.came() => {}
    }
    hub.stop().await;
    Ok(ExitCode::SUCCESS)
}
