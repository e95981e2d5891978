//! The methods: what each asks of the chain.
use super::filters::{Filters, Watch};
use super::protocol::{Fault, Params};
use super::shape;
use crate::embedded::{Block, Chain, Request, TRANSACTION_GAS_MAX};
use crate::node::LogFilter;
use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{Address, B256, Bytes, U64, U256};
use alloy_rpc_types_eth::{FeeHistory, Filter, FilterBlockOption, TransactionRequest};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};
use tokio::sync::Semaphore;

/// The most blocks of one fee history.
const FEE_BLOCKS_MAX: u64 = 1_024;
/// The most blocks that one answer of a block filter names.
const NEW_BLOCKS_MAX: u64 = 1_000;
/// Code that runs at the same time for those who ask; what else they want waits. The hub's own questions do not.
static TURNS: Semaphore = Semaphore::const_new(2);

/// What the methods work on.
#[derive(Debug)]
pub(super) struct Methods {
    pub(super) chain: Chain,
    filters: Mutex<Filters>,
}

impl Methods {
    pub(super) fn new(chain: Chain) -> Self {
        Self { chain, filters: Mutex::default() }
    }

    /// Answers one request.
    pub(super) async fn call(&self, method: &str, params: &Params) -> Result<Value, Fault> {
        match method {
            "web3_clientVersion" => shown(concat!("gleaner/", env!("CARGO_PKG_VERSION"))),
            "net_version" => shown(self.chain.chain_id().await?.to_string()),
            "net_listening" => shown(true),
            "eth_chainId" => shown(U64::from(self.chain.chain_id().await?)),
            "eth_syncing" => shown(false),
            "eth_accounts" => shown(Vec::<Address>::new()),
            "eth_blockNumber" => shown(U64::from(self.chain.height().await?)),
            "eth_gasPrice" | "eth_maxPriorityFeePerGas" => shown(U64::ZERO),
            "eth_feeHistory" => self.fee_history(params).await,
            "eth_getBlockByNumber" | "eth_getBlockByHash" => self.block(params).await,
            "eth_getBlockReceipts" => self.block_receipts(params).await,
            "eth_getBlockTransactionCountByNumber" | "eth_getBlockTransactionCountByHash" => self.count(params).await,
            "eth_getTransactionByHash" => self.transaction(params).await,
            "eth_getTransactionReceipt" => self.receipt(params).await,
            "eth_getTransactionCount" | "eth_getBalance" | "eth_getCode" | "eth_getStorageAt" => {
                self.account(method, params).await
            }
            "eth_call" => self.run_call(params).await,
            "eth_estimateGas" => self.estimate(params).await,
            "eth_sendRawTransaction" => shown(self.chain.send_raw(params.required::<Bytes>(0)?).await?),
            "eth_getLogs" => self.logs(params).await,
            "eth_newFilter" | "eth_newBlockFilter" => self.new_filter(method, params).await,
            "eth_getFilterChanges" => self.filter_changes(params).await,
            "eth_getFilterLogs" => self.filter_logs(params).await,
            "eth_uninstallFilter" => shown(self.filters().remove(params.required(0)?)),
            "evm_increaseTime" | "evm_mine" if self.chain.is_testing() => self.move_clock(method, params).await,
            unknown => Err(Fault::unknown_method(unknown)),
        }
    }

    fn filters(&self) -> std::sync::MutexGuard<'_, Filters> {
        self.filters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn find(&self, id: BlockId) -> Result<Option<Block>, Fault> {
        match id {
            BlockId::Hash(hash) => Ok(self.chain.full_block_by_hash(hash.block_hash).await?),
            BlockId::Number(tag) => Ok(self.chain.full_block(self.number(tag)).await?),
        }
    }

    fn number(&self, tag: BlockNumberOrTag) -> u64 {
        match tag {
            BlockNumberOrTag::Number(number) => number,
            BlockNumberOrTag::Earliest => 0,
            // A block on disk is never replaced, so that the newest is safe and final too; none is pending.
            BlockNumberOrTag::Latest
            | BlockNumberOrTag::Pending
            | BlockNumberOrTag::Safe
            | BlockNumberOrTag::Finalized => self.chain.head().number,
        }
    }

