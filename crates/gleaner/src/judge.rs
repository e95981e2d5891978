//! Judging: an auditor that sits on a committee looks at the evidence, and votes as it finds.
//!
//! The hub only says where to look and passes votes on. Who is accused of what is read from the chain, and a document
//! counts only if it is the one whose hash was put there with the accusation.
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use gleaner_chain::market::{Accusation, DisputeStage, Market, Ruling};
use gleaner_chain::primitives::{Address, U256};
use gleaner_chain::{Account, wallet};
use gleaner_client::Client;
use gleaner_hub::money::DisputeView;
use gleaner_requester::Purse;
use gleaner_wire::{Amount, Hash};

use crate::evidence::{self, Charge};
use crate::output::say;
use crate::words;

/// How often a sharing machine looks for disputes.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How many times the least stake a judge puts up where tokens are free, so that it can sit on several committees.
const STAKE_TIMES: u64 = 10;

/// Says whether a document shows what a provider is accused of; or why it cannot tell.
pub type Verify = fn(&Charge<'_>) -> Result<bool, String>;

/// What a machine judges with while it is shared.
pub struct Bench {
    /// The hub.
    pub client: Client,
    /// The contracts.
    pub market: Market,
    /// The provider's account, if its wallet is here.
    pub accounts: Vec<Account>,
    /// Whether tokens are free.
    pub faucet: bool,
    /// The machine's own account.
    pub own: PathBuf,
}

/// Somebody who judges by one or more accounts.
pub struct Judge {
    client: Client,
    market: Market,
    accounts: Vec<Account>,
    verify: Verify,
    /// What could not be judged, so that it is said once.
    abstained: BTreeSet<(u64, Address)>,
}

/// What was done about a dispute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Which.
    pub dispute: u64,
    /// As whom.
    pub account: Address,
    /// The vote; or why there is none.
    pub vote: Result<Ruling, String>,
}

impl Judgement {
    /// In words.
    pub fn tell(&self) -> String {
        let Self { dispute, account, vote } = self;
        match vote {
            Ok(Ruling::Claimant) => format!("dispute {dispute}: the evidence holds; {account} voted guilty"),
            Ok(Ruling::Defendant) => format!("dispute {dispute}: the evidence does not hold; {account} voted innocent"),
            Err(why) => format!("dispute {dispute}: {account} does not vote: {}", words::plain(why)),
        }
    }
}

impl Judge {
    /// Judges by these accounts, as the evidence shows.
    pub fn new(client: Client, market: Market, accounts: Vec<Account>) -> Self {
        Self { client, market, accounts, verify: evidence::verify, abstained: BTreeSet::new() }
    }

    /// Judges every open dispute on whose committee one of the accounts sits and has not voted.
    pub async fn sit(&mut self) -> Result<Vec<Judgement>> {
        let disputes: Vec<DisputeView> = self.client.get("/disputes").await?;
        let mut judged = Vec::new();
        for view in disputes {
            for account in self.accounts.clone() {
                let address = account.address();
                let seated = view.committee.contains(&address) && !view.voted.contains(&address);
                if !seated || self.abstained.contains(&(view.dispute, address)) {
                    continue;
                }
                let vote = self.vote(view.dispute, &account).await?;
                if vote.is_err() {
                    self.abstained.insert((view.dispute, address));
                }
                judged.push(Judgement { dispute: view.dispute, account: address, vote });
            }
        }
        Ok(judged)
    }

    async fn vote(&self, number: u64, account: &Account) -> Result<Result<Ruling, String>> {
        let dispute = U256::from(number);
        let found = self.market.dispute_state(dispute).await?;
        if found.stage != DisputeStage::Open || !found.committee.contains(&account.address()) {
            return Ok(Err("the chain knows nothing of that committee".to_owned()));
        }
        let is_accusation = self.market.accusation_of(found.subject, found.defendant).await? == Some(dispute);
        let accusation = self.market.accusation(found.subject, found.defendant).await?;
        let Some(accusation) = accusation.filter(|_| is_accusation) else {
            return Ok(Err("it is about something else than a provider's fault, which people must judge".to_owned()));
        };
        let ruling = match self.rule(&accusation).await? {
            Ok(ruling) => ruling,
            Err(why) => return Ok(Err(why)),
        };
        let vote = self.market.question(dispute, found.subject).vote(account, ruling);
        self.client.put_in::<()>(&format!("/disputes/{number}/votes"), &vote).await?;
        Ok(Ok(ruling))
    }

    /// What the evidence comes to. Who accuses and shows nothing is wrong.
    async fn rule(&self, accusation: &Accusation) -> Result<Result<Ruling, String>> {
        let hash = Hash(accusation.evidence.0);
        let document = match self.client.bytes(&format!("/evidence/{hash}")).await {
            Ok(document) if Hash::of(&document) == hash => document,
            Ok(_) => return Ok(Ok(Ruling::Defendant)),
            Err(error) if error.is_not_found() => return Ok(Ok(Ruling::Defendant)),
            Err(error) => return Err(error.into()),
        };
        let charge = Charge { order: accusation.order, provider: accusation.provider, document: &document };
        Ok((self.verify)(&charge).map(|guilty| if guilty { Ruling::Claimant } else { Ruling::Defendant }))
    }
}

/// Judges for as long as this machine is shared: by the provider's wallet if its owner enrolled it, and by an account
/// of the machine's own where tokens are free or somebody has left one that is staked. There everybody works for the same orders, and the chain lets nobody
/// judge an order that it works for.
pub async fn attend(bench: Bench) {
    let Bench { client, market, accounts, faucet, own } = bench;
    let mut judge = Judge::new(client.clone(), market, accounts);
    let mut enrolled = !faucet && !own.exists();
    loop {
        if !enrolled {
            match enrol(&client, own.clone()).await {
                Ok(account) => {
                    judge.accounts.push(account);
                    enrolled = true;
                }
                Err(error) => tracing::debug!(error = format!("{error:#}"), "cannot enrol as an auditor yet"),
            }
        }
        match judge.sit().await {
            Ok(judged) => judged.iter().for_each(|judgement| say(judgement.tell())),
            Err(error) => tracing::debug!(error = format!("{error:#}"), "cannot judge now"),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Makes an account of this machine's an auditor, with tokens that the faucet gives.
async fn enrol(client: &Client, file: PathBuf) -> Result<Account> {
    let account = tokio::task::spawn_blocking(move || wallet::own(&file)).await.context("the keystore broke")??;
    let purse = Purse::of(client, account).await?;
    let (market, address) = (&purse.market, purse.account.address());
    if market.is_auditor(address).await? {
        return Ok(purse.account);
    }
    let needed = purse.view.terms.stake_min;
    if market.free_stake_of(address).await? < needed {
        purse.fill(client).await?;
        let stake = Amount(needed.0.saturating_mul(STAKE_TIMES));
        purse.send(&market.stake_with_permit(&purse.account, stake).await?).await?;
    }
    purse.send(&market.enroll()).await?;
    say(format!("{address} is an auditor now, who may be drawn to decide disputes"));
    Ok(purse.account)
}
