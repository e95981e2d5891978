//! Questions to the embedded chain. Short ones are answered on the spot, those that run code or search the disk on a
//! thread of their own, so that nobody else waits for them.
use super::block::Block;
use super::execute::{self, Request};
use super::logs::{self, Refusal};
use super::state::State;
use super::{Chain, Inner, store};
use crate::node::{BlockInfo, CallError, Error, Fees, LogEntry, LogFilter, Receipt, SealedBlock};
use alloy_consensus::Header;
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, U256};
use rusqlite::Connection;
use std::sync::{Arc, PoisonError};

impl Chain {
    /// The number that signatures are bound to.
    pub async fn chain_id(&self) -> Result<u64, Error> {
        Ok(self.view().chain_id)
    }

    /// The number of the newest block.
    pub async fn height(&self) -> Result<u64, Error> {
        Ok(self.head().number)
    }

    /// A block by its number.
    pub async fn block(&self, number: u64) -> Result<Option<BlockInfo>, Error> {
        let block = self.full_block(number).await?;
        Ok(block.map(|block| BlockInfo {
            number: block.header.number,
            hash: block.hash,
            parent: block.header.parent_hash,
            timestamp: block.header.timestamp,
        }))
    }

    /// A block as it is hashed, by its number.
    pub async fn sealed_block(&self, number: u64) -> Result<Option<SealedBlock>, Error> {
        let block = self.full_block(number).await?;
        Ok(block.map(|block| SealedBlock {
            header: alloy_rlp::encode(&block.header).into(),
            transactions: block.transactions.iter().map(|sent| sent.envelope.encoded_2718().into()).collect(),
        }))
    }

    /// The encoded header of a block.
    pub async fn sealed_header(&self, number: u64) -> Result<Option<Bytes>, Error> {
        Ok(self.full_block(number).await?.map(|block| alloy_rlp::encode(&block.header).into()))
    }

    /// How many transactions of an account are in blocks.
    pub async fn nonce(&self, account: Address) -> Result<u64, Error> {
        Ok(self.view().read().world.nonce(account))
    }

    /// What an account has of the native coin.
    pub async fn balance(&self, account: Address) -> Result<U256, Error> {
        Ok(self.view().read().world.account(account).map_or(U256::ZERO, |account| account.balance))
    }

    /// The code of a contract; empty if there is none.
    pub async fn code(&self, account: Address) -> Result<Bytes, Error> {
        let state = self.view().read();
        let code = state.world.account(account).map(|account| state.world.code(account.code_hash).original_bytes());
        Ok(code.unwrap_or_default())
    }

    /// What a contract stores in a slot.
    pub async fn slot(&self, account: Address, slot: U256) -> Result<U256, Error> {
        Ok(self.view().read().world.slot(account, slot))
    }

    /// Runs a call on the newest state, as if in the next block, without changing it.
    pub async fn call(&self, from: Address, to: Address, data: Bytes) -> Result<Bytes, CallError> {
        self.call_request(Request { from, to: Some(to), data, ..Request::default() }).await
    }

    pub(crate) async fn call_request(&self, request: Request) -> Result<Bytes, CallError> {
        self.simulate(move |state, inner, frame| execute::call(state, inner.view.chain_id, frame, &request)).await
    }

    /// The gas limit that a transaction needs.
    pub async fn estimate(&self, from: Address, to: Option<Address>, data: Bytes) -> Result<u64, CallError> {
        self.estimate_request(Request { from, to, data, ..Request::default() }).await
    }

    pub(crate) async fn estimate_request(&self, request: Request) -> Result<u64, CallError> {
        self.simulate(move |state, inner, frame| execute::estimate(state, inner.view.chain_id, frame, &request)).await
    }

    /// What gas costs: nothing.
    pub async fn fees(&self) -> Result<Fees, Error> {
        Ok(Fees { base: 0, priority: 0 })
    }

    /// What became of a transaction; none while it is in no block.
    pub async fn receipt(&self, transaction: B256) -> Result<Option<Receipt>, Error> {
        let found = self.sent(transaction).await?;
        Ok(found.map(|(block, place)| receipt(&block, place)))
    }

    /// The logs that match, in order.
    pub async fn logs(&self, filter: LogFilter) -> Result<Vec<LogEntry>, Error> {
        self.look(move |db| match logs::find(db, &filter) {
            Ok(found) => Ok(found),
            Err(Refusal::TooMany) => Err(Error::TooManyLogs),
            Err(Refusal::Store(error)) => Err(Error::Store(error.text())),
        })
        .await
    }

    /// The header of the newest block.
    pub(crate) fn head(&self) -> Header {
        self.view().read().head.clone()
    }

    /// A block with everything in it.
    pub(crate) async fn full_block(&self, number: u64) -> Result<Option<Block>, Error> {
        self.look(move |db| store::block(db, number).map_err(|error| Error::Store(error.text()))).await
    }

    /// The same, by its hash.
    pub(crate) async fn full_block_by_hash(&self, hash: B256) -> Result<Option<Block>, Error> {
        self.look(move |db| store::block_by_hash(db, hash).map_err(|error| Error::Store(error.text()))).await
    }

    /// The block of a transaction, and its place there.
    pub(crate) async fn sent(&self, hash: B256) -> Result<Option<(Block, usize)>, Error> {
        self.look(move |db| store::sent(db, hash).map_err(|error| Error::Store(error.text()))).await
    }

    /// Asks the disk on a thread that may wait.
    async fn look<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let inner = Arc::clone(&self.inner);
        let asked = tokio::task::spawn_blocking(move || {
            let reader = inner.reader.lock().unwrap_or_else(PoisonError::into_inner);
            question(&reader)
        });
        asked.await.map_err(|_| Error::Closed)?
    }

    async fn simulate<T: Send + 'static>(
        &self,
        question: impl FnOnce(&State, &Inner, super::block::Frame) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let inner = Arc::clone(&self.inner);
        let asked = tokio::task::spawn_blocking(move || {
            let state = inner.view.read();
            let frame = state.next_frame(inner.view.clock.now(), B256::ZERO);
            question(&state, &inner, frame)
        });
        asked.await.map_err(|_| CallError::Node(Error::Closed))?
    }
}

fn receipt(block: &Block, place: usize) -> Receipt {
    let outcome = &block.outcomes[place];
    Receipt {
        success: outcome.success,
        block_number: block.header.number,
        block_hash: block.hash,
        contract: block.transactions[place].creates().filter(|_| outcome.success),
        logs: outcome.logs.clone(),
        gas_used: outcome.gas_used,
    }
}
