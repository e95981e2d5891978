//! `gleaner stake auditor`.
use std::process::ExitCode;

use anyhow::Result;

use crate::failure::Advice;
use crate::output::say;
use crate::settings::Settings;
use crate::wallet::place::Where;
use crate::wallet::till::{Consent, Story, Till};
use crate::words;

/// Options of `gleaner stake auditor`.
#[derive(clap::Args)]
pub struct Args {
    /// Be one, or not
    switch: Switch,
    #[command(flatten)]
    consent: Consent,
}

/// To be or not to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    /// Be an auditor.
    On,
    /// Stop being one.
    Off,
}

/// Enrols, or resigns.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let till = Till::open(settings, place, args.consent).await?;
    let (market, address) = (till.market(), till.address());
    match (args.switch, market.is_auditor(address).await?) {
        (Switch::On, true) => say(format!("{address} is an auditor already")),
        (Switch::Off, false) => say(format!("{address} is not an auditor")),
        (Switch::On, false) => return enrol(&till).await,
        (Switch::Off, true) => {
            let story = Story::new("stop being an auditor").row("account", address.to_string());
            let story = story.row("note", "seats on committees that it has it keeps");
            return till.spend(story, &[market.resign()]).await;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn enrol(till: &Till) -> Result<ExitCode> {
    let (market, address) = (till.market(), till.address());
    let (terms, free) = (market.terms().await?, market.free_stake_of(address).await?);
    if free < terms.stake_min {
        let (has, needed) = (words::money(free), words::money(terms.stake_min));
        let problem = format!("an auditor must have {needed} of free stake, and {address} has {has}");
        return Err(Advice::new(problem, "stake with `gleaner stake add AMOUNT`").into());
    }
    let seat =
        format!("{} of the stake for each committee, until its dispute has ended", words::money(terms.work_lock));
    let story = Story::new("become an auditor, who may be drawn to decide disputes")
        .row("account", address.to_string())
        .row("locks", seat)
        .row("pay", "by the loser, to those who voted as the majority did");
    till.spend(story, &[market.enroll()]).await
}
