//! `gleaner vote propose`.
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use gleaner_chain::market::Proposal;
use gleaner_chain::primitives::{Address, U256};
use gleaner_wire::Amount;

use super::parameter::{self, Change};
use super::proposal;
use crate::failure::Advice;
use crate::output::{data, say};
use crate::settings::Settings;
use crate::wallet::input;
use crate::wallet::place::Where;
use crate::wallet::till::{Consent, Story, Till};
use crate::words;

/// How often to look whether fresh votes count, which they do from the second after they were delegated.
const LOOKS_MAX: u32 = 20;
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Options of `gleaner vote propose`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    /// Which number to change, such as platform-share=12%, minimum-stake="20 GLN" or challenge-window=12h
    #[arg(value_name = "NAME=VALUE", required = true)]
    change: Option<Change>,
    /// Why, for those who vote
    #[arg(long, value_name = "TEXT", required = true)]
    why: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(subcommand)]
    other: Option<Other>,
}

/// What else can be proposed.
#[derive(clap::Subcommand)]
enum Other {
    /// Propose to pay somebody out of the treasury
    Pay(Pay),
}

/// A payment out of the treasury.
#[derive(clap::Args)]
struct Pay {
    /// Who gets it
    #[arg(value_name = "ADDRESS", value_parser = input::address)]
    to: Address,
    /// How much, such as "500 GLN"
    #[arg(value_name = "AMOUNT", value_parser = input::amount)]
    amount: Amount,
    /// Why, for those who vote
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Which of the treasury's money [default: whichever suffices]
    #[arg(long, value_name = "SOURCE")]
    from: Option<Source>,
    #[command(flatten)]
    consent: Consent,
}

/// Where the treasury's money lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Source {
    /// Tokens that the treasury holds itself: allocations that have been released to it
    Tokens,
    /// The platform's share of payments, which lies in the escrow contract
    Share,
}

/// Puts the proposal to the vote and prints its id.
pub async fn perform(settings: &Settings, place: &Where, args: &Args) -> Result<ExitCode> {
    match (&args.other, args.change, &args.why) {
        (Some(Other::Pay(pay)), _, _) => {
            let till = Till::open(settings, place, pay.consent).await?;
            let proposal = payment(&till, pay).await?;
            propose(&till, &proposal).await
        }
        (None, Some(change), Some(why)) => {
            let till = Till::open(settings, place, args.consent).await?;
            let proposal = parameter_change(&till, change, why).await?;
            propose(&till, &proposal).await
        }
        (None, _, _) => Err(Advice::new("what is proposed?", "write NAME=VALUE --why TEXT, or pay …").into()),
    }
}

async fn parameter_change(till: &Till, change: Change, why: &str) -> Result<Proposal> {
    let (market, parameter, value) = (till.market(), change.parameter, U256::from(change.value));
    let (min, max) = market.parameter_bounds(parameter.raw).await?;
    if value < min || value > max {
        let problem = format!("{} cannot become {}", parameter.name, parameter.say(value));
        let help = format!("no vote can leave the bounds {} to {}", parameter.say(min), parameter.say(max));
        return Err(Advice::new(problem, help).into());
    }
    if market.parameter(parameter.raw).await? == value {
        let problem = format!("{} is {} already", parameter.name, parameter.say(value));
        return Err(Advice::new(problem, "`gleaner chain show` shows all numbers as they are").into());
    }
    Ok(market.parameter_change(parameter.raw, value, why)?)
}

async fn payment(till: &Till, pay: &Pay) -> Result<Proposal> {
    let (market, treasury) = (till.market(), till.market().deployment.timelock);
    till.place.check_receiver(pay.to)?;
    let (tokens, share) = (market.token_balance(treasury).await?, market.escrow_balance(treasury).await?);
    let source = match pay.from {
        Some(source) => source,
        None if tokens >= pay.amount => Source::Tokens,
        None if share >= pay.amount => Source::Share,
        None => {
            let (tokens, share) = (words::money(tokens), words::money(share));
            let problem = format!("the treasury has {tokens} in tokens and {share} of the platform's share");
            let help = "propose less; or, if more will have come by then, name the source with --from";
            return Err(Advice::new(problem, help).into());
        }
    };
    Ok(match source {
        Source::Tokens => market.treasury_payment(pay.to, pay.amount, &pay.why),
        Source::Share => market.platform_payment(pay.to, pay.amount, &pay.why),
    })
}

async fn propose(till: &Till, proposal: &Proposal) -> Result<ExitCode> {
    let market = till.market();
    check_votes(till).await?;
    let rules = market.voting_rules().await?;
    let story = Story::new(format!("propose: {}", proposal::deeds(market, proposal)))
        .row("why", proposal.description.clone())
        .row("proposer", till.address().to_string())
        .row(
            "vote",
            format!("begins in {}, lasts {}", parameter::seconds(rules.delay), parameter::seconds(rules.period)),
        )
        .row(
            "if passed",
            format!("can be carried out {} after it was queued", parameter::seconds(rules.timelock_delay)),
        );
    let id = market.proposal_id(proposal).await?;
    if !till.sent(story, &[market.propose(proposal)]).await? {
        return Ok(ExitCode::FAILURE);
    }
    say(format!("vote with `gleaner vote cast {} for` once the vote has begun", proposal::short(id)));
    data(&proposal::full(id))?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses if the proposer's votes do not suffice. What was delegated a moment ago is waited for.
async fn check_votes(till: &Till) -> Result<()> {
    let (market, address) = (till.market(), till.address());
    let threshold = market.voting_rules().await?.threshold;
    let votes = market.votes(address).await?;
    if votes < threshold {
        let (has, needed) = (words::money(votes), words::money(threshold));
        let problem = format!("a proposer needs {needed} in votes, and {address} has {has}");
        let tokens = market.token_balance(address).await?;
        let help = match tokens >= threshold && market.delegate_of(address).await?.is_none() {
            true => "make votes of your tokens with `gleaner vote delegate`, then propose again".to_owned(),
            false => format!("have others give you their votes with `gleaner vote delegate {address}`"),
        };
        return Err(Advice::new(problem, help).into());
    }
    for _ in 0..LOOKS_MAX {
        let before = market.now().await?.saturating_sub(1);
        if market.votes_at(address, before).await? >= threshold {
            break;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}
