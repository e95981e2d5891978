//! The one thread that makes blocks: it takes what waits, runs it, puts the block on disk, then lets everybody see it.
use super::block::Block;
use super::execute::{self, Ran, Verdict};
use super::pool::{GAP_WAIT, Pending, Pool, Reply};
use super::state::State;
use super::store::{self, Store};
use super::view::View;
use super::{Error, SentTransaction};
use crate::node::SendError;
use alloy_consensus::Transaction;
use alloy_primitives::B256;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The most transactions in one block: a block is one write to disk and one moment in which nobody reads.
const BLOCK_TRANSACTIONS_MAX: usize = 4_096;
/// How long the thread sleeps at most.
const SLEEP_MAX: Duration = Duration::from_secs(3_600);

/// What the thread is asked to do.
#[expect(clippy::large_enum_variant, reason = "nearly every command is the large one")]
pub(crate) enum Command {
    Send {
        transaction: SentTransaction,
        reply: Reply,
    },
    /// Lets the chain's clock run ahead by some seconds.
    Shift {
        seconds: u64,
        done: oneshot::Sender<()>,
    },
    /// Seals a block even if nothing waits.
    Seal {
        done: oneshot::Sender<Result<(), Error>>,
    },
}

/// What the thread owns.
pub(crate) struct Keeper {
    pub(crate) store: Store,
    pub(crate) view: Arc<View>,
    pub(crate) commands: Receiver<Command>,
    pub(crate) interval: Option<Duration>,
    pub(crate) pool: Pool,
    pub(crate) last_seal: Instant,
}

impl Keeper {
    /// Works until nobody can ask any more.
    pub(crate) fn run(mut self) {
        loop {
            match self.commands.recv_timeout(self.sleep()) {
                Ok(command) => self.take(command),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            while self.pool.ready_count() < BLOCK_TRANSACTIONS_MAX {
                let Ok(command) = self.commands.try_recv() else { break };
                self.take(command);
            }
            self.pool.expire(Instant::now());
            self.seal_when_due();
        }
        while self.pool.ready_count() > 0 {
            self.seal_when_due();
        }
        if self.store.has_news() {
            self.snapshot();
        }
    }

    fn sleep(&self) -> Duration {
        if self.pool.ready_count() > 0 {
            return Duration::ZERO;
        }
        let seal = self.interval.map(|interval| self.last_seal + interval);
        let due = [seal, self.pool.next_deadline()].into_iter().flatten().min();
        due.map_or(SLEEP_MAX, |due| due.saturating_duration_since(Instant::now()).min(SLEEP_MAX))
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Send { transaction, reply } => {
                self.admit(Pending { transaction, reply, deadline: Instant::now() + GAP_WAIT });
            }
            Command::Shift { seconds, done } => {
                self.view.clock.shift(seconds);
                let _ = done.send(());
            }
            Command::Seal { done } => {
                let _ = done.send(self.seal(true));
            }
        }
    }

    fn admit(&mut self, pending: Pending) {
        let (sender, nonce) = (pending.transaction.sender, pending.transaction.envelope.nonce());
        let in_blocks = self.view.read().world.nonce(sender);
        let expected = self.pool.next_nonce(sender, in_blocks);
        if nonce >= expected {
            return self.pool.insert(pending, expected);
        }
        let hash = pending.transaction.hash();
        // Whoever sends again what is in a block already, perhaps after a crash, learns that it is there.
        let answer = match store::sent(self.store.connection(), hash) {
            Ok(Some(_)) => Ok(hash),
            Ok(None) if nonce >= in_blocks => Err(SendError::AlreadyKnown),
            Ok(None) => Err(SendError::NonceTooLow(format!("nonce {nonce}, expected {expected}"))),
            Err(error) => Err(SendError::Store(error.text())),
        };
        pending.answer(answer);
    }

    fn seal_when_due(&mut self) {
        let idle = self.interval.is_some_and(|interval| self.last_seal.elapsed() >= interval);
        if self.pool.ready_count() == 0 && !idle {
            return;
        }
        if let Err(error) = self.seal(false) {
            tracing::error!(error = error.text(), "a block of the chain could not be stored");
        }
    }

    /// Makes one block of what can run now. If it cannot be stored, nothing in it has happened.
    fn seal(&mut self, even_if_empty: bool) -> Result<(), Error> {
        self.last_seal = Instant::now();
        let pending = self.pool.take_ready(BLOCK_TRANSACTIONS_MAX);
        let transactions: Vec<SentTransaction> = pending.iter().map(|pending| pending.transaction.clone()).collect();
        let (frame, mut ran) = {
            let state = self.view.read();
            let frame = state.next_frame(self.view.clock.now(), draw());
            (frame, execute::run(&state, self.view.chain_id, frame, &transactions))
        };
        let (pending, kept) = self.sort_out(pending, std::mem::take(&mut ran.verdicts));
        if kept.is_empty() && !transactions.is_empty() && !even_if_empty {
            return Ok(());
        }
        let block = Block::seal(frame, kept, std::mem::take(&mut ran.outcomes), ran.changes.digest.root());
        if let Err(error) = self.store.append(&block) {
            let text = error.text();
            pending.into_iter().for_each(|pending| pending.answer(Err(SendError::Store(text.clone()))));
            return Err(error);
        }
        self.publish(block, ran, pending);
        Ok(())
    }

    /// Answers those that were refused, puts back those that did not fit, and returns the ones in the block.
    fn sort_out(&mut self, pending: Vec<Pending>, verdicts: Vec<Verdict>) -> (Vec<Pending>, Vec<SentTransaction>) {
        let (mut inside, mut left) = (Vec::new(), Vec::new());
        for (pending, verdict) in pending.into_iter().zip(verdicts) {
            match verdict {
                Verdict::Ran => inside.push(pending),
                Verdict::Refused(reason) => {
                    self.pool.forget_next(pending.transaction.sender);
                    pending.answer(Err(reason));
                }
                Verdict::Left => left.push(pending),
            }
        }
        self.pool.put_back(left);
        let kept = inside.iter().map(|pending| pending.transaction.clone()).collect();
        (inside, kept)
    }

    fn publish(&mut self, block: Block, ran: Ran, pending: Vec<Pending>) {
        self.view.write().advance(&block, ran.changes);
        for pending in pending {
            let hash = pending.transaction.hash();
            pending.answer(Ok(hash));
        }
        let _ = self.view.news.send(Arc::new(block));
        if self.store.snapshot_due() {
            self.snapshot();
        }
    }

    fn snapshot(&mut self) {
        let (number, bytes) = {
            let state: &State = &self.view.read();
            (state.head.number, state.world.encode())
        };
        if let Err(error) = self.store.snapshot(number, &bytes) {
            tracing::warn!(
                error = error.text(),
                "a snapshot of the chain could not be stored; the next start takes longer"
            );
        }
    }
}

/// Chance for the block's hash. Whoever runs the chain could choose it: an embedded chain trusts its operator.
fn draw() -> B256 {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    B256::from(bytes)
}
