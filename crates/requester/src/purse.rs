//! An account on the chain of a hub: what it has, and how it pays.
use std::path::PathBuf;

use gleaner_chain::market::{Call, Market};
use gleaner_chain::node::Receipt;
use gleaner_chain::primitives::Address;
use gleaner_chain::remote::Remote;
use gleaner_chain::sender::Sender;
use gleaner_chain::views::ChainView;
use gleaner_chain::{Account, Node};
use gleaner_client::Client;
use gleaner_wire::Amount;
use serde::Deserialize;

use crate::Error;

/// An account on the chain of a hub.
#[derive(Clone, Debug)]
pub struct Purse {
    /// Who pays.
    pub account: Account,
    /// The contracts.
    pub market: Market,
    /// Sends and waits.
    pub sender: Sender,
    /// What the hub says of its money.
    pub view: ChainView,
    /// The keystore file, if several may spend from it.
    pub file: Option<PathBuf>,
}

/// What the faucet gave.
#[derive(Deserialize)]
struct Given {
    amount: Amount,
}

impl Purse {
    /// An account on the chain of a hub.
    pub async fn of(client: &Client, account: Account) -> Result<Self, Error> {
        let view: ChainView = client.get("/chain").await?;
        let node = Node::Remote(Remote::connect(&view.url)?);
        let market = Market::new(node.clone(), view.deployment.clone());
        let sender = Sender::new(node, view.deployment.chain_id);
        Ok(Self { account, market, sender, view, file: None })
    }

    /// Sends a call and waits until it counts.
    pub async fn send(&self, call: &Call) -> Result<Receipt, Error> {
        Ok(self.sender.send(&self.account, call).await?)
    }

    /// Has the faucet fill an empty wallet, if there is a faucet and it has not done so before. Says how much came.
    pub async fn fill(&self, client: &Client) -> Result<Option<Amount>, Error> {
        if !self.view.faucet || self.market.token_balance(self.account.address()).await? > Amount::ZERO {
            return Ok(None);
        }
        match ask_faucet(client, self.account.address()).await {
            Ok(amount) => Ok(Some(amount)),
            // Who has deposited everything has an empty wallet and is no newcomer.
            Err(Error::Hub(gleaner_client::Error::Refused(problem))) if problem.status == 409 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deposits what is missing to cover an order, as far as the wallet has it. Says how much that was.
    pub async fn cover(&self, wanted: Amount) -> Result<Amount, Error> {
        let address = self.account.address();
        let deposited = self.market.escrow_balance(address).await?;
        let held = self.market.token_balance(address).await?;
        let missing = Amount(wanted.0.saturating_sub(deposited.0));
        if missing > held {
            return Err(Error::TooPoor { wanted, address, deposited, held });
        }
        if missing > Amount::ZERO {
            let call = self.market.deposit_with_permit(&self.account, missing).await?;
            self.send(&call).await?;
        }
        Ok(missing)
    }
}

/// Asks a hub's faucet for tokens, which it gives to newcomers.
pub async fn ask_faucet(client: &Client, address: Address) -> Result<Amount, Error> {
    let newcomer = serde_json::json!({ "account": address.to_string().to_lowercase() });
    let given: Given = client.put_in("/faucet", &newcomer).await?;
    Ok(given.amount)
}

/// Whether a hub's money is on a chain at all.
pub async fn has_chain(client: &Client) -> Result<bool, Error> {
    match client.get::<ChainView>("/chain").await {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error.into()),
    }
}
