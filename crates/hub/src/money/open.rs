//! From a configuration to a chain with our contracts on it, an account that may lock orders, and stake behind it.
use super::desk::Desk;
use super::docket::{Docket, Error as DocketError};
use super::faucet::Faucet;
use super::fiat::{FiatConfig, Till};
use super::nudge::Stillness;
use super::{Bell, Money};
use crate::journal::Archive;
use gleaner_chain::deploy::{self, Deployment};
use gleaner_chain::embedded::{self, Chain};
use gleaner_chain::genesis::{self, Genesis};
use gleaner_chain::market::{Market, ReadError};
use gleaner_chain::remote::{self, Remote};
use gleaner_chain::sender::{Failure, Sender};
use gleaner_chain::{Account, Node, outbox, rpc, wallet};
use gleaner_wire::Amount;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// The stake of a hub on a chain of its own: enough for a hundred thousand orders at a time.
const OWN_STAKE: Amount = Amount::gln(100_000);

/// The shortest time between two looks at the chain.
const PACE_MIN: Duration = Duration::from_millis(20);

/// Blocks that must have come after the one that gives a seed, on a chain that may replace its newest ones.
const ANCHOR_CONFIRMATIONS: u64 = 2;

/// Where money is.
#[derive(Clone, Debug, Default)]
pub enum ChainConfig {
    /// In the hub's own books only: requesters have credit, workers are owed.
    #[default]
    None,
    /// On a chain inside the hub.
    Embedded {
        /// Where its JSON-RPC server listens; loopback only, port 0 takes a free one.
        rpc: SocketAddr,
        /// What it is founded with.
        genesis: Box<Genesis>,
    },
    /// On a chain of others.
    Remote {
        /// The address of its node.
        url: String,
        /// Where the contracts are.
        deployment: Box<Deployment>,
    },
}

impl ChainConfig {
    /// Whether money is on a chain.
    pub(crate) fn is_some(&self) -> bool {
        match self {
            Self::None => false,
            Self::Embedded { .. } | Self::Remote { .. } => true,
        }
    }
}

