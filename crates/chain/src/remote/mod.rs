//! A node behind JSON-RPC, asked through alloy's provider with a time limit and a few retries.
//!
//! An outage is an error that says so. Waiting it out is for the outbox, which knows what must not happen twice.
mod refusal;

use crate::node::{BlockInfo, CallError, Error, Fees, LOGS_MAX, LogEntry, LogFilter, Receipt, SealedBlock, SendError};
use alloy_eips::eip2718::Encodable2718;
use alloy_network::{Ethereum, ReceiptResponse};
use alloy_primitives::{Address, B256, Bytes, TxKind, U64, U128, U256, keccak256};
use alloy_provider::{Provider, RootProvider};
use alloy_rpc_client::ClientBuilder;
use alloy_rpc_types_eth::{BlockNumberOrTag, Filter, FilterSet, Header, Log, TransactionRequest};
use alloy_transport::layers::{RateLimitRetryPolicy, RetryBackoffLayer};
use alloy_transport::{TransportError, TransportResult};
use std::time::Duration;

/// How long one attempt at a request may take.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(20);
/// How long connecting may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// How often a request is tried again at once; beyond that the caller decides.
const RETRIES_MAX: u32 = 2;
/// The pause before the first retry.
const BACKOFF_MS: u64 = 200;
/// What a provider may spend a second, in the units that paid providers count; more than they give, so it never brakes.
const UNITS_PER_SECOND: u64 = 1_000_000;
/// How many blocks the price of a place in the next block is learned from.
const FEE_BLOCKS: u64 = 10;
/// The least tip that is offered where the node knows none: one gwei.
const PRIORITY_FEE_DEFAULT: u128 = 1_000_000_000;

/// A node's address is not one.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text:?} is not the address of a chain's node: write it like http://127.0.0.1:8545")]
pub struct AddressError {
    text: String,
}

