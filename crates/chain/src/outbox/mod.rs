//! Transactions that must go out exactly once, whatever crashes, outages or re-organisations happen.
//!
//! An intent is a call with a key; pushing the same key twice is pushing it once. Each intent gets one number (nonce) of
//! the account, and every transaction that is ever signed for it carries that number and is on disk before it is sent.
//! A chain takes one transaction for each number, so however often an intent is sent, and at whatever fee, it happens
//! once. After a crash or an outage the fate of the number is looked up before anything new is signed.
//!
//! It counts as done when its block is deep enough. If somebody else used the number with the same key, and that is deep
//! enough, what was signed can never happen any more, and the intent gets a new number.
mod store;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, B256, U256};
use tokio::sync::Notify;

use crate::account::{Account, Draft};
use crate::market::words;
use crate::node::{CallError, Error as NodeError, Node, Receipt, SendError};
use crate::sender::{Call, Paid, Policy, counts};
use store::{Sent, Store, Underway};

/// The most intents on their way at a time; the others wait.
const UNDERWAY_MAX: usize = 16;
/// How many blocks later than a used number a node may show its receipt.
const RECEIPT_LAG_BLOCKS: u64 = 2;
/// The longest pause between two tries while a node does not answer.
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// What has become of an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not signed yet.
    Waiting,
    /// On its way, or in a block that is not deep enough.
    Underway {
        /// The transaction's number.
        nonce: u64,
    },
    /// Happened.
    Done {
        /// The transaction.
        transaction: B256,
        /// Its block.
        block: u64,
    },
    /// Will never happen; the reason says why.
    Failed {
        /// In words.
        reason: String,
    },
}

/// A place in the code where a crash makes a difference; tests crash at each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// An intent is on disk.
    Pushed,
    /// A transaction is signed, nothing is on disk.
    Signed,
    /// The transaction is on disk, but not sent.
    Kept,
    /// The node has it.
    Sent,
    /// Its receipt was seen.
    Seen,
    /// It was marked done.
    Finished,
}

/// Is told at every [`Point`].
pub type Watch = Arc<dyn Fn(Point) + Send + Sync>;

