//! `gleaner job dispute`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::market::State;
use gleaner_chain::order::Settlement;
use gleaner_client::Client;
use gleaner_requester::Claimed;
use gleaner_wire::{Amount, JobId};

use crate::failure::Advice;
use crate::settings::Settings;
use crate::wallet::place::Where;
use crate::wallet::till::{Consent, Story, Till};
use crate::words;

/// Options of `gleaner job dispute`.
#[derive(clap::Args)]
pub struct Args {
    /// The job
    #[arg(value_name = "JOB", value_parser = super::parse_job)]
    job: JobId,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    consent: Consent,
}

/// Challenges what the hub wants to be paid for an ended job: a committee of auditors decides between its settlement and
/// one that pays only what was delivered. Once they have decided against the hub, carries that out.
pub async fn perform(settings: &Settings, client: &Client, args: &Args) -> Result<ExitCode> {
    client.job(args.job).await?;
    let till = Till::open(settings, &args.place, args.consent).await?;
    let claimed = Claimed::read(client, args.job).await?;
    let counter = claimed.counter()?;
    let order = till.market().order_state(counter.order).await?;
    match order.state {
        State::Proposed if counter == claimed.found.settlement => {
            let problem = format!("every receipt of job {} is in order", args.job);
            Err(Advice::new(problem, "there is nothing to dispute; `gleaner job show` shows what was delivered").into())
        }
        State::Proposed => {
            let story = story("dispute", &claimed.found.settlement, &counter).row(
                "at risk",
                format!("your bond of {}, if the auditors side with the hub", words::money(order.bond)),
            );
            till.spend(story, &[till.market().challenge(&counter)]).await
        }
        State::Disputed => {
            let story = story("carry out the verdict on", &claimed.found.settlement, &counter);
            till.spend(story, &[till.market().conclude(&counter)]).await
        }
        State::None | State::Locked | State::Settled | State::Released => {
            let problem = format!("the order of job {} is {}", args.job, words::order_state(order.state));
            let help =
                "only a settlement that was proposed without your approval, and is not final yet, can be disputed";
            Err(Advice::new(problem, help).into())
        }
    }
}

fn story(what: &str, theirs: &Settlement, ours: &Settlement) -> Story {
    let paid = |settlement: &Settlement| words::money(settlement.gross().unwrap_or(Amount(u64::MAX)));
    Story::new(format!("{what} order {}", ours.order)).row("the hub says", paid(theirs)).row("you say", paid(ours))
}
