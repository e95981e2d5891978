//! Blocks, transactions, receipts and logs in the shape that Ethereum's tools expect.
use crate::embedded::Block;
use crate::node::{LogEntry, LogFilter};
use alloy_consensus::transaction::Recovered;
use alloy_consensus::{ReceiptEnvelope, Sealed, Transaction as _};
use alloy_primitives::{Address, B256};
use alloy_rpc_types_eth::{
    Block as BlockShape, BlockTransactions, Filter, Header, Log, Transaction, TransactionReceipt,
};

/// A header.
pub(super) fn header(block: &Block) -> Header {
    Header::from_consensus(Sealed::new_unchecked(block.header.clone(), block.hash), None, None)
}

/// A block with its transactions in full or by their hashes.
pub(super) fn block(block: &Block, full: bool) -> BlockShape {
    let transactions = match full {
        true => BlockTransactions::Full((0..block.transactions.len()).map(|place| transaction(block, place)).collect()),
        false => BlockTransactions::Hashes(block.transactions.iter().map(|transaction| transaction.hash()).collect()),
    };
    BlockShape { header: header(block), uncles: Vec::new(), transactions, withdrawals: Some(Default::default()) }
}

/// A transaction in its block.
pub(super) fn transaction(block: &Block, place: usize) -> Transaction {
    let sent = &block.transactions[place];
    Transaction {
        inner: Recovered::new_unchecked(sent.envelope.clone(), sent.sender),
        block_hash: Some(block.hash),
        block_number: Some(block.header.number),
        transaction_index: Some(place as u64),
        effective_gas_price: Some(sent.envelope.effective_gas_price(Some(0))),
        block_timestamp: Some(block.header.timestamp),
    }
}

/// All receipts of a block.
pub(super) fn receipts(block: &Block) -> Vec<TransactionReceipt> {
    let pairs = block.receipts().into_iter().enumerate();
    pairs.map(|(place, envelope)| receipt(block, place, envelope)).collect()
}

fn receipt(block: &Block, place: usize, envelope: ReceiptEnvelope) -> TransactionReceipt {
    let (sent, outcome) = (&block.transactions[place], &block.outcomes[place]);
    let mut index = block.logs_before(place);
    let inner = envelope.map_logs(|inner| {
        let shaped = log(block, place, index, inner);
        index += 1;
        shaped
    });
    TransactionReceipt {
        inner,
        transaction_hash: sent.hash(),
        transaction_index: Some(place as u64),
        block_hash: Some(block.hash),
        block_number: Some(block.header.number),
        gas_used: outcome.gas_used,
        effective_gas_price: sent.envelope.effective_gas_price(Some(0)),
        blob_gas_used: None,
        blob_gas_price: None,
        from: sent.sender,
        to: sent.envelope.to(),
        contract_address: sent.creates().filter(|_| outcome.success),
    }
}

fn log(block: &Block, place: usize, index: u64, inner: alloy_primitives::Log) -> Log {
    Log {
        inner,
        block_hash: Some(block.hash),
        block_number: Some(block.header.number),
        block_timestamp: Some(block.header.timestamp),
        transaction_hash: Some(block.transactions[place].hash()),
        transaction_index: Some(place as u64),
        log_index: Some(index),
        removed: false,
    }
}

/// A log that was found.
pub(super) fn found(entry: LogEntry) -> Log {
    Log {
        inner: entry.log,
        block_hash: Some(entry.block_hash),
        block_number: Some(entry.block_number),
        block_timestamp: Some(entry.timestamp),
        transaction_hash: Some(entry.transaction),
        transaction_index: Some(entry.place),
        log_index: Some(entry.index),
        removed: false,
    }
}

/// What a tool asks for, without the blocks.
pub(super) fn wanted(filter: &Filter) -> LogFilter {
    let addresses: Vec<Address> = filter.address.iter().copied().collect();
    let topics = filter.topics.each_ref().map(|topic| topic.iter().copied().collect::<Vec<B256>>());
    LogFilter { from_block: 0, to_block: None, addresses, topics }
}