/// Why the outbox itself failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error("the store of the outbox failed")]
    Store(#[from] rusqlite::Error),
    /// The store belongs to another account or chain.
    #[error("the outbox belongs to {found}, not to {wanted}")]
    Foreign {
        /// Whose it is.
        found: String,
        /// Whose it should be.
        wanted: String,
    },
    /// The store holds something that cannot be.
    #[error("the store of the outbox is damaged: {0}")]
    Damaged(&'static str),
    /// The same key was pushed with another call.
    #[error("`{0}` was pushed before with another call")]
    OtherCall(String),
    /// The node did not answer.
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// The queue of one account on one chain.
#[derive(Clone)]
pub struct Outbox {
    store: Arc<Mutex<Store>>,
    node: Node,
    account: Account,
    policy: Policy,
    news: Arc<Notify>,
    finished: Arc<Notify>,
    watch: Option<Watch>,
    chain_id: u64,
}

impl Outbox {
    /// Opens the queue of an account. The chain must answer once, to say which one it is.
    pub async fn open(path: &Path, node: Node, account: Account, policy: Policy) -> Result<Self, Error> {
        let chain_id = node.chain_id().await?;
        Self::open_offline(path, node, account, policy, chain_id)
    }

    /// Opens the queue while the chain may be out of reach.
    pub fn open_offline(
        path: &Path,
        node: Node,
        account: Account,
        policy: Policy,
        chain_id: u64,
    ) -> Result<Self, Error> {
        let store = Store::open(path, &format!("{} on chain {chain_id}", account.address()))?;
        let (news, finished) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let store = Arc::new(Mutex::new(store));
        Ok(Self { store, node, account, policy, news, finished, watch: None, chain_id })
    }

    /// Has somebody told at every point where a crash makes a difference.
    pub fn watched(mut self, watch: Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    fn at(&self, point: Point) {
        if let Some(watch) = &self.watch {
            watch(point);
        }
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Queues a call; it is on disk when this returns. The same key twice is once, and must be the same call.
    pub fn push(&self, key: &str, call: &Call) -> Result<(), Error> {
        self.store().push(key, call)?;
        self.at(Point::Pushed);
        self.news.notify_one();
        Ok(())
    }

    /// What has become of an intent; nothing if the key is unknown.
    pub fn status(&self, key: &str) -> Result<Option<Status>, Error> {
        self.store().status(key)
    }

    /// How many intents are neither done nor failed.
    pub fn backlog(&self) -> Result<u64, Error> {
        self.store().backlog()
    }

    /// Waits until an intent is done or failed. Somebody has to run the outbox meanwhile.
    pub async fn settled(&self, key: &str) -> Result<Status, Error> {
        loop {
            let finished = self.finished.notified();
            match self.status(key)? {
                Some(status @ (Status::Done { .. } | Status::Failed { .. })) => return Ok(status),
                Some(Status::Waiting | Status::Underway { .. }) | None => finished.await,
            }
        }
    }

    /// Sends what is queued, for ever. Ends only when its own store fails.
    pub async fn run(&self) -> Error {
        let mut pause = self.policy.poll;
        loop {
            match self.pass().await {
                Ok(true) => pause = self.policy.poll,
                Ok(false) => {
                    self.news.notified().await;
                    continue;
                }
                Err(Error::Node(error)) => {
                    tracing::warn!(%error, "the chain does not answer; what is queued waits");
                    pause = (pause * 2).clamp(self.policy.poll, BACKOFF_MAX);
                }
                Err(error) => return error,
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Looks after everything once; says whether anything is left to do.
    pub async fn pass(&self) -> Result<bool, Error> {
        let underway = self.store().underway()?;
        for intent in &underway {
            self.look_after(intent).await?;
        }
        self.start_waiting().await?;
        Ok(self.backlog()? > 0)
    }

    /// Finds out what became of an intent that has a number, and sends it again if nothing did.
    async fn look_after(&self, intent: &Underway) -> Result<(), Error> {
        for sent in &intent.sent {
            if let Some(receipt) = self.node.receipt(sent.hash).await? {
                self.at(Point::Seen);
                return self.on_receipt(intent, sent.hash, receipt).await;
            }
        }
        // In this order: a number that was free before the receipts were looked up is a number that we may use.
        let next = self.node.nonce(self.account.address()).await?;
        if next > intent.nonce {
            return self.on_number_used(intent).await;
        }
        self.store().forget_loss(intent.seq)?;
        self.send_again(intent).await
    }

    async fn on_receipt(&self, intent: &Underway, hash: B256, receipt: Receipt) -> Result<(), Error> {
        if !counts(&self.node, &receipt, self.policy.confirmations).await? {
            return Ok(());
        }
        match receipt.success {
            true => self.store().finish(intent.seq, hash, receipt.block_number)?,
            false => {
                let reason = self.why(intent, &receipt).await;
                self.store().fail(intent.seq, &reason)?;
            }
        }
        self.at(Point::Finished);
        self.finished.notify_waiters();
        Ok(())
    }

    /// Asks the contract again, to say in words why it refused.
    async fn why(&self, intent: &Underway, receipt: &Receipt) -> String {
        let asked = self.node.call(self.account.address(), intent.call.to, intent.call.data.clone()).await;
        let reason = match asked {
            Err(CallError::Reverted { data, .. }) => words::refusal(&data),
            Err(CallError::Failed(reason)) => reason,
            Err(CallError::Node(_)) | Ok(_) => "for a reason that does not hold any more".into(),
        };
        format!("the contract refused it in block {}: {reason}", receipt.block_number)
    }

    /// The number is used, and none of ours has a receipt: the node may lag, or the key is used elsewhere.
    async fn on_number_used(&self, intent: &Underway) -> Result<(), Error> {
        let height = self.node.height().await?;
        let seen_at = self.store().note_loss(intent.seq, height)?;
        // Only what is as deep as anything that counts cannot come back; and nodes show numbers before receipts.
        if height >= seen_at.saturating_add(self.policy.confirmations + RECEIPT_LAG_BLOCKS) {
            tracing::warn!(key = %intent.key, nonce = intent.nonce, "another transaction took this number");
            self.store().renumber(intent.seq)?;
        }
        Ok(())
    }

    async fn send_again(&self, intent: &Underway) -> Result<(), Error> {
        let Some(last) = intent.sent.last() else { return Err(Error::Damaged("a number without a transaction")) };
        let lying = Duration::from_secs(now().saturating_sub(last.at));
        let raised = if lying >= self.policy.bump_after { self.raise(intent, last).await? } else { None };
        let raw = raised.map_or_else(|| last.raw.clone(), |sent| sent.raw);
        match self.node.send_raw(raw).await {
            Ok(_) => self.at(Point::Sent),
            Err(SendError::Node(error)) => return Err(error.into()),
            Err(SendError::Underpriced(_)) if lying < self.policy.bump_after => {
                self.raise(intent, last).await?;
            }
            // The node has it, or will take it later; the next pass looks again.
            Err(error) => tracing::debug!(key = %intent.key, %error, "not taken"),
        }
        Ok(())
    }

    /// Signs the same intent with the same number and a higher fee, and keeps it.
    async fn raise(&self, intent: &Underway, last: &Sent) -> Result<Option<Sent>, Error> {
        let before = Paid { fee_max: last.fee_max, priority: last.priority };
        let Some(paid) = self.policy.bumped_fees(before, self.node.fees().await?) else { return Ok(None) };
        let sent = self.sign(&intent.call, intent.nonce, intent.gas, paid);
        self.at(Point::Signed);
        self.store().keep(intent.seq, &sent)?;
        self.at(Point::Kept);
        Ok(Some(sent))
    }

    fn sign(&self, call: &Call, nonce: u64, gas: u64, paid: Paid) -> Sent {
        let draft = Draft {
            chain_id: self.chain_id,
            nonce,
            to: Some(call.to),
            value: U256::ZERO,
            data: call.data.clone(),
            gas,
            fee_max: paid.fee_max,
            priority: paid.priority,
        };
        let signed = self.account.sign(&draft);
        Sent { hash: signed.hash, raw: signed.raw, fee_max: paid.fee_max, priority: paid.priority, at: now() }
    }

    /// Gives numbers to intents that wait, in the order in which they were pushed.
    async fn start_waiting(&self) -> Result<(), Error> {
        loop {
            let underway = self.store().underway()?.len();
            let next = self.store().next_waiting()?;
            let Some((seq, call)) = next.filter(|_| underway < UNDERWAY_MAX) else { return Ok(()) };
            let from = self.account.address();
            let gas = match self.node.estimate(from, Some(call.to), call.data.clone()).await {
                Ok(gas) => gas + gas / 4,
                Err(CallError::Node(error)) => return Err(error.into()),
                // It may need what is still on its way.
                Err(CallError::Reverted { .. } | CallError::Failed(_)) if underway > 0 => return Ok(()),
                Err(error) => {
                    self.refuse(seq, error)?;
                    continue;
                }
            };
            self.start(seq, &call, gas, from).await?;
        }
    }

    fn refuse(&self, seq: i64, error: CallError) -> Result<(), Error> {
        let reason = match error {
            CallError::Reverted { data, .. } => words::refusal(&data),
            CallError::Failed(reason) => reason,
            CallError::Node(error) => return Err(error.into()),
        };
        self.store().fail(seq, &format!("not sent, since the contract would refuse it: {reason}"))?;
        self.finished.notify_waiters();
        Ok(())
    }

    async fn start(&self, seq: i64, call: &Call, gas: u64, from: Address) -> Result<(), Error> {
        let paid = self.policy.first_fees(self.node.fees().await?);
        let on_chain = self.node.nonce(from).await?;
        let nonce = self.store().nonce_after_ours()?.map_or(on_chain, |ours| ours.max(on_chain));
        let sent = self.sign(call, nonce, gas, paid);
        self.at(Point::Signed);
        self.store().number(seq, nonce, gas, &sent)?;
        self.at(Point::Kept);
        match self.node.send_raw(sent.raw).await {
            Ok(_) => self.at(Point::Sent),
            Err(SendError::Node(error)) => return Err(error.into()),
            Err(error) => tracing::debug!(%error, "not taken"),
        }
        Ok(())
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
