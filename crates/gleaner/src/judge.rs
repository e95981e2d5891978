//! Judging: an auditor that sits on a committee looks at the evidence, and votes as it finds.
//!
//! The hub only says where to look and passes votes on. Who is accused of what is read from the chain, and a document
//! counts only if it is the one whose hash was put there with the accusation.

pub mod presence;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::future::join_all;
use gleaner_chain::market::{Accusation, DisputeStage, Market, Ruling};
use gleaner_chain::primitives::{Address, U256};
use gleaner_chain::{Account, wallet};
use gleaner_client::Client;
use gleaner_hub::money::DisputeView;
use gleaner_wire::Hash;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::evidence::{self, Charge};
use crate::judge::presence::{Auditor, Presence};
use crate::output::say;
use crate::words;

/// How often a sharing machine looks for disputes.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What a machine judges with while it is shared.
pub struct Bench {
    /// The hub.
    pub client: Client,
    /// The contracts.
    pub market: Market,
    /// The provider, if its wallet is here.
    pub provider: Option<Auditor>,
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
        Self { client, market, accounts, abstained: BTreeSet::new() }
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

    /// What the evidence comes to. Who accuses and shows nothing is wrong. While the chain does not answer there is no vote.
    async fn rule(&self, accusation: &Accusation) -> Result<Result<Ruling, String>> {
        let hash = Hash(accusation.evidence.0);
        let document = match self.client.bytes(&format!("/evidence/{hash}")).await {
            Ok(document) if Hash::of(&document) == hash => document,
            Ok(_) => return Ok(Ok(Ruling::Defendant)),
            Err(error) if error.is_not_found() => return Ok(Ok(Ruling::Defendant)),
            Err(error) => return Err(error.into()),
        };
        let charge = Charge { order: accusation.order, provider: accusation.provider, document: &document };
        let found = evidence::verify(&self.market, &charge).await?;
        Ok(found.map(|guilty| if guilty { Ruling::Claimant } else { Ruling::Defendant }))
    }
}

/// Judges for as long as this machine is shared: by the provider's wallet if its owner enrolled it, and by an account
/// of the machine's own where tokens are free or somebody has left one that is staked. There everybody works for the
/// same orders, and the chain lets nobody judge an order that it works for.
///
/// The task ends when the machine has stopped and its own account has left the list of auditors, or could not. Seats
/// that it has it keeps, so votes go on until the process ends.
pub fn attend(bench: Bench, stopped: watch::Receiver<bool>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let Bench { client, market, provider, faucet, own } = bench;
        let mut auditors: Vec<Auditor> = provider.into_iter().collect();
        if faucet || own.exists() {
            match own_account(own).await {
                Ok(account) => auditors.push(Auditor::Machine(account)),
                Err(error) => tracing::warn!(error = format!("{error:#}"), "this machine has no account to judge by"),
            }
        }
        let accounts = auditors.iter().map(|auditor| auditor.account().clone()).collect();
        tokio::spawn(sit_for_ever(Judge::new(client.clone(), market.clone(), accounts)));
        let presence = Presence::new(client, market);
        join_all(auditors.into_iter().map(|auditor| presence.clone().keep(auditor, stopped.clone()))).await;
    })
}

async fn sit_for_ever(mut judge: Judge) {
    loop {
        match judge.sit().await {
            Ok(judged) => judged.iter().for_each(|judgement| say(judgement.tell())),
            Err(error) => tracing::debug!(error = format!("{error:#}"), "cannot judge now"),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn own_account(file: PathBuf) -> Result<Account> {
    Ok(tokio::task::spawn_blocking(move || wallet::own(&file)).await.context("the keystore broke")??)
}
