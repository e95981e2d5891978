//! `gleaner stake auditor`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_wire::Millis;

use crate::failure::Advice;
use crate::output::say;
use crate::settings::Settings;
use crate::wallet::place::Where;
use crate::wallet::till::{Consent, Story, Till};
use crate::words;

/// What keeps an auditor present.
const RENEWS: &str = "`gleaner share` with this wallet renews it";

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

/// Enrols, renews or resigns.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let till = Till::open(settings, place, args.consent).await?;
    let (market, address) = (till.market(), till.address());
    match (args.switch, market.is_auditor(address).await?) {
        (Switch::On, true) => return renew(&till).await,
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

/// Says for how long an auditor is present; if that is not most of a voting window, it renews.
async fn renew(till: &Till) -> Result<ExitCode> {
    let (market, address) = (till.market(), till.address());
    let (until, now) = (market.present_until(address).await?, market.now().await?);
    let window = market.terms().await?.voting_window;
    let left = until.and_then(|until| until.checked_sub(now));
    let present = match left {
        Some(left) if left > window / 3 * 2 => {
            let left = words::span(seconds(left));
            say(format!("{address} is an auditor already, and counts as present for another {left}; {RENEWS}"));
            return Ok(ExitCode::SUCCESS);
        }
        Some(left) => format!("for {}", words::span(seconds(left))),
        None => "no more: nothing was heard of it for a voting window".to_owned(),
    };
    let story = Story::new("count as a present auditor, who may be drawn to decide disputes")
        .row("account", address.to_string())
        .row("present so far", present)
        .row("then", format!("for {}; {RENEWS}", words::span(seconds(window))));
    till.spend(story, &[market.renew()]).await
}

fn seconds(seconds: u64) -> Millis {
    Millis(seconds.saturating_mul(1_000))
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
        .row("present", format!("for {}; {RENEWS}", words::span(seconds(terms.voting_window))))
        .row("pay", "by the loser, to those who voted as the majority did");
    till.spend(story, &[market.enroll()]).await
}
