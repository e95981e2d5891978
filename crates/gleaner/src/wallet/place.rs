//! Where money is: the chain of a hub, or one that is named, so that money can be reached when no hub runs.
use std::path::PathBuf;

use anyhow::Result;
use gleaner_chain::Node;
use gleaner_chain::market::Market;
use gleaner_chain::primitives::Address;
use gleaner_chain::remote::Remote;
use gleaner_chain::views::ChainView;
use gleaner_chain::wallet;

use super::input;
use crate::failure::Advice;
use crate::purse;
use crate::settings::Settings;

/// Options that say which chain is meant.
#[derive(Clone, Debug, clap::Args)]
pub struct Where {
    /// Address of a chain's node, to do without a hub; with --deployment
    #[arg(
        long,
        global = true,
        env = "GLEANER_CHAIN",
        value_name = "URL",
        hide_env = true,
        help_heading = "Chain options"
    )]
    chain: Option<String>,
    /// Where the contracts are on that chain, as `gleaner chain deploy` prints it
    #[arg(
        long,
        global = true,
        env = "GLEANER_DEPLOYMENT",
        value_name = "FILE",
        hide_env = true,
        help_heading = "Chain options"
    )]
    deployment: Option<PathBuf>,
}

/// A chain with our contracts on it.
pub struct Place {
    /// The contracts.
    pub market: Market,
    /// The account of the hub that was asked, if one was.
    pub hub: Option<Address>,
}

impl Place {
    /// The chain that is meant.
    pub async fn find(settings: &Settings, place: &Where) -> Result<Self> {
        match (&place.chain, &place.deployment) {
            (None, None) => {
                let view: ChainView = settings.guest().await?.get("/chain").await?;
                Self::of_hub(&view)
            }
            (Some(url), Some(file)) => Self::named(url, file).await,
            (Some(_), None) => Err(Advice::new(
                "a chain alone does not say where the contracts are",
                "name what `gleaner chain deploy` printed with --deployment FILE",
            )
            .into()),
            (None, Some(_)) => {
                let problem = "a deployment alone does not say which node to ask";
                Err(Advice::new(problem, "name the address of a node of its chain with --chain URL").into())
            }
        }
    }

    /// The chain of a hub.
    pub fn of_hub(view: &ChainView) -> Result<Self> {
        let node = Node::Remote(Remote::connect(&view.url)?);
        let market = Market::new(node, view.deployment.clone());
        Ok(Self { market, hub: Some(view.hub) })
    }

    async fn named(url: &str, file: &std::path::Path) -> Result<Self> {
        let deployment = input::deployment(file)?;
        let node = Node::Remote(Remote::connect(url)?);
        let (found, wanted) = (node.chain_id().await?, deployment.chain_id);
        if found != wanted {
            let problem = format!("the node is of chain {found}, and the contracts are on chain {wanted}");
            return Err(Advice::new(problem, "name a node of the right chain with --chain URL").into());
        }
        Ok(Self { market: Market::new(node, deployment), hub: None })
    }

    /// Refuses one of our contracts as the receiver of tokens, which would not come back from there. Of the timelock
    /// they do: it is the treasury, and votes spend what it has.
    pub fn check_receiver(&self, address: Address) -> Result<()> {
        let at = &self.market.deployment;
        let found = contracts(at).into_iter().find(|(_, contract)| *contract == address && address != at.timelock);
        let Some((name, _)) = found else { return Ok(()) };
        let problem = format!("{address} is the {name} contract: tokens sent there are lost");
        let help = "`gleaner wallet deposit` and `gleaner stake add` put tokens into contracts the right way";
        Err(Advice::new(problem, help).into())
    }
}

/// Our contracts by name.
pub fn contracts(at: &gleaner_chain::deploy::Deployment) -> [(&'static str, Address); 11] {
    [
        ("timelock", at.timelock),
        ("token", at.token),
        ("parameters", at.parameters),
        ("vesting", at.vesting),
        ("licences", at.licences),
        ("stake", at.stake),
        ("escrow", at.escrow),
        ("court", at.court),
        ("vouchers", at.vouchers),
        ("rewards", at.rewards),
        ("governor", at.governor),
    ]
}

/// The address of the settings' wallet. Nothing is unlocked for it, unless the file does not tell.
pub fn own_address(settings: &Settings) -> Result<Address> {
    let file = settings.wallet_file()?;
    let known = if file.exists() { wallet::address(&file)? } else { None };
    match known {
        Some(address) => Ok(address),
        None => Ok(purse::account(settings)?.address()),
    }
}