/// Why there is no money.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The embedded chain could not be opened.
    #[error("the embedded chain could not be opened")]
    Embedded(#[from] embedded::Error),
    /// Its JSON-RPC server could not start.
    #[error("the chain's JSON-RPC server could not start")]
    Rpc(#[from] rpc::Error),
    /// The node's address makes no sense.
    #[error(transparent)]
    Address(#[from] remote::AddressError),
    /// A key could not be read or made.
    #[error(transparent)]
    Wallet(#[from] wallet::Error),
    /// The contracts could not be deployed.
    #[error("the contracts could not be deployed")]
    Deploy(#[from] deploy::Error),
    /// The genesis file makes no sense.
    #[error(transparent)]
    Genesis(#[from] genesis::Error),
    /// A question to the chain had no answer.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The node did not answer.
    #[error(transparent)]
    Node(#[from] gleaner_chain::node::Error),
    /// A transaction failed.
    #[error(transparent)]
    Send(#[from] Failure),
    /// The outbox could not be opened.
    #[error(transparent)]
    Outbox(#[from] outbox::Error),
    /// The docket of proofs could not be opened.
    #[error(transparent)]
    Docket(#[from] DocketError),
    /// The books of the sale of credits could not be opened.
    #[error(transparent)]
    Fiat(#[from] gleaner_chain::fiat::Error),
    /// The node is of another chain than the contracts.
    #[error("the node at {url} is of chain {found}, and the contracts are on chain {wanted}")]
    OtherChain {
        /// The node.
        url: String,
        /// Its chain.
        found: u64,
        /// The contracts'.
        wanted: u64,
    },
    /// The hub has worked with other contracts.
    #[error(
        "this hub has worked with the escrow contract {before}, and the deployment names {now}: name the right file with \
         --deployment, or start a new hub in another folder with --dir"
    )]
    OtherContracts {
        /// The contract that its orders are locked in.
        before: String,
        /// The one that was named.
        now: String,
    },
    /// The hub's stake is too small to lock orders.
    #[error(
        "this hub's account {hub} has a free stake of {free} GLN, and an order locks {needed} GLN of it. Send it tokens \
         (and some of the chain's own coin for gas), then stake: `gleaner stake add 100 --wallet {} --chain URL --deployment FILE` with the node and the \
         contracts that this hub was given", wallet.display()
    )]
    Stake {
        /// The account.
        hub: String,
        /// What it has.
        free: Amount,
        /// What an order locks.
        needed: Amount,
        /// The hub's keystore.
        wallet: PathBuf,
    },
    /// A file of the chain's folder could not be read or written.
    #[error("cannot read or write {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What was opened.
pub(crate) struct Opened {
    pub(crate) money: Money,
    /// The embedded chain's JSON-RPC server; it ends with this.
    pub(crate) server: Option<rpc::Server>,
}

/// Opens the hub's money.
pub(crate) async fn open(
    config: &ChainConfig,
    pages: Vec<String>,
    fiat: Option<&FiatConfig>,
    anchor_confirmations: Option<u64>,
    folder: &Path,
    archive: Archive,
    bell: Bell,
) -> Result<Option<Opened>, Error> {
    let folder = folder.join("chain");
    let (node, market, url, server, faucet) = match config {
        ChainConfig::None => return Ok(None),
        ChainConfig::Embedded { rpc, genesis } => {
            let chain = open_chain(&folder).await?;
            let server = serve(&folder, &chain, *rpc, pages).await?;
            let node = Node::Embedded(chain);
            let faucet = wallet::own(&folder.join("faucet.json"))?;
            let market = found(&folder, &node, genesis, &faucet).await?;
            let faucet = Faucet::new(Sender::new(node.clone(), market.deployment.chain_id), faucet);
            (node, market, server.url(), Some(server), Some(faucet))
        }
        ChainConfig::Remote { url, deployment } => {
            let node = Node::Remote(Remote::connect(url)?);
            let (found, wanted) = (node.chain_id().await?, deployment.chain_id);
            if found != wanted {
                return Err(Error::OtherChain { url: url.clone(), found, wanted });
            }
            check_contracts(&folder, deployment)?;
            let market = Market::new(node.clone(), deployment.as_ref().clone());
            (node, market, url.clone(), None, None)
        }
    };
    let account = wallet::own(&folder.join("hub.json"))?;
    if let Some(faucet) = &faucet {
        faucet.endow(&market, &account, OWN_STAKE).await?;
    }
    check_stake(&market, &account, &folder).await?;
    let path = folder.join("outbox.db");
    let sender = Sender::new(node, market.deployment.chain_id);
    let desk = Desk::open(&path, &sender, &account, market.deployment.chain_id)?;
    let pace = sender.policy.poll.max(PACE_MIN);
    let till = fiat.map(|fiat| Till::open(&folder.join("fiat.db"), fiat)).transpose()?;
    let domain = market.domain();
    let docket = Docket::open(&folder.join("proof.db"))?;
    let stands_still = sender.stands_still(market.deployment.chain_id);
    let confirmations = anchor_confirmations.unwrap_or(if stands_still { 0 } else { ANCHOR_CONFIRMATIONS });
    let money = Money {
        market,
        account,
        domain,
        desk,
        bell,
        archive,
        faucet,
        till,
        docket,
        disputes: Mutex::new(Vec::new()),
        confirmations,
        stands_still,
        stillness: Stillness::default(),
        url,
        pace,
        approvals: Mutex::new(BTreeMap::new()),
        trouble: Mutex::new(None),
    };
    Ok(Some(Opened { money, server }))
}

/// Serves the embedded chain, at the port of last time if any port will do: clients that run know that one.
async fn serve(folder: &Path, chain: &Chain, address: SocketAddr, pages: Vec<String>) -> Result<rpc::Server, Error> {
    let path = folder.join("rpc.port");
    let last = std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
    let again = match last.filter(|_| address.port() == 0) {
        Some(port) => {
            let there = SocketAddr::new(address.ip(), port);
            rpc::Server::start_for(chain.clone(), there, pages.clone()).await.ok()
        }
        None => None,
    };
    let server = match again {
        Some(server) => server,
        None => rpc::Server::start_for(chain.clone(), address, pages).await?,
    };
    let port = server.address().port().to_string();
    std::fs::write(&path, port).map_err(|source| Error::File { path, source })?;
    Ok(server)
}

/// Refuses other contracts than those that the hub's orders are locked in.
fn check_contracts(folder: &Path, deployment: &Deployment) -> Result<(), Error> {
    let path = folder.join("escrow");
    let failed = |source| Error::File { path: path.clone(), source };
    let now = deployment.escrow.to_string();
    match std::fs::read_to_string(&path) {
        Ok(before) if before.trim() == now => Ok(()),
        Ok(before) => Err(Error::OtherContracts { before: before.trim().to_owned(), now }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, &now)).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

async fn open_chain(folder: &Path) -> Result<Chain, Error> {
    let options = embedded::Options::new(folder);
    let path = folder.to_owned();
    let opened = tokio::task::spawn_blocking(move || Chain::open(&options)).await;
    let lost = |_| Error::File { path, source: std::io::Error::other("the chain broke while it was opened") };
    Ok(opened.map_err(lost)??)
}

/// The contracts of an embedded chain, deployed at its first start.
async fn found(folder: &Path, node: &Node, genesis: &Genesis, faucet: &Account) -> Result<Market, Error> {
    let path = folder.join("deployment.json");
    let wrong = |source| Error::File { path: path.clone(), source };
    if let Ok(text) = std::fs::read_to_string(&path) {
        let deployment = serde_json::from_str(&text).map_err(|error| wrong(std::io::Error::other(error)))?;
        return Ok(Market::new(node.clone(), deployment));
    }
    let deployer = wallet::own(&folder.join("deployer.json"))?;
    let deployment =
        deploy::deploy(&Sender::new(node.clone(), node.chain_id().await?), &deployer, genesis, faucet.address())
            .await?;
    let text = serde_json::to_string_pretty(&deployment).map_err(|error| wrong(std::io::Error::other(error)))?;
    std::fs::write(&path, text).map_err(wrong)?;
    Ok(Market::new(node.clone(), deployment))
}

async fn check_stake(market: &Market, account: &Account, folder: &Path) -> Result<(), Error> {
    let (free, needed) = (market.free_stake_of(account.address()).await?, market.terms().await?.hub_lock);
    if free < needed {
        let (hub, wallet) = (account.address().to_string(), folder.join("hub.json"));
        return Err(Error::Stake { hub, free, needed, wallet });
    }
    Ok(())
}
