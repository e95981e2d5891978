//! One interface to a chain, whether it runs in this process or behind JSON-RPC.
//!
//! Nothing here signs, retries a payment or waits for confirmations; that is for the sender and the outbox above.
use crate::embedded::Chain;
use crate::remote::Remote;
use alloy_primitives::{Address, B256, Bytes, Log, U256};
use alloy_sol_types::decode_revert_reason;

/// The most logs one query may return; a wider query is refused, never cut.
pub const LOGS_MAX: usize = 10_000;

/// A chain to read from and send to. Cloning is cheap and shares the chain.
#[derive(Clone, Debug)]
pub enum Node {
    /// The EVM in this process.
    Embedded(Chain),
    /// A node behind JSON-RPC.
    Remote(Remote),
}

/// What is known of a block without its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Its height.
    pub number: u64,
    /// Its hash.
    pub hash: B256,
    /// The hash of the block before.
    pub parent: B256,
    /// Unix seconds.
    pub timestamp: u64,
}

/// A block as it is hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedBlock {
    /// Its header, encoded.
    pub header: Bytes,
    /// Its transactions in order, as they are sent.
    pub transactions: Vec<Bytes>,
}

/// What gas costs at the moment, in the chain's native coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fees {
    /// What the next block takes at least and burns.
    pub base: u128,
    /// What gets a transaction into one of the next blocks beside the base fee.
    pub priority: u128,
}

/// What became of a transaction that is in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Whether it ran to its end; a reverted transaction is in a block too.
    pub success: bool,
    /// The block that holds it.
    pub block_number: u64,
    /// The hash of that block: if it changes, the block was replaced.
    pub block_hash: B256,
    /// The contract that it made.
    pub contract: Option<Address>,
    /// What the contracts announced, in order.
    pub logs: Vec<Log>,
    /// Gas it took.
    pub gas_used: u64,
}

/// Which logs to return. Empty lists match everything.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    /// First block.
    pub from_block: u64,
    /// Last block; none for the newest.
    pub to_block: Option<u64>,
    /// Contracts.
    pub addresses: Vec<Address>,
    /// Allowed values of each topic in turn.
    pub topics: [Vec<B256>; 4],
}

/// A log and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Address, topics and data.
    pub log: Log,
    /// The block that holds it.
    pub block_number: u64,
    /// The hash of that block.
    pub block_hash: B256,
    /// When that block was made, in unix seconds; zero if the node does not say.
    pub timestamp: u64,
    /// Its transaction.
    pub transaction: B256,
    /// The place of that transaction in the block.
    pub place: u64,
    /// Its place among the logs of the block.
    pub index: u64,
}

/// Why a node did not answer a question.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Nobody answered, or not with JSON-RPC: asking again later may help.
    #[error("the chain's node at {url} did not answer: {reason}")]
    Unreachable {
        /// Which node; without user, password and query.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// The node answered that it will not.
    #[error("the chain's node refused the request: {message} (code {code})")]
    Refused {
        /// JSON-RPC error code.
        code: i64,
        /// What the node said.
        message: String,
    },
    /// A query matches more than is handed out at once.
    #[error("more than {LOGS_MAX} logs match: ask for fewer blocks at a time")]
    TooManyLogs,
    /// What the node says does not fit together.
    #[error("the chain's node contradicts itself: {0}")]
    Inconsistent(String),
    /// The embedded chain cannot read its own store.
    #[error("the embedded chain cannot read its store: {0}")]
    Store(String),
    /// The embedded chain has been closed.
    #[error("the embedded chain is closed")]
    Closed,
}

/// Why a call gave no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The contract refused.
    #[error("the contract refused: {text}")]
    Reverted {
        /// What it returned: an encoded error.
        data: Bytes,
        /// The same in words, or in hexadecimal if it is a custom error.
        text: String,
    },
    /// It ran out of gas, or is no code that can run.
    #[error("the call could not run: {0}")]
    Failed(String),
    /// The node did not answer.
    #[error(transparent)]
    Node(#[from] Error),
}

impl CallError {
    /// From what a contract returned when it reverted.
    pub fn reverted(data: Bytes) -> Self {
        let text = decode_revert_reason(&data).unwrap_or_else(|| match data.is_empty() {
            true => "without a reason".to_owned(),
            false => format!("{data}"),
        });
        Self::Reverted { data, text }
    }
}

