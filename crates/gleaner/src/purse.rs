//! The wallet that a command pays with, and the chain on which it pays.
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use gleaner_chain::market::{Call, Market};
use gleaner_chain::node::Receipt;
use gleaner_chain::remote::Remote;
use gleaner_chain::sender::Sender;
use gleaner_chain::wallet::{self, Unlock};
use gleaner_chain::{Account, Node};
use gleaner_client::Client;
use gleaner_hub::money::ChainView;
use gleaner_wire::Amount;
use serde::Deserialize;

use crate::failure::Advice;
use crate::output::say;
use crate::settings::Settings;
use crate::words;

/// An account on the chain of a hub.
pub struct Purse {
    /// Who pays.
    pub account: Account,
    /// The contracts.
    pub market: Market,
    /// Sends and waits.
    pub sender: Sender,
    /// What the hub says of its money.
    pub view: ChainView,
    /// The keystore file, if several commands may spend from it.
    pub file: Option<PathBuf>,
}

/// What the faucet gave.
#[derive(Deserialize)]
struct Given {
    amount: Amount,
}

impl Purse {
    /// An account on the chain of a hub.
    pub async fn of(client: &Client, account: Account) -> Result<Self> {
        let view: ChainView = client.get("/chain").await?;
        let node = Node::Remote(Remote::connect(&view.url)?);
        let market = Market::new(node.clone(), view.deployment.clone());
        let sender = Sender::new(node, view.deployment.chain_id);
        Ok(Self { account, market, sender, view, file: None })
    }

    /// Sends a call and waits until it counts.
    pub async fn send(&self, call: &Call) -> Result<Receipt> {
        Ok(self.sender.send(&self.account, call).await?)
    }

    /// Has the faucet fill an empty wallet, if there is a faucet. Says how much came.
    pub async fn fill(&self, client: &Client) -> Result<Option<Amount>> {
        let address = self.account.address();
        if !self.view.faucet || self.market.token_balance(address).await? > Amount::ZERO {
            return Ok(None);
        }
        let newcomer = serde_json::json!({ "account": address.to_string().to_lowercase() });
        let given: Given = client.put_in("/faucet", &newcomer).await?;
        Ok(Some(given.amount))
    }

    /// Deposits what is missing to cover an order, as far as the wallet has it. Says how much that was.
    pub async fn cover(&self, wanted: Amount) -> Result<Amount> {
        let address = self.account.address();
        let (free, held) = (self.market.escrow_balance(address).await?, self.market.token_balance(address).await?);
        let missing = Amount(wanted.0.saturating_sub(free.0));
        if missing > held {
            let has = format!("{} deposited and {} in the wallet", words::money(free), words::money(held));
            let problem = format!("{} are needed, and {address} has {has}", words::money(wanted));
            return Err(
                Advice::new(problem, "lower budget.price_max in the job file, or send tokens to that address").into()
            );
        }
        if missing > Amount::ZERO {
            let call = self.market.deposit_with_permit(&self.account, missing).await?;
            self.send(&call).await?;
        }
        Ok(missing)
    }
}

/// The account of the settings' wallet, which is made at first use.
pub fn account(settings: &Settings) -> Result<Account> {
    let file = settings.wallet_file()?;
    if !file.exists() && settings.password_file.is_none() {
        let account = wallet::own(&file)?;
        let beside = wallet::password_file(&file);
        let (file, beside) = (file.display(), beside.display());
        say(format!("made the wallet {file} for {}, with its password in {beside}: keep both", account.address()));
        return Ok(account);
    }
    unlock(settings, &file)
}

fn unlock(settings: &Settings, file: &Path) -> Result<Account> {
    let beside = wallet::password_file(file);
    if let Some(password_file) = &settings.password_file {
        let password = Unlock::File(password_file.clone()).password("")?;
        return Ok(wallet::open(file, &password)?);
    }
    if beside.exists() {
        return Ok(wallet::own(file)?);
    }
    let known = wallet::address(file)?.and_then(|address| Unlock::Keyring(address).password("").ok());
    if let Some(password) = known {
        return Ok(wallet::open(file, &password)?);
    }
    if !std::io::stdin().is_terminal() {
        let problem = format!("the wallet {} needs its password, and there is no terminal to ask", file.display());
        return Err(Advice::new(problem, "name a file that holds it with --password-file FILE").into());
    }
    let password = Unlock::Prompt.password(&format!("password of {}: ", file.display()))?;
    wallet::open(file, &password).context("the wallet stays closed")
}
