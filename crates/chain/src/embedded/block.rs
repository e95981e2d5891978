//! A sealed block: header, signed transactions with their senders, and what came of each.
//!
//! The header is an ordinary Ethereum header with real transaction and receipt roots, so that ordinary tools can hash it; in the
//! place of the state root stands the [state hash](super::digest).
use alloy_consensus::proofs::{calculate_receipt_root, calculate_transaction_root};
use alloy_consensus::{Header, Receipt, ReceiptEnvelope, ReceiptWithBloom, Transaction, TxEnvelope, TxType};
use alloy_eips::Typed2718;
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::{Address, B256, Bloom, Bytes, Log, TxKind, b256};
use alloy_rlp::{RlpDecodable, RlpEncodable};

/// Gas that all transactions of a block may use together.
pub(crate) const BLOCK_GAS_MAX: u64 = 1_000_000_000;
/// The hash of an empty list of requests (EIP-7685): SHA-256 of nothing.
const NO_REQUESTS: B256 = b256!("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");

/// A transaction and who signed it.
#[derive(Clone, Debug)]
pub(crate) struct SentTransaction {
    pub(crate) envelope: TxEnvelope,
    pub(crate) sender: Address,
}

/// What came of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub(crate) struct Outcome {
    pub(crate) success: bool,
    pub(crate) gas_used: u64,
    pub(crate) logs: Vec<Log>,
}

/// A block with everything in it.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) header: Header,
    pub(crate) hash: B256,
    pub(crate) transactions: Vec<SentTransaction>,
    pub(crate) outcomes: Vec<Outcome>,
}

/// What is known of a block before its transactions run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) parent: B256,
    pub(crate) number: u64,
    pub(crate) timestamp: u64,
    /// Drawn by chance, so that contracts can draw lots from block hashes.
    pub(crate) mix: B256,
}

impl SentTransaction {
    pub(crate) fn hash(&self) -> B256 {
        *self.envelope.tx_hash()
    }

    /// The contract that it makes.
    pub(crate) fn creates(&self) -> Option<Address> {
        match self.envelope.kind() {
            TxKind::Create => Some(self.sender.create(self.envelope.nonce())),
            TxKind::Call(_) => None,
        }
    }
}

impl Block {
    /// Closes a block over what ran.
    pub(crate) fn seal(frame: Frame, transactions: Vec<SentTransaction>, outcomes: Vec<Outcome>, state: B256) -> Self {
        let receipts = receipts(&transactions, &outcomes);
        let envelopes: Vec<&TxEnvelope> = transactions.iter().map(|transaction| &transaction.envelope).collect();
        let header = Header {
            parent_hash: frame.parent,
            state_root: state,
            transactions_root: calculate_transaction_root(&envelopes),
            receipts_root: calculate_receipt_root(&receipts),
            logs_bloom: receipts.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | *receipt.logs_bloom()),
            number: frame.number,
            gas_limit: BLOCK_GAS_MAX,
            gas_used: outcomes.iter().map(|outcome| outcome.gas_used).sum(),
            timestamp: frame.timestamp,
            extra_data: Bytes::from_static(b"gleaner"),
            mix_hash: frame.mix,
            base_fee_per_gas: Some(0),
            withdrawals_root: Some(alloy_consensus::EMPTY_ROOT_HASH),
            blob_gas_used: Some(0),
            excess_blob_gas: Some(0),
            parent_beacon_block_root: Some(B256::ZERO),
            requests_hash: Some(NO_REQUESTS),
            ..Header::default()
        };
        let hash = header.hash_slow();
        Self { header, hash, transactions, outcomes }
    }

    /// The frame in which it ran, to run it again.
    pub(crate) fn frame(&self) -> Frame {
        let Header { parent_hash, number, timestamp, mix_hash, .. } = self.header;
        Frame { parent: parent_hash, number, timestamp, mix: mix_hash }
    }

    /// How many logs stand before those of a transaction.
    pub(crate) fn logs_before(&self, place: usize) -> u64 {
        self.outcomes.iter().take(place).map(|outcome| outcome.logs.len() as u64).sum()
    }

    /// Receipts as the chain's consensus has them.
    pub(crate) fn receipts(&self) -> Vec<ReceiptEnvelope> {
        receipts(&self.transactions, &self.outcomes)
    }
}

fn receipts(transactions: &[SentTransaction], outcomes: &[Outcome]) -> Vec<ReceiptEnvelope> {
    let mut cumulative_gas_used = 0;
    let pairs = transactions.iter().zip(outcomes);
    pairs
        .map(|(transaction, outcome)| {
            cumulative_gas_used += outcome.gas_used;
            let receipt = Receipt { status: outcome.success.into(), cumulative_gas_used, logs: outcome.logs.clone() };
            envelope(transaction.envelope.ty(), receipt.with_bloom())
        })
        .collect()
}

fn envelope(kind: u8, receipt: ReceiptWithBloom<Receipt>) -> ReceiptEnvelope {
    match TxType::try_from(kind) {
        Ok(TxType::Eip2930) => ReceiptEnvelope::Eip2930(receipt),
        Ok(TxType::Eip1559) => ReceiptEnvelope::Eip1559(receipt),
        Ok(TxType::Eip4844) => ReceiptEnvelope::Eip4844(receipt),
        Ok(TxType::Eip7702) => ReceiptEnvelope::Eip7702(receipt),
        Ok(TxType::Legacy) | Err(_) => ReceiptEnvelope::Legacy(receipt),
    }
}

/// A transaction on disk.
#[derive(RlpEncodable, RlpDecodable)]
struct Line {
    raw: Bytes,
    sender: Address,
}

/// The transactions as one value on disk.
pub(crate) fn encode_body(transactions: &[SentTransaction]) -> Vec<u8> {
    let lines: Vec<Line> = transactions
        .iter()
        .map(|transaction| Line { raw: transaction.envelope.encoded_2718().into(), sender: transaction.sender })
        .collect();
    alloy_rlp::encode(lines)
}

/// Reads what [`encode_body`] wrote.
pub(crate) fn decode_body(bytes: &[u8]) -> Result<Vec<SentTransaction>, alloy_rlp::Error> {
    let lines: Vec<Line> = alloy_rlp::decode_exact(bytes)?;
    let read = |line: Line| {
        let envelope = TxEnvelope::decode_2718_exact(&line.raw)
            .map_err(|_| alloy_rlp::Error::Custom("a transaction that cannot be read"))?;
        Ok(SentTransaction { envelope, sender: line.sender })
    };
    lines.into_iter().map(read).collect()
}
