//! The demo on a chain of others: contracts deployed there, and tokens and gas for everyone who takes part.
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use gleaner_chain::genesis::Genesis;
use gleaner_chain::market::Market;
use gleaner_chain::remote::Remote;
use gleaner_chain::sender::Sender;
use gleaner_chain::{Account, Node, deploy, wallet};
use gleaner_wire::Amount;

use super::liar;
use super::money::provider;
use crate::failure::Advice;
use crate::output::say;

/// What everyone gets to begin with.
const TOKENS: Amount = Amount::gln(1000);
/// What the hub stakes: enough for a hundred orders at a time.
const HUB_STAKE: Amount = Amount::gln(500);
/// What each worker and each judge stakes.
const WORKER_STAKE: Amount = Amount::gln(100);

/// A chain that is ready for the demo.
pub struct Ready {
    /// What the hub is told of it.
    pub options: Vec<String>,
    /// Who holds the tokens that vote.
    pub voter: Account,
}

/// Deploys the contracts to the node at `url` and endows the demo's accounts. The node must be one for development that
/// gives gas away, such as anvil.
pub async fn prepare(url: &str, folder: &Path, workers: u32) -> Result<Ready> {
    let remote = Remote::connect(url)?;
    let node = Node::Remote(remote.clone());
    let chain_id = node.chain_id().await?;
    let sender = Sender::new(node.clone(), chain_id);
    let voter = wallet::own(&folder.join("liquidity.json"))?;
    let deployer = wallet::own(&folder.join("deployer.json"))?;
    let hub = wallet::own(&folder.join("hub/chain/hub.json"))?;
    let requester = wallet::own(&folder.join("wallet.json"))?;
    let mut all = vec![voter.clone(), deployer.clone(), hub.clone(), requester.clone()];
    let judges = (workers + 1..=workers + liar::WORKERS).map(|number| judge(folder, number));
    let judges = judges.collect::<Result<Vec<_>>>()?;
    let providers = (1..=workers + liar::WORKERS).map(|number| provider(folder, number));
    let providers = providers.collect::<Result<Vec<_>>>()?;
    all.extend(providers.iter().chain(&judges).cloned());
    for account in &all {
        remote.give_gas(account.address()).await.map_err(|error| {
            let help = "the demo needs a node for development that gives gas away, such as anvil";
            anyhow::Error::new(error).context(Advice::new("no gas for the demo's accounts", help))
        })?;
    }
    say(format!("Deploying the contracts to the chain {chain_id} at {url}."));
    let genesis = Genesis::preset("hub")?.with_timings("local")?;
    let deployment = deploy::deploy(&sender, &deployer, &genesis, voter.address()).await?;
    let market = Market::new(node, deployment);
    for account in providers.iter().chain(&judges).chain([&hub, &requester]) {
        sender.send(&voter, &market.transfer(account.address(), TOKENS)).await?;
    }
    let stakes = providers.iter().map(|provider| (provider, WORKER_STAKE)).chain([(&hub, HUB_STAKE)]);
    for (account, stake) in stakes {
        let call = market.stake_with_permit(account, stake).await?;
        sender.send(account, &call).await?;
        sender.send(account, &market.allow(hub.address(), stake)).await?;
    }
    // Where tokens are free, machines enrol accounts to judge by themselves. Whoever works for an order cannot judge it.
    for judge in &judges {
        let call = market.stake_with_permit(judge, WORKER_STAKE).await?;
        sender.send(judge, &call).await?;
        sender.send(judge, &market.enroll()).await?;
    }
    let file = write(folder, &market)?;
    let options = ["--no-tests", "--chain", url, "--deployment"].map(str::to_owned);
    Ok(Ready { options: options.into_iter().chain([file.display().to_string()]).collect(), voter })
}

/// The account by which a worker's machine judges what others are accused of.
fn judge(folder: &Path, number: u32) -> Result<Account> {
    Ok(wallet::own(&folder.join("workers").join(number.to_string()).join("judge.json"))?)
}

fn write(folder: &Path, market: &Market) -> Result<PathBuf> {
    let file = folder.join("deployment.json");
    let text = serde_json::to_string_pretty(&market.deployment).context("a deployment is plain data")?;
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}
