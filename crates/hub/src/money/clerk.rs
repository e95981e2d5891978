//! The clerk: looks at what the books and the chain say of each order, and does what is missing.
//!
//! It keeps nothing in mind that it could not find again: every round starts from the core, the archive and the chain, so
//! that a crash, an outage or a lost message costs a round and no money. What it sends goes through the outbox, once.
use super::accuse::Conviction;
use super::accuse::Prosecution;
use super::rewards::Rewards;
use super::settle::Tries;
use super::{Money, Trouble};
use crate::keeper::Handle;
use crate::proof::Receipts;
use crate::traces::Traces;
use gleaner_chain::order::Settlement;
use gleaner_core::{ChainTerms, Event};
use gleaner_wire::{Address, AttemptId, JobId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The longest time between two rounds.
const ROUND: Duration = Duration::from_millis(500);
/// The wait after a round that failed.
const AFTER_TROUBLE: Duration = Duration::from_secs(2);
/// How often the chain's terms are read.
const TERMS_EVERY: Duration = Duration::from_secs(5);

/// The clerk.
pub(super) struct Clerk {
    pub(super) money: Arc<Money>,
    pub(super) keeper: Handle,
    terms_read: Option<Instant>,
    /// Providers whose stake is to be looked at.
    pub(super) to_look_at: VecDeque<Address>,
    /// What was tried for ended orders.
    pub(super) tries: BTreeMap<JobId, Tries>,
    /// The settlements of ended orders, reckoned once.
    pub(super) reckoned: BTreeMap<JobId, Settlement>,
    /// What is left to do about node rewards.
    pub(super) rewards: Rewards,
    /// What was tried for those who are to be accused.
    prosecution: Prosecution,
    /// Whether something is on its way to the chain.
    pub(super) busy: bool,
    /// What shows that somebody was wrong.
    receipts: Receipts,
    /// Who hears that orders are settled.
    pub(super) traces: Traces,
    /// Whose wrong answers in which job are written down already.
    charged: BTreeSet<(JobId, Address)>,
    /// Whose wrong answers about which claims no court would be convinced of.
    passed_over: BTreeSet<(AttemptId, Address)>,
}

impl Clerk {
    pub(super) fn new(money: Arc<Money>, keeper: Handle, receipts: Receipts, traces: Traces) -> Self {
        Self {
            money,
            keeper,
            terms_read: None,
            to_look_at: VecDeque::new(),
            tries: BTreeMap::new(),
            reckoned: BTreeMap::new(),
            rewards: Rewards::default(),
            prosecution: Prosecution::default(),
            busy: false,
            receipts,
            traces,
            charged: BTreeSet::new(),
            passed_over: BTreeSet::new(),
        }
    }

    /// Works until the hub stops.
    pub(super) async fn run(mut self, mut stopping: watch::Receiver<bool>) {
        let money = Arc::clone(&self.money);
        loop {
            let rest = match self.round().await {
                Ok(()) if self.busy => money.pace,
                Ok(()) => ROUND.max(money.pace),
                Err(trouble) => {
                    self.money.report(&trouble);
                    AFTER_TROUBLE
                }
            };
            tokio::select! {
                () = money.bell.heard() => {}
                () = tokio::time::sleep(rest) => {}
                _ = stopping.changed() => return,
            }
        }
    }

    async fn round(&mut self) -> Result<(), Trouble> {
        self.busy = false;
        self.read_terms().await?;
        self.lock().await?;
        self.engage().await?;
        self.charge().await?;
        // Before anything is settled: whoever is to be accused can be only while the order is open.
        self.busy |= self.money.prosecute(&mut self.prosecution).await?;
        self.settle().await?;
        self.deposit_bought()?;
        self.look_at_stakes().await?;
        self.share_rewards().await?;
        self.money.well();
        Ok(())
    }

    /// Writes down what was found against providers, with the receipt that shows it.
    async fn charge(&mut self) -> Result<(), Trouble> {
        let found = self.keeper.ask(|core| core.convictions().to_vec()).await?;
        for conviction in found {
            let key = (conviction.job, conviction.provider);
            let about = (conviction.claim, conviction.provider);
            if self.charged.contains(&key) || self.passed_over.contains(&about) {
                continue;
            }
            let receipt = match self.receipts.about(conviction.job, conviction.claim).await {
                Ok(Some(receipt)) => receipt,
                Ok(None) => continue,
                Err(unmade) => {
                    tracing::warn!(job = %conviction.job, %unmade, "a wrong answer cannot be shown yet");
                    continue;
                }
            };
            let document = serde_json::to_vec(&receipt).expect("a receipt is plain data");
            let (order, job, provider) = (conviction.order, conviction.job, conviction.provider);
            if let Err(reason) = self.money.would_convince(&order, provider, &document) {
                tracing::warn!(%job, %provider, reason, "a provider is not accused");
                self.passed_over.insert(about);
                continue;
            }
            let evidence = self.money.keep_evidence(&document)?;
            self.money.convict(&[Conviction { order, job, provider, evidence }])?;
            self.charged.insert(key);
        }
        Ok(())
    }

    async fn read_terms(&mut self) -> Result<(), Trouble> {
        if self.terms_read.is_some_and(|at| at.elapsed() < TERMS_EVERY) {
            return Ok(());
        }
        let terms = self.money.market.terms().await?;
        let (share_points, stake_min) = (terms.share_points, terms.stake_min);
        let (work_lock, slash_points) = (terms.work_lock, terms.slash_points);
        let terms = ChainTerms { share_points, stake_min, work_lock, slash_points };
        if self.keeper.ask(|core| core.chain_terms()).await? != terms {
            self.keeper.tell(Event::TermsSeen(terms)).await?;
        }
        self.terms_read = Some(Instant::now());
        Ok(())
    }
}
