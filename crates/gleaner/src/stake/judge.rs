//! `gleaner stake judge`.
use std::process::ExitCode;

use anyhow::Result;

use crate::judge::{Judge, Judgement};
use crate::output::{data, say};
use crate::purse;
use crate::settings::Settings;
use crate::wallet::place::{Place, Where};

/// Options of `gleaner stake judge`.
#[derive(clap::Args)]
pub struct Args {}

/// Judges the disputes on whose committees the wallet sits, once. Votes cost nothing: the hub hands them in.
pub async fn perform(settings: &Settings, place: &Where, _args: &Args) -> Result<ExitCode> {
    let (client, place) = (settings.guest().await?, Place::find(settings, place).await?);
    let account = purse::account(settings)?;
    let address = account.address();
    let judged = Judge::new(client, place.market, vec![account]).sit().await?;
    if judged.is_empty() {
        say(format!("no open dispute waits for a vote of {address}"));
    }
    judged.iter().map(Judgement::tell).try_for_each(|line| data(&line))?;
    Ok(ExitCode::SUCCESS)
}