    /// Refuses questions about states that are no more: only the newest is kept.
    async fn newest(&self, params: &Params, place: usize) -> Result<(), Fault> {
        let Some(id) = params.optional::<BlockId>(place)? else { return Ok(()) };
        let asked = match id {
            BlockId::Number(tag) => Some(self.number(tag)),
            BlockId::Hash(_) => self.find(id).await?.map(|block| block.header.number),
        };
        let head = self.chain.head().number;
        match asked {
            Some(number) if number == head => Ok(()),
            Some(number) if number < head => {
                Err(Fault::server(format!("the state of block {number} is not kept: only that of the newest, {head}")))
            }
            Some(_) | None => Err(Fault::server("header not found")),
        }
    }

    async fn block(&self, params: &Params) -> Result<Value, Fault> {
        let full = params.optional(1)?.unwrap_or(false);
        let block = self.find(params.required(0)?).await?;
        shown(block.map(|block| shape::block(&block, full)))
    }

    async fn block_receipts(&self, params: &Params) -> Result<Value, Fault> {
        let block = self.find(params.required(0)?).await?;
        shown(block.map(|block| shape::receipts(&block)))
    }

    async fn count(&self, params: &Params) -> Result<Value, Fault> {
        let block = self.find(params.required(0)?).await?;
        shown(block.map(|block| U64::from(block.transactions.len())))
    }

    async fn transaction(&self, params: &Params) -> Result<Value, Fault> {
        let found = self.chain.sent(params.required(0)?).await?;
        shown(found.map(|(block, place)| shape::transaction(&block, place)))
    }

    async fn receipt(&self, params: &Params) -> Result<Value, Fault> {
        let found = self.chain.sent(params.required(0)?).await?;
        shown(found.map(|(block, place)| shape::receipts(&block).swap_remove(place)))
    }

    async fn account(&self, method: &str, params: &Params) -> Result<Value, Fault> {
        let account: Address = params.required(0)?;
        if method == "eth_getStorageAt" {
            self.newest(params, 2).await?;
            let value = self.chain.slot(account, params.required(1)?).await?;
            return shown(B256::from(value));
        }
        self.newest(params, 1).await?;
        match method {
            "eth_getTransactionCount" => shown(U64::from(self.chain.nonce(account).await?)),
            "eth_getBalance" => shown(self.chain.balance(account).await?),
            _ => shown(self.chain.code(account).await?),
        }
    }

    async fn run_call(&self, params: &Params) -> Result<Value, Fault> {
        self.newest(params, 1).await?;
        let _turn = TURNS.acquire().await;
        shown(self.chain.call_request(request(params.required(0)?)).await?)
    }

    async fn estimate(&self, params: &Params) -> Result<Value, Fault> {
        self.newest(params, 1).await?;
        let _turn = TURNS.acquire().await;
        shown(U64::from(self.chain.estimate_request(request(params.required(0)?)).await?))
    }

    async fn fee_history(&self, params: &Params) -> Result<Value, Fault> {
        let asked: U64 = params.required(0)?;
        let newest = self.number(params.required(1)?).min(self.chain.head().number);
        let count = asked.to::<u64>().clamp(1, FEE_BLOCKS_MAX).min(newest + 1);
        let percentiles: Option<Vec<f64>> = params.optional(2)?;
        let places = usize::try_from(count).unwrap_or(0);
        shown(FeeHistory {
            base_fee_per_gas: vec![0; places + 1],
            gas_used_ratio: vec![0.0; places],
            base_fee_per_blob_gas: vec![0; places + 1],
            blob_gas_used_ratio: vec![0.0; places],
            oldest_block: newest + 1 - count,
            reward: percentiles.map(|list| vec![vec![0; list.len().min(100)]; places]),
        })
    }

    async fn logs(&self, params: &Params) -> Result<Value, Fault> {
        let filter: Filter = params.required(0)?;
        let Some(wanted) = self.range(&filter).await? else { return shown(Value::Array(Vec::new())) };
        self.search(wanted).await
    }

