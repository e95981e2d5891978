//! The EVM in this process: a whole chain in one folder, for those who have no node and need none.
//!
//! One thread makes blocks: it runs what waits on top of the state in memory, writes the block to SQLite with a
//! sync, and only then lets the state be seen and the senders know. A crash at any moment loses nothing that was
//! acknowledged. Opening replays the blocks since the last snapshot and checks every hash on the way.
//!
//! There is no consensus: whoever runs this process runs the chain, chooses its clock and its chance. Who does not trust
//! that operator uses a public chain with the same contracts.
mod admit;
mod block;
mod digest;
mod error;
mod execute;
mod keeper;
mod lock;
mod logs;
mod pool;
mod read;
mod recover;
mod state;
mod store;
mod view;
mod world;

pub use error::Error;
pub use lock::is_open;

pub(crate) use admit::{TRANSACTION_BYTES_MAX, TRANSACTION_GAS_MAX};
pub(crate) use block::{Block, SentTransaction};
pub(crate) use execute::Request;
pub(crate) use logs::collect as collect_logs;

use crate::node;
use crate::node::SendError;
use alloy_consensus::TxEnvelope;
use alloy_consensus::transaction::Recovered;
use alloy_primitives::{Address, B256, Bytes, U256};
use keeper::{Command, Keeper};
use lock::FolderLock;
use pool::Pool;
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use store::Store;
use tokio::sync::{broadcast, oneshot};
use view::{Clock, View};

/// The chain id of embedded chains: the letters "gln".
pub const CHAIN_ID: u64 = 0x67_6c_6e;
/// The most transactions that may stand in line for the thread; more are refused as busy.
const COMMANDS_MAX: usize = 16_384;
/// When nothing happens, a block is sealed this often. Calls see the present time without it.
const INTERVAL: Duration = Duration::from_secs(60);

/// How to open a chain.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder it lives in; made if it is missing.
    pub dir: PathBuf,
    /// The number that signatures are bound to.
    pub chain_id: u64,
    /// Who has native coin from the start. Nobody needs any: gas is free.
    pub balances: Vec<(Address, U256)>,
    /// How often a block is sealed when nothing happens; none for never.
    pub interval: Option<Duration>,
    /// Whether each block is synced to disk before it is acknowledged. Only benchmarks may say no.
    pub sync: bool,
    /// Whether the clock may be moved, for tests.
    pub testing: bool,
    /// How many bytes the database may have.
    pub store_bytes_max: Option<u64>,
    /// Whether to run everything from the first block again and compare, whatever snapshots there are.
    pub replay_all: bool,
}

impl Options {
    /// A chain for use.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            chain_id: CHAIN_ID,
            balances: Vec::new(),
            interval: Some(INTERVAL),
            sync: true,
            testing: false,
            store_bytes_max: None,
            replay_all: false,
        }
    }

    /// A chain for tests: its clock can be moved, and blocks are sealed only on demand.
    pub fn testing(dir: impl Into<PathBuf>) -> Self {
        Self { testing: true, interval: None, ..Self::new(dir) }
    }
}

/// A handle to the chain. Clones share it; with the last one it is closed.
#[derive(Clone, Debug)]
pub struct Chain {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// None only while it is being dropped.
    commands: Option<SyncSender<Command>>,
    view: Arc<View>,
    reader: Mutex<Connection>,
    testing: bool,
    thread: Option<JoinHandle<()>>,
    _lock: FolderLock,
}

