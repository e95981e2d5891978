//! `gleaner vote execute`.
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use gleaner_chain::market::{Market, ProposalState, Stage};
use gleaner_chain::primitives::U256;

use super::proposal;
use crate::failure::Advice;
use crate::output::say;
use crate::settings::Settings;
use crate::wallet::place::Where;
use crate::wallet::till::{Consent, Story, Till};

/// The longest wait for the timelock that is waited out here, in seconds.
const WAIT_MAX: u64 = 15;
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Options of `gleaner vote execute`.
#[derive(clap::Args)]
pub struct Args {
    /// The proposal; the first digits of its id suffice
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    consent: Consent,
}

/// Queues a passed proposal, and carries out a queued one whose time has come.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let till = Till::open(settings, place, args.consent).await?;
    let market = till.market();
    let proposals = market.proposals().await?;
    let state = proposal::find(&proposals, &args.id)?;
    match state.stage {
        Stage::Succeeded => queue(&till, state).await,
        Stage::Queued => execute(&till, state).await,
        Stage::Executed => {
            say(format!("proposal {} has been carried out already", proposal::short(state.id)));
            Ok(ExitCode::SUCCESS)
        }
        Stage::Pending | Stage::Active => {
            let next = proposal::next(state, 0, market.now().await?);
            Err(Advice::new(format!("proposal {} has not passed yet", proposal::short(state.id)), next).into())
        }
        Stage::Defeated => {
            let problem = format!("proposal {} was defeated", proposal::short(state.id));
            let help =
                "too few votes took part, or not more were for it than against it: `gleaner vote list` shows them";
            Err(Advice::new(problem, help).into())
        }
        Stage::Canceled | Stage::Expired => {
            let problem = format!("proposal {} is {}", proposal::short(state.id), proposal::stage(state.stage));
            Err(Advice::new(problem, "propose it again with `gleaner vote propose`").into())
        }
    }
}

async fn queue(till: &Till, state: &ProposalState) -> Result<ExitCode> {
    let market = till.market();
    let story = story("queue", market, state);
    match till.sent(story, &[market.queue(&state.proposal)]).await? {
        true => execute(till, state).await,
        false => Ok(ExitCode::FAILURE),
    }
}

async fn execute(till: &Till, state: &ProposalState) -> Result<ExitCode> {
    let (market, id) = (till.market(), proposal::short(state.id));
    if let Some(wait) = wait(market, state.id).await? {
        say(format!("proposal {id} is queued and can be carried out in {wait}: then run `gleaner vote execute {id}`"));
        return Ok(ExitCode::SUCCESS);
    }
    let story = story("carry out", market, state);
    if !till.sent(story, &[market.execute(&state.proposal)]).await? {
        return Ok(ExitCode::FAILURE);
    }
    say(format!("proposal {id} has been carried out"));
    Ok(ExitCode::SUCCESS)
}

/// Waits for the timelock if that is short; else says how long it is.
async fn wait(market: &Market, id: U256) -> Result<Option<String>> {
    let ready = market.ready_at(id).await?;
    loop {
        let now = market.now().await?;
        match ready.saturating_sub(now) {
            0 => return Ok(None),
            1..=WAIT_MAX => tokio::time::sleep(LOOK_EVERY).await,
            _ => return Ok(Some(proposal::until(ready, now))),
        }
    }
}

fn story(what: &str, market: &Market, state: &ProposalState) -> Story {
    Story::new(format!("{what}: {}", proposal::deeds(market, &state.proposal)))
        .row("proposal", proposal::short(state.id))
        .row("why", state.proposal.description.clone())
}
