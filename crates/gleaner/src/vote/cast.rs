//! `gleaner vote cast`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::market::{Ballot, ProposalState, Stage};
use gleaner_wire::Amount;

use super::proposal;
use crate::failure::Advice;
use crate::settings::Settings;
use crate::wallet::place::Where;
use crate::wallet::till::{Consent, Story, Till};
use crate::words;

/// Options of `gleaner vote cast`.
#[derive(clap::Args)]
pub struct Args {
    /// The proposal; the first digits of its id suffice
    #[arg(value_name = "ID")]
    id: String,
    /// The vote; an abstention counts for the quorum only
    choice: Choice,
    #[command(flatten)]
    consent: Consent,
}

/// How to vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Choice {
    /// Yes.
    For,
    /// No.
    Against,
    /// Neither.
    Abstain,
}

/// Votes.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let till = Till::open(settings, place, args.consent).await?;
    let market = till.market();
    let proposals = market.proposals().await?;
    let state = proposal::find(&proposals, &args.id)?;
    let votes = votes(&till, state).await?;
    let (word, ballot) = match args.choice {
        Choice::For => ("for", Ballot::For),
        Choice::Against => ("against", Ballot::Against),
        Choice::Abstain => ("abstain", Ballot::Abstain),
    };
    let story = Story::new(format!("vote {word}: {}", proposal::deeds(market, &state.proposal)))
        .row("proposal", proposal::short(state.id))
        .row("why", state.proposal.description.clone())
        .row("voter", till.address().to_string())
        .row("votes", words::money(votes))
        .row("note", "a vote cannot be changed");
    till.spend(story, &[market.cast(state.id, ballot)]).await
}

/// The votes that count for this proposal; refuses if there are none, or if it is not the time.
async fn votes(till: &Till, state: &ProposalState) -> Result<Amount> {
    let (market, address, id) = (till.market(), till.address(), proposal::short(state.id));
    if state.stage != Stage::Active {
        let next = proposal::next(state, 0, market.now().await?);
        let help = if next.is_empty() { "`gleaner vote list` shows what is open".to_owned() } else { next };
        let problem = format!("proposal {id} is {}, so it cannot be voted on now", proposal::stage(state.stage));
        return Err(Advice::new(problem, help).into());
    }
    if market.has_voted(state.id, address).await? {
        let problem = format!("{address} has voted on proposal {id} already");
        return Err(Advice::new(problem, "a vote cannot be changed").into());
    }
    let votes = market.votes_at(address, state.vote_start).await?;
    if votes == Amount::ZERO {
        let problem = format!("{address} had no votes when the vote on proposal {id} began");
        let help = "`gleaner vote delegate` makes votes of your tokens, for votes that begin later";
        return Err(Advice::new(problem, help).into());
    }
    Ok(votes)
}