/// A node behind JSON-RPC. Clones share its connections.
#[derive(Clone)]
pub struct Remote {
    provider: RootProvider<Ethereum>,
    /// For messages: without user, password and query, which may hold keys.
    place: String,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Remote").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Remote {
    /// Prepares to talk to a node; nothing is sent yet.
    pub fn connect(address: &str) -> Result<Self, AddressError> {
        let refused = || AddressError { text: address.chars().take(8).collect() };
        let url: url::Url = address.parse().map_err(|_| refused())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(refused());
        }
        // Fails when somebody chose a provider before, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(REQUEST_TIME_MAX).connect_timeout(CONNECT_TIME_MAX);
        let client = client.redirect(reqwest::redirect::Policy::none()).build().map_err(|_| refused())?;
        let policy = RateLimitRetryPolicy::default().or(|error: &TransportError| error.is_transport_error());
        let retry = RetryBackoffLayer::new_with_policy(RETRIES_MAX, BACKOFF_MS, UNITS_PER_SECOND, policy);
        let place = match url.port() {
            Some(port) => format!("{}://{}:{port}", url.scheme(), url.host_str().unwrap_or_default()),
            None => format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default()),
        };
        let provider = RootProvider::new(ClientBuilder::default().layer(retry).http_with_client(client, url));
        Ok(Self { provider, place })
    }

    /// The number that signatures are bound to.
    pub async fn chain_id(&self) -> Result<u64, Error> {
        self.answer(self.provider.get_chain_id().await)
    }

    /// The number of the newest block.
    pub async fn height(&self) -> Result<u64, Error> {
        self.answer(self.provider.get_block_number().await)
    }

    /// A block by its number.
    pub async fn block(&self, number: u64) -> Result<Option<BlockInfo>, Error> {
        let block = self.answer(self.provider.get_block_by_number(BlockNumberOrTag::Number(number)).await)?;
        Ok(block.map(|block| BlockInfo {
            number: block.header.number,
            hash: block.header.hash,
            parent: block.header.parent_hash,
            timestamp: block.header.timestamp,
        }))
    }

    /// A block as it is hashed, by its number.
    pub async fn sealed_block(&self, number: u64) -> Result<Option<SealedBlock>, Error> {
        let asked = self.provider.get_block_by_number(BlockNumberOrTag::Number(number)).full().await;
        let Some(block) = self.answer(asked)? else { return Ok(None) };
        let header = sealed(&block.header)?;
        let transactions = block.transactions.as_transactions().unwrap_or_default();
        let transactions = transactions.iter().map(|found| found.inner.inner().encoded_2718().into()).collect();
        Ok(Some(SealedBlock { header, transactions }))
    }

    /// The encoded header of a block.
    pub async fn sealed_header(&self, number: u64) -> Result<Option<Bytes>, Error> {
        let block = self.answer(self.provider.get_block_by_number(BlockNumberOrTag::Number(number)).await)?;
        block.map(|block| sealed(&block.header)).transpose()
    }

    /// How many transactions of an account are in blocks.
    pub async fn nonce(&self, account: Address) -> Result<u64, Error> {
        self.answer(self.provider.get_transaction_count(account).await)
    }

    /// What an account has of the native coin.
    pub async fn balance(&self, account: Address) -> Result<U256, Error> {
        self.answer(self.provider.get_balance(account).await)
    }

    /// The code of a contract; empty if there is none.
    pub async fn code(&self, account: Address) -> Result<Bytes, Error> {
        self.answer(self.provider.get_code_at(account).await)
    }

    /// Runs a call on the newest state without changing it.
    pub async fn call(&self, from: Address, to: Address, data: Bytes) -> Result<Bytes, CallError> {
        let request = request(from, Some(to), data);
        let called = self.provider.call(request).block(BlockNumberOrTag::Latest.into()).await;
        called.map_err(|error| refusal::of_call(&self.place, &error))
    }

    /// The gas limit that a transaction needs.
    pub async fn estimate(&self, from: Address, to: Option<Address>, data: Bytes) -> Result<u64, CallError> {
        let estimated = self.provider.estimate_gas(request(from, to, data)).await;
        estimated.map_err(|error| refusal::of_call(&self.place, &error))
    }

    /// What gas costs now: the next block's base fee, and the tip that half of the newest blocks' transactions paid.
    pub async fn fees(&self) -> Result<Fees, Error> {
        let history = self.provider.get_fee_history(FEE_BLOCKS, BlockNumberOrTag::Latest, &[50.0]).await;
        let history = self.answer(history)?;
        let base = history.base_fee_per_gas.last().copied().unwrap_or_default();
        let mut tips: Vec<u128> = history.reward.iter().flatten().flatten().copied().filter(|tip| *tip > 0).collect();
        tips.sort_unstable();
        let priority = match tips.get(tips.len() / 2) {
            Some(tip) => *tip,
            None => self.suggested_tip().await,
        };
        Ok(Fees { base, priority })
    }

    async fn suggested_tip(&self) -> u128 {
        let tip: TransportResult<U128> = self.provider.client().request_noparams("eth_maxPriorityFeePerGas").await;
        tip.map_or(PRIORITY_FEE_DEFAULT, |tip| tip.to())
    }

    /// Sends a signed transaction; answered when the node has it.
    pub async fn send_raw(&self, raw: Bytes) -> Result<B256, SendError> {
        let sent: TransportResult<B256> = self.provider.client().request("eth_sendRawTransaction", (raw,)).await;
        sent.map_err(|error| refusal::of_send(&self.place, &error))
    }

    /// What became of a transaction; none while it is in no block.
    pub async fn receipt(&self, transaction: B256) -> Result<Option<Receipt>, Error> {
        let Some(receipt) = self.answer(self.provider.get_transaction_receipt(transaction).await)? else {
            return Ok(None);
        };
        // A receipt without a block is one of a transaction that still waits.
        let (Some(block_number), Some(block_hash)) = (receipt.block_number(), receipt.block_hash()) else {
            return Ok(None);
        };
        Ok(Some(Receipt {
            success: receipt.status(),
            block_number,
            block_hash,
            contract: receipt.contract_address,
            logs: receipt.logs().iter().map(|log| log.inner.clone()).collect(),
            gas_used: receipt.gas_used,
        }))
    }

    /// The logs that match, in order.
    pub async fn logs(&self, filter: LogFilter) -> Result<Vec<LogEntry>, Error> {
        let found: Vec<Log> = self.answer(self.provider.get_logs(&wire_filter(filter)).await)?;
        if found.len() > LOGS_MAX {
            return Err(Error::TooManyLogs);
        }
        let entries: Option<Vec<LogEntry>> = found.into_iter().map(entry).collect();
        entries.ok_or_else(|| Error::Unreachable {
            url: self.place.clone(),
            reason: "it answered with logs that are in no block".to_owned(),
        })
    }

    /// Gives an account native coin for gas; only nodes for development do so.
    pub async fn give_gas(&self, account: Address) -> Result<(), Error> {
        let plenty = U256::from(1_000_000_000_000_000_000_000_u128);
        let given: TransportResult<serde_json::Value> =
            self.provider.client().request("anvil_setBalance", (account, plenty)).await;
        self.answer(given).map(|_| ())
    }

    /// Lets time pass and makes a block; only nodes made for tests do so.
    pub async fn advance(&self, seconds: u64) -> Result<(), Error> {
        let shifted: TransportResult<serde_json::Value> =
            self.provider.client().request("evm_increaseTime", (U64::from(seconds),)).await;
        self.answer(shifted)?;
        let sealed: TransportResult<serde_json::Value> = self.provider.client().request_noparams("evm_mine").await;
        self.answer(sealed).map(|_| ())
    }

    fn answer<T>(&self, result: TransportResult<T>) -> Result<T, Error> {
        result.map_err(|error| refusal::of_question(&self.place, &error))
    }
}

/// The header as it is hashed. A chain whose headers have other fields than those we know cannot prove anything to us.
fn sealed(header: &Header) -> Result<Bytes, Error> {
    let encoded = Bytes::from(alloy_rlp::encode(&header.inner));
    match keccak256(&encoded) == header.hash {
        true => Ok(encoded),
        false => Err(Error::Inconsistent(format!("block {} is not what its hash says", header.number))),
    }
}

fn request(from: Address, to: Option<Address>, data: Bytes) -> TransactionRequest {
    let to = Some(to.map_or(TxKind::Create, TxKind::Call));
    TransactionRequest { from: Some(from), to, input: data.into(), ..TransactionRequest::default() }
}

fn wire_filter(filter: LogFilter) -> Filter {
    let last = filter.to_block.map_or(BlockNumberOrTag::Latest, BlockNumberOrTag::Number);
    let mut asked = Filter::new().from_block(filter.from_block).to_block(last);
    if !filter.addresses.is_empty() {
        asked = asked.address(filter.addresses);
    }
    asked.topics = filter.topics.map(FilterSet::from);
    asked
}

fn entry(log: Log) -> Option<LogEntry> {
    Some(LogEntry {
        block_number: log.block_number?,
        block_hash: log.block_hash?,
        timestamp: log.block_timestamp.unwrap_or_default(),
        transaction: log.transaction_hash?,
        place: log.transaction_index.unwrap_or_default(),
        index: log.log_index?,
        log: log.inner,
    })
}