impl Chain {
    /// Opens the chain in a folder, or founds one.
    pub fn open(options: &Options) -> Result<Self, Error> {
        let dir = &options.dir;
        std::fs::create_dir_all(dir).map_err(|source| Error::Folder { path: dir.clone(), source })?;
        let lock = FolderLock::take(dir)?;
        let path = dir.join("chain.db");
        let clock = Clock::default();
        let mut store = Store::open(&path, options)?;
        let state = recover::recover(&mut store, options, clock.now())?;
        if options.testing {
            clock.shift(state.head.timestamp.saturating_sub(clock.now()));
        }
        let reader = Mutex::new(store::open_reader(&path)?);
        let view = Arc::new(View::new(options.chain_id, clock, state));
        let (sender, commands) = sync_channel(COMMANDS_MAX);
        let keeper = Keeper {
            store,
            view: Arc::clone(&view),
            commands,
            interval: options.interval,
            pool: Pool::default(),
            last_seal: Instant::now(),
        };
        let thread =
            std::thread::Builder::new().name("chain".to_owned()).spawn(|| keeper.run()).map_err(Error::Thread)?;
        let commands = Some(sender);
        let thread = Some(thread);
        Ok(Self { inner: Arc::new(Inner { commands, view, reader, testing: options.testing, thread, _lock: lock }) })
    }

    /// The hash of everything in the newest state: equal states have equal hashes.
    pub fn state_hash(&self) -> B256 {
        self.view().read().head.state_root
    }

    /// Whether its clock may be moved.
    pub fn is_testing(&self) -> bool {
        self.inner.testing
    }

    /// Sends a signed transaction; answered when its block is on disk.
    pub async fn send_raw(&self, raw: Bytes) -> Result<B256, SendError> {
        self.send(admit::admit(&raw, self.view().chain_id)?).await
    }

    /// Sends a transaction whose sender the caller vouches for, because it has just signed it: the signature is not
    /// checked before it runs. A wrong one is found when the chain is opened again, and then the chain is refused.
    pub async fn send_recovered(&self, transaction: Recovered<TxEnvelope>) -> Result<B256, SendError> {
        let (envelope, sender) = transaction.into_parts();
        self.send(SentTransaction { envelope, sender }).await
    }

    async fn send(&self, transaction: SentTransaction) -> Result<B256, SendError> {
        let (reply, answer) = oneshot::channel();
        match self.commands()?.try_send(Command::Send { transaction, reply }) {
            Ok(()) => answer.await.map_err(|_| node::Error::Closed)?,
            Err(TrySendError::Full(_)) => Err(SendError::Busy(format!("{COMMANDS_MAX} transactions wait"))),
            Err(TrySendError::Disconnected(_)) => Err(node::Error::Closed.into()),
        }
    }

    /// Lets time pass and seals a block; only on a chain opened for tests.
    pub async fn advance(&self, seconds: u64) -> Result<(), node::Error> {
        self.shift(seconds).await?;
        self.seal().await
    }

    /// Lets the clock run ahead without a block.
    pub(crate) async fn shift(&self, seconds: u64) -> Result<(), node::Error> {
        self.only_testing()?;
        let (done, answer) = oneshot::channel();
        self.commands()?.send(Command::Shift { seconds, done }).map_err(|_| node::Error::Closed)?;
        answer.await.map_err(|_| node::Error::Closed)
    }

    /// Seals a block even if nothing waits.
    pub(crate) async fn seal(&self) -> Result<(), node::Error> {
        self.only_testing()?;
        let (done, answer) = oneshot::channel();
        self.commands()?.send(Command::Seal { done }).map_err(|_| node::Error::Closed)?;
        let sealed = answer.await.map_err(|_| node::Error::Closed)?;
        sealed.map_err(|error| node::Error::Store(error.text()))
    }

    /// Word of every new block.
    pub(crate) fn news(&self) -> broadcast::Receiver<Arc<Block>> {
        self.view().news.subscribe()
    }

    fn view(&self) -> &Arc<View> {
        &self.inner.view
    }

    fn commands(&self) -> Result<&SyncSender<Command>, node::Error> {
        self.inner.commands.as_ref().ok_or(node::Error::Closed)
    }

    fn only_testing(&self) -> Result<(), node::Error> {
        match self.inner.testing {
            true => Ok(()),
            false => Err(node::Error::Refused {
                code: -32_601,
                message: "only a chain opened for tests lets its clock be moved".to_owned(),
            }),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The thread ends when nobody can ask any more; the folder is released after it has.
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
