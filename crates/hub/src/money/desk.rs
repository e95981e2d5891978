//! Where the clerk hands in what is to be sent: the outbox, which sends it once whatever happens.
use gleaner_chain::Account;
use gleaner_chain::market::Call;
use gleaner_chain::outbox::{Error, Outbox, Status};
use gleaner_chain::sender::Sender;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Locks orders.
    Lock,
    /// Names who works.
    Engage,
    /// Settles, finalizes or releases orders.
    Settle,
    /// Shares node rewards.
    Reward,
    /// Accuses providers and sees disputes through.
    Court,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Engage => "engage",
            Self::Settle => "settle",
            Self::Reward => "reward",
            Self::Court => "court",
        }
    }
}

/// The desk. While something of a kind is on its way, the clerk waits with more of it: so batches form by themselves, and
/// what it sees on the chain is what its own transactions have led to.
pub(super) struct Desk {
    outbox: Outbox,
    underway: Mutex<BTreeMap<Kind, Vec<String>>>,
    /// Whether what an earlier process handed in is through.
    caught_up: AtomicBool,
    numbers: AtomicU64,
}

impl Desk {
    pub(super) fn open(path: &Path, sender: &Sender, account: &Account, chain_id: u64) -> Result<Self, Error> {
        let outbox = Outbox::open_offline(path, sender.node.clone(), account.clone(), sender.policy, chain_id)?;
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let numbers = AtomicU64::new(u64::try_from(nanos).unwrap_or(0));
        let underway = Mutex::new(BTreeMap::new());
        Ok(Self { outbox, underway, caught_up: AtomicBool::new(false), numbers })
    }

    /// Sends what is handed in, until the hub stops.
    pub(super) fn start(&self, mut stopping: watch::Receiver<bool>) {
        let outbox = self.outbox.clone();
        tokio::spawn(async move {
            tokio::select! {
                error = outbox.run() => tracing::error!(%error, "the outbox cannot go on; money waits for a restart"),
                _ = stopping.changed() => {}
            }
        });
    }

    /// Whether something of this kind is on its way, or may be since before this process started.
    pub(super) fn is_busy(&self, kind: Kind) -> Result<bool, Error> {
        if !self.caught_up.load(Ordering::Relaxed) {
            if self.outbox.backlog()? > 0 {
                return Ok(true);
            }
            self.caught_up.store(true, Ordering::Relaxed);
        }
        let mut underway = self.underway.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = underway.entry(kind).or_default();
        let mut open = Vec::new();
        for key in keys.drain(..) {
            match self.outbox.status(&key)? {
                Some(Status::Waiting | Status::Underway { .. }) => open.push(key),
                Some(Status::Failed { reason }) => {
                    tracing::warn!(key, reason, "a transaction failed; what it was for is looked at again");
                }
                Some(Status::Done { .. }) | None => {}
            }
        }
        *keys = open;
        Ok(!keys.is_empty())
    }

    /// Hands a call in; it is on disk when this returns.
    pub(super) fn send(&self, kind: Kind, call: &Call) -> Result<(), Error> {
        let key = format!("{}:{}", kind.name(), self.numbers.fetch_add(1, Ordering::Relaxed));
        self.outbox.push(&key, call)?;
        self.underway.lock().unwrap_or_else(PoisonError::into_inner).entry(kind).or_default().push(key);
        Ok(())
    }

    /// What became of a call that has a key of its own; none if it was never handed in.
    pub(super) fn status(&self, key: &str) -> Result<Option<Status>, Error> {
        self.outbox.status(key)
    }

    /// Hands in a call that has a key of its own: the same key twice is once.
    pub(super) fn send_once(&self, key: &str, call: &Call) -> Result<(), Error> {
        self.outbox.push(key, call)
    }
}