/// Why a transaction was not taken. After [`SendError::Node`] its fate is unknown; after the others it is not on its way.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SendError {
    /// Another transaction with this nonce is in a block already.
    #[error("the nonce has been used already: {0}")]
    NonceTooLow(String),
    /// Transactions before this one are missing.
    #[error("transactions with lower nonces are missing: {0}")]
    NonceTooHigh(String),
    /// The node has this very transaction and is working on it.
    #[error("the transaction is known already")]
    AlreadyKnown,
    /// The fee is below what the node takes, or not enough above that of the transaction to be replaced.
    #[error("the fee is too low: {0}")]
    Underpriced(String),
    /// The account cannot pay the gas or the value.
    #[error("the account cannot pay for the transaction: {0}")]
    InsufficientFunds(String),
    /// The transaction can never be taken as it is.
    #[error("the transaction is not valid: {0}")]
    Invalid(String),
    /// Too many transactions wait; try again later.
    #[error("the chain is busy: {0}")]
    Busy(String),
    /// The embedded chain could not put the block on disk; nothing of it counts.
    #[error("the chain could not store the transaction, which therefore did not happen: {0}")]
    Store(String),
    /// The node did not answer, so that the transaction may or may not be on its way.
    #[error(transparent)]
    Node(#[from] Error),
}

/// Hands a question to whichever chain it is.
macro_rules! ask {
    ($self:ident, $chain:ident => $answer:expr) => {
        match $self {
            Self::Embedded($chain) => $answer,
            Self::Remote($chain) => $answer,
        }
    };
}

impl Node {
    /// The number that signatures are bound to.
    pub async fn chain_id(&self) -> Result<u64, Error> {
        ask!(self, chain => chain.chain_id().await)
    }

    /// The number of the newest block.
    pub async fn height(&self) -> Result<u64, Error> {
        ask!(self, chain => chain.height().await)
    }

    /// A block by its number.
    pub async fn block(&self, number: u64) -> Result<Option<BlockInfo>, Error> {
        ask!(self, chain => chain.block(number).await)
    }

    /// A block as it is hashed, by its number.
    pub async fn sealed_block(&self, number: u64) -> Result<Option<SealedBlock>, Error> {
        ask!(self, chain => chain.sealed_block(number).await)
    }

    /// The encoded header of a block.
    pub async fn sealed_header(&self, number: u64) -> Result<Option<Bytes>, Error> {
        ask!(self, chain => chain.sealed_header(number).await)
    }

    /// How many transactions of an account are in blocks: the next nonce if none is on its way.
    pub async fn nonce(&self, account: Address) -> Result<u64, Error> {
        ask!(self, chain => chain.nonce(account).await)
    }

    /// What an account has of the native coin.
    pub async fn balance(&self, account: Address) -> Result<U256, Error> {
        ask!(self, chain => chain.balance(account).await)
    }

    /// The code of a contract; empty if there is none.
    pub async fn code(&self, account: Address) -> Result<Bytes, Error> {
        ask!(self, chain => chain.code(account).await)
    }

    /// Runs a call on the newest state without changing it.
    pub async fn call(&self, from: Address, to: Address, data: Bytes) -> Result<Bytes, CallError> {
        ask!(self, chain => chain.call(from, to, data).await)
    }

    /// The gas limit that a transaction needs; `to` is none for a deployment.
    pub async fn estimate(&self, from: Address, to: Option<Address>, data: Bytes) -> Result<u64, CallError> {
        ask!(self, chain => chain.estimate(from, to, data).await)
    }

    /// What gas costs now.
    pub async fn fees(&self) -> Result<Fees, Error> {
        ask!(self, chain => chain.fees().await)
    }

    /// Sends a signed transaction. The embedded chain answers when it is in a block on disk; others when they have it.
    /// What is in a block of the embedded chain already is answered with its hash again.
    pub async fn send_raw(&self, raw: Bytes) -> Result<B256, SendError> {
        ask!(self, chain => chain.send_raw(raw).await)
    }

    /// What became of a transaction; none while it is in no block.
    pub async fn receipt(&self, transaction: B256) -> Result<Option<Receipt>, Error> {
        ask!(self, chain => chain.receipt(transaction).await)
    }

    /// The logs that match, in order.
    pub async fn logs(&self, filter: LogFilter) -> Result<Vec<LogEntry>, Error> {
        ask!(self, chain => chain.logs(filter).await)
    }

    /// Lets time pass and makes a block: on chains made for tests only, others refuse.
    pub async fn advance(&self, seconds: u64) -> Result<(), Error> {
        ask!(self, chain => chain.advance(seconds).await)
    }
}
