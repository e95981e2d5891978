//! Transactions on their way into a block: those that can run now, in order, and those that wait for one before them.
use super::block::SentTransaction;
use crate::node::SendError;
use alloy_consensus::Transaction;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long a transaction waits for the ones before it; tools send in parallel, and packets overtake each other.
pub(crate) const GAP_WAIT: Duration = Duration::from_secs(5);
/// The most transactions that wait for one before them, for one account.
const WAITING_PER_ACCOUNT_MAX: usize = 256;
/// The same, for all together.
const WAITING_MAX: usize = 8_192;

/// Who wants to know.
pub(crate) type Reply = oneshot::Sender<Result<B256, SendError>>;

/// A transaction with who wants to know what came of it.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) transaction: SentTransaction,
    pub(crate) reply: Reply,
    pub(crate) deadline: Instant,
}

/// Both kinds. Bounded: what can run now by the channel it comes from, the rest here.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    ready: VecDeque<Pending>,
    waiting: HashMap<Address, BTreeMap<u64, Pending>>,
    waiting_count: usize,
    /// The next nonce of accounts that have something ready.
    next: HashMap<Address, u64>,
}

impl Pending {
    fn nonce(&self) -> u64 {
        self.transaction.envelope.nonce()
    }

    /// Says what came of it. Who does not listen any more does not matter.
    pub(crate) fn answer(self, result: Result<B256, SendError>) {
        let _ = self.reply.send(result);
    }
}

impl Pool {
    /// The nonce that an account's next transaction must have, given how many are in blocks.
    pub(crate) fn next_nonce(&self, sender: Address, in_blocks: u64) -> u64 {
        self.next.get(&sender).copied().unwrap_or(in_blocks)
    }

    pub(crate) fn ready_count(&self) -> usize {
        self.ready.len()
    }

    /// Takes a transaction whose nonce is not below `expected`.
    pub(crate) fn insert(&mut self, pending: Pending, expected: u64) {
        let (sender, nonce) = (pending.transaction.sender, pending.nonce());
        if nonce > expected {
            return self.wait(pending, expected);
        }
        self.ready.push_back(pending);
        let mut next = nonce + 1;
        if let Some(waiting) = self.waiting.get_mut(&sender) {
            while let Some(pending) = waiting.remove(&next) {
                self.waiting_count -= 1;
                self.ready.push_back(pending);
                next += 1;
            }
            if waiting.is_empty() {
                self.waiting.remove(&sender);
            }
        }
        self.next.insert(sender, next);
    }

    fn wait(&mut self, pending: Pending, expected: u64) {
        let nonce = pending.nonce();
        let waiting = self.waiting.entry(pending.transaction.sender).or_default();
        if let Some(known) = waiting.get(&nonce) {
            let same = known.transaction.hash() == pending.transaction.hash();
            return pending.answer(Err(match same {
                true => SendError::AlreadyKnown,
                false => SendError::Underpriced(format!("another transaction with nonce {nonce} waits")),
            }));
        }
        if waiting.len() >= WAITING_PER_ACCOUNT_MAX || self.waiting_count >= WAITING_MAX {
            return pending.answer(Err(SendError::NonceTooHigh(format!("nonce {nonce}, expected {expected}"))));
        }
        waiting.insert(nonce, pending);
        self.waiting_count += 1;
    }

    /// Takes what can run out of the pool, in order.
    pub(crate) fn take_ready(&mut self, count: usize) -> Vec<Pending> {
        let taken = self.ready.drain(..count.min(self.ready.len())).collect();
        if self.ready.is_empty() {
            self.next.clear();
        }
        taken
    }

    /// Counts an account's nonces from its blocks again, because one that was ready did not run.
    pub(crate) fn forget_next(&mut self, sender: Address) {
        self.next.remove(&sender);
    }

    /// Puts back what did not fit into a block, ahead of what came since.
    pub(crate) fn put_back(&mut self, left: Vec<Pending>) {
        for pending in left.into_iter().rev() {
            let next = self.next.entry(pending.transaction.sender).or_insert(0);
            *next = (*next).max(pending.nonce() + 1);
            self.ready.push_front(pending);
        }
    }

    /// When the first of those that wait has waited long enough.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.waiting.values().flat_map(BTreeMap::values).map(|pending| pending.deadline).min()
    }

    /// Refuses what has waited too long.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.waiting_count == 0 {
            return;
        }
        for waiting in self.waiting.values_mut() {
            for (nonce, pending) in waiting.extract_if(.., |_, pending| pending.deadline <= now) {
                self.waiting_count -= 1;
                pending
                    .answer(Err(SendError::NonceTooHigh(format!("nonce {nonce}, and the ones before did not come"))));
            }
        }
        self.waiting.retain(|_, waiting| !waiting.is_empty());
    }
}
