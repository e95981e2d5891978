//! `gleaner chain deploy`.
use std::process::ExitCode;

use anyhow::{Context, Result};
use gleaner_chain::Node;
use gleaner_chain::deploy::{Deployment, deploy};
use gleaner_chain::genesis::Genesis;
use gleaner_chain::primitives::Address;
use gleaner_chain::remote::Remote;
use gleaner_chain::sender::Sender;

use crate::failure::Advice;
use crate::output::{json, say};
use crate::progress::spinner;
use crate::purse;
use crate::settings::Settings;
use crate::wallet::input;
use crate::wallet::till::{Consent, Story, coin};

/// Options of `gleaner chain deploy`.
#[derive(clap::Args)]
pub struct Args {
    /// Address of a node of the chain
    #[arg(long, value_name = "URL", env = "GLEANER_CHAIN", hide_env = true)]
    chain: String,
    /// What to found it with: hub, capped, or the path of a genesis file
    #[arg(long, value_name = "NAME|FILE", default_value = "hub")]
    genesis: String,
    /// Use the genesis's other numbers of this name, such as local for short delays
    #[arg(long, value_name = "NAME")]
    timings: Option<String>,
    /// Who receives the tokens for markets
    #[arg(long, value_name = "ADDRESS", value_parser = input::address)]
    liquidity: Address,
    #[command(flatten)]
    consent: Consent,
}

/// Deploys from the settings' wallet, which must be fresh and have gas. Run again, it goes on where it was.
pub async fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    args.consent.check()?;
    let genesis = args.genesis()?;
    let node = Node::Remote(Remote::connect(&args.chain)?);
    let chain_id = node.chain_id().await?;
    let account = purse::account(settings)?;
    if args.liquidity == account.address() {
        let problem = "the deployer cannot keep the tokens for markets: it ends with nothing and no power";
        return Err(Advice::new(problem, "name another account with --liquidity").into());
    }
    let has = node.balance(account.address()).await?;
    let fees = node.fees().await?;
    if has.is_zero() && fees.base > 0 {
        let problem = format!("{} has none of the chain's own coin to pay for gas", account.address());
        return Err(Advice::new(problem, "send some to that address").into());
    }
    let token = Deployment::predicted(chain_id, account.address()).token;
    let story = Story::new(format!("found `{}` on chain {chain_id}", genesis.name))
        .row("deployer", format!("{}, with {} of the chain's own coin", account.address(), coin(has)))
        .row("supply", format!("{} GLN, the token {token}", genesis.supply()?))
        .row("liquidity", args.liquidity.to_string())
        .row("gas price", format!("{} of the chain's smallest coin", fees.base.saturating_add(fees.priority)))
        .row("note", "afterwards the deployer has no power; only votes do");
    if !args.consent.given_for(&story)? {
        return Ok(ExitCode::FAILURE);
    }
    let sender = Sender::new(node, chain_id);
    let spinner = spinner("deploying the contracts");
    let deployed = deploy(&sender, &account, &genesis, args.liquidity).await;
    spinner.finish_and_clear();
    let help = "run the same command again: it goes on where it was";
    json(&deployed.with_context(|| Advice::new("the deployment is not complete", help))?)?;
    say("keep this: `gleaner hub --chain URL --deployment FILE` and others need it");
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn genesis(&self) -> Result<Genesis> {
        let genesis = input::genesis(&self.genesis)?;
        match &self.timings {
            Some(place) => Ok(genesis.with_timings(place)?),
            None => Ok(genesis),
        }
    }
}
