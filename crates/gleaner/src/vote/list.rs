//! `gleaner vote list`.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_chain::market::{Act, Market, ProposalState, Stage};
use gleaner_chain::primitives::Address;
use gleaner_wire::Amount;
use serde::Serialize;

use super::proposal;
use crate::output::{data, json, say};
use crate::settings::Settings;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::wallet::place::{Place, Where};
use crate::words;

/// Options of `gleaner vote list`.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A proposal and what it needs.
#[derive(Serialize)]
struct Listed {
    id: String,
    stage: Stage,
    proposer: Address,
    acts: Vec<Act>,
    why: String,
    vote_start: u64,
    vote_end: u64,
    votes_for: Amount,
    votes_against: Amount,
    /// Votes that must take part at least; unknown until the vote has begun.
    quorum: Option<Amount>,
    /// From when a queued one can be carried out.
    ready_at: Option<u64>,
}

/// Lists the proposals.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    let market = Place::find(settings, place).await?.market;
    let (proposals, now) = (market.proposals().await?, market.now().await?);
    let mut listed = Vec::new();
    for state in &proposals {
        listed.push(look(&market, state, now).await?);
    }
    if args.json {
        json(&listed)?;
    } else if listed.is_empty() {
        say("no proposals yet; `gleaner vote propose` makes one");
    } else {
        data(&render(&market, &proposals, &listed, now))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn look(market: &Market, state: &ProposalState, now: u64) -> Result<Listed> {
    let quorum = match state.vote_start < now {
        true => Some(market.quorum_at(state.vote_start).await?),
        false => None,
    };
    let ready_at = Some(market.ready_at(state.id).await?).filter(|ready| *ready > 0);
    Ok(Listed {
        id: proposal::full(state.id),
        stage: state.stage,
        proposer: state.proposer,
        acts: market.acts(&state.proposal),
        why: state.proposal.description.clone(),
        vote_start: state.vote_start,
        vote_end: state.vote_end,
        votes_for: state.votes_for,
        votes_against: state.votes_against,
        quorum,
        ready_at,
    })
}

fn render(market: &Market, proposals: &[ProposalState], listed: &[Listed], now: u64) -> String {
    let mut table = Table::new([
        ("ID", Left),
        ("STAGE", Left),
        ("WHAT", Left),
        ("FOR", Right),
        ("AGAINST", Right),
        ("QUORUM", Right),
        ("NEXT", Left),
        ("WHY", Left),
    ]);
    for (state, seen) in proposals.iter().zip(listed) {
        table.row([
            proposal::short(state.id),
            proposal::stage(state.stage).to_owned(),
            proposal::deeds(market, &state.proposal),
            words::money(state.votes_for),
            words::money(state.votes_against),
            seen.quorum.map_or_else(|| "-".to_owned(), words::money),
            proposal::next(state, seen.ready_at.unwrap_or(0), now),
            state.proposal.description.clone(),
        ]);
    }
    table.render()
}
