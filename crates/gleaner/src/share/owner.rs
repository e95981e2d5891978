//! Who owns the worker that is shared: a wallet on this machine, or one elsewhere that has signed for it.
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use gleaner_chain::market::Market;
use gleaner_chain::ownership::{Ownership, Proof};
use gleaner_chain::primitives::Address;
use gleaner_chain::views::ChainView;
use gleaner_chain::wallet;
use gleaner_client::{Client, Token};
use gleaner_requester::Purse;
use gleaner_wire::Amount;
use gleaner_worker::{Config, Provider};

use crate::failure::Advice;
use crate::judge::Bench;
use crate::judge::presence::Auditor;
use crate::output::say;
use crate::settings::Settings;
use crate::wallet::place::Place;
use crate::{purse, words};

/// How many times the least stake a worker puts up where tokens are free, so that many orders can lock a part of it.
const STAKE_TIMES: u64 = 10;
/// The owner's word in a worker's folder, if its wallet is elsewhere.
const PROOF_FILE: &str = "owner-proof.json";

/// Who is paid, and who on this machine can judge.
pub struct Owner {
    /// What the worker tells the hub.
    pub provider: Provider,
    /// What judging needs.
    pub bench: Bench,
}

/// The account that is paid, with its stake in place; none if the hub's money is on no chain. A worker has a wallet of
/// its own unless one is named, or one elsewhere has signed for it.
pub async fn find(settings: &Settings, config: &Config, proof: Option<&Path>) -> Result<Option<Owner>> {
    let client = Client::at(&config.hub, Token::new(""), "provider")?;
    let view = match client.get::<ChainView>("/chain").await {
        Ok(view) => view,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let owner = match proof_file(config, proof)? {
        Some(file) => elsewhere(config, &view, &file).await?,
        None => here(settings, config, &client).await?,
    };
    Ok(Some(owner))
}

/// What an owner signs for the worker in a folder, on the hub that says this of its money.
pub fn statement(folder: &Path, view: &ChainView, owner: Address) -> Result<Ownership> {
    let (chain_id, stake, hub) = (view.deployment.chain_id, view.deployment.stake, view.hub);
    Ok(Ownership { chain_id, stake, owner, worker: gleaner_worker::public_key(folder)?, hub })
}

/// The owner's word that is named, or the one in the worker's folder.
fn proof_file(config: &Config, named: Option<&Path>) -> Result<Option<PathBuf>> {
    let file = named.map_or_else(|| config.dir.join(PROOF_FILE), Path::to_path_buf);
    if file.exists() {
        return Ok(Some(file));
    }
    match named {
        Some(_) => {
            let problem = format!("{} is not there", file.display());
            Err(Advice::new(problem, "name what `gleaner wallet prove-worker` printed with --owner-proof").into())
        }
        None => Ok(None),
    }
}

/// The wallet is on this machine and signs now.
async fn here(settings: &Settings, config: &Config, client: &Client) -> Result<Owner> {
    let (account, file) = match &settings.wallet {
        Some(file) => (purse::account(settings)?, file.clone()),
        None => {
            let file = config.dir.join("wallet.json");
            (wallet::own(&file)?, file)
        }
    };
    let purse = Purse::of(client, account).await?;
    stake_up(client, &purse).await?;
    let owner = purse.account.address();
    let proof = statement(&config.dir, &purse.view, owner)?.sign(&purse.account);
    let auditor = Auditor::Provider { account: purse.account, wallet: file };
    Ok(Owner {
        provider: provider(owner, &proof),
        bench: bench(client, config, purse.market, Some(auditor), purse.view.faucet),
    })
}

/// The wallet is elsewhere and has signed: nothing here can touch its money.
async fn elsewhere(config: &Config, view: &ChainView, file: &Path) -> Result<Owner> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let Proof { owner, signature } = serde_json::from_str(&text).map_err(|error| {
        let problem = format!("{} is not an owner's proof", file.display());
        let advice = Advice::new(problem, "name what `gleaner wallet prove-worker` printed with --owner-proof");
        anyhow::Error::new(error).context(advice)
    })?;
    let statement = statement(&config.dir, view, owner)?;
    if !statement.is_signed_by_owner(&signature) {
        let (Ownership { worker, hub, .. }, file) = (statement, file.display());
        let problem = format!("{file} does not prove that {owner} owns the worker {worker} on the hub {hub}");
        let help = format!(
            "have the wallet of {owner} sign what `gleaner worker statement {owner}` prints, with `gleaner wallet prove-worker`"
        );
        return Err(Advice::new(problem, help).into());
    }
    let market = Place::of_hub(view)?.market;
    let needed = view.terms.stake_min;
    if market.stake_of(owner).await? < needed {
        return Err(too_little(owner, needed, "`gleaner stake add` with the wallet that signed").into());
    }
    let client = Client::at(&config.hub, Token::new(""), "provider")?;
    Ok(Owner { provider: provider(owner, &signature), bench: bench(&client, config, market, None, view.faucet) })
}

fn provider(owner: Address, proof: &[u8]) -> Provider {
    Provider { account: gleaner_wire::Address(owner.into_array()), proof: proof.to_vec() }
}

fn bench(client: &Client, config: &Config, market: Market, provider: Option<Auditor>, faucet: bool) -> Bench {
    Bench { client: client.clone(), market, provider, faucet, own: config.dir.join("judge.json") }
}

/// Puts the least stake behind the worker on a chain that gives tokens away. Elsewhere its owner does that.
async fn stake_up(client: &Client, purse: &Purse) -> Result<()> {
    let (address, needed) = (purse.account.address(), purse.view.terms.stake_min);
    if purse.market.stake_of(address).await? >= needed {
        return Ok(());
    }
    if !purse.view.faucet {
        let wallet = "workers/1/wallet.json in the state folder, unless --wallet names another";
        return Err(too_little(address, needed, &format!("`gleaner stake add` with its wallet ({wallet})")).into());
    }
    purse.fill(client).await?;
    let stake = Amount(needed.0.saturating_mul(STAKE_TIMES));
    let call = purse.market.stake_with_permit(&purse.account, stake).await?;
    purse.send(&call).await?;
    purse.send(&purse.market.allow(purse.view.hub, stake)).await?;
    say(format!("staked {} of {address}, which the faucet gave", words::money(stake)));
    Ok(())
}

fn too_little(owner: Address, needed: Amount, how: &str) -> Advice {
    let problem = format!("{} must stand behind this worker, and {owner} has staked less", words::money(needed));
    Advice::new(problem, format!("send tokens and gas to {owner}, then {how}"))
}