    /// A filter with its blocks; none if the block it names does not exist.
    async fn range(&self, filter: &Filter) -> Result<Option<LogFilter>, Fault> {
        let wanted = shape::wanted(filter);
        let (from_block, to_block) = match filter.block_option {
            FilterBlockOption::AtBlockHash(hash) => match self.chain.full_block_by_hash(hash).await? {
                Some(block) => (block.header.number, block.header.number),
                None => return Ok(None),
            },
            FilterBlockOption::Range { from_block, to_block } => {
                let number = |tag: Option<BlockNumberOrTag>| self.number(tag.unwrap_or(BlockNumberOrTag::Latest));
                (number(from_block), number(to_block))
            }
        };
        Ok(Some(LogFilter { from_block, to_block: Some(to_block), ..wanted }))
    }

    async fn search(&self, wanted: LogFilter) -> Result<Value, Fault> {
        let found = self.chain.logs(wanted).await?;
        shown(found.into_iter().map(shape::found).collect::<Vec<_>>())
    }

    async fn new_filter(&self, method: &str, params: &Params) -> Result<Value, Fault> {
        let next = self.chain.head().number + 1;
        let watch = match method {
            "eth_newBlockFilter" => Watch::Blocks,
            _ => {
                let filter: Filter = params.required(0)?;
                let FilterBlockOption::Range { from_block, to_block } = filter.block_option else {
                    return Err(Fault::params("a filter watches a range of blocks, not one"));
                };
                let from_block = from_block.map_or(0, |tag| self.number(tag));
                let to_block = to_block.and_then(|tag| tag.as_number());
                Watch::Logs(LogFilter { from_block, to_block, ..shape::wanted(&filter) })
            }
        };
        shown(self.filters().add(watch, next))
    }

    async fn filter_changes(&self, params: &Params) -> Result<Value, Fault> {
        let id: U256 = params.required(0)?;
        let (watch, next) = self.filters().get(id).ok_or_else(|| Fault::server("filter not found"))?;
        let mut height = self.chain.head().number;
        let news = match watch {
            Watch::Blocks => {
                height = height.min(next + NEW_BLOCKS_MAX - 1);
                let mut hashes = Vec::new();
                for number in next..=height {
                    hashes.extend(self.chain.block(number).await?.map(|block| block.hash));
                }
                shown(hashes)?
            }
            Watch::Logs(filter) => {
                let from_block = filter.from_block.max(next);
                let to_block = Some(filter.to_block.map_or(height, |last| last.min(height)));
                self.search(LogFilter { from_block, to_block, ..filter }).await?
            }
        };
        self.filters().reported(id, height);
        Ok(news)
    }

    async fn filter_logs(&self, params: &Params) -> Result<Value, Fault> {
        let found = self.filters().get(params.required(0)?);
        match found {
            Some((Watch::Logs(filter), _)) => self.search(filter).await,
            Some((Watch::Blocks, _)) | None => Err(Fault::server("filter not found")),
        }
    }

    async fn move_clock(&self, method: &str, params: &Params) -> Result<Value, Fault> {
        if method == "evm_mine" {
            self.chain.seal().await?;
            return shown("0x0");
        }
        let seconds = match params.required::<Value>(0)? {
            Value::Number(seconds) => seconds.as_u64(),
            text => serde_json::from_value::<U64>(text).ok().map(|seconds| seconds.to()),
        };
        let seconds = seconds.ok_or_else(|| Fault::params("a number of seconds is needed"))?;
        self.chain.shift(seconds).await?;
        shown(json!(seconds))
    }
}

fn request(asked: TransactionRequest) -> Request {
    Request {
        from: asked.from.unwrap_or_default(),
        to: asked.to.and_then(|kind| kind.to().copied()),
        value: asked.value.unwrap_or_default(),
        data: asked.input.into_input().unwrap_or_default(),
        gas: asked.gas.map(|gas| gas.min(TRANSACTION_GAS_MAX)),
    }
}

/// A result as JSON.
pub(super) fn shown(value: impl Serialize) -> Result<Value, Fault> {
    serde_json::to_value(value).map_err(|error| Fault::server(format!("the result cannot be shown: {error}")))
}
