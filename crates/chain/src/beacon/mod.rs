//! A seed that nobody could foresee: the hash of the block after the one in which a root was anchored.
//!
//! A root is anchored by an ordinary transaction of an account to itself, so any chain will do. A [`Beacon`] carries
//! what shows it without asking anybody: both headers, the transaction, and the nodes that lead to it from the root of
//! the block's transactions. It cannot show that the headers are the chain's own; [`is_on`] asks a node for that.
mod fetch;
mod trie;

pub use fetch::{Found, fetch, is_on};

use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{Transaction, TxEnvelope};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, Bytes, TxKind, keccak256};
use alloy_rlp::Header as Prefix;
use gleaner_wire::Hash;
use serde::{Deserialize, Serialize};

use crate::sender::Call;

/// What stands before the root in the data of an anchoring transaction; the number is the format's.
const PREFIX: &[u8] = b"gleaner round 1";
/// The longest header; those of today have about 600 bytes.
const HEADER_BYTES_MAX: usize = 4_096;
/// The longest anchoring transaction.
const TRANSACTION_BYTES_MAX: usize = 1_024;
/// The places of the fields in a header that every chain of this kind has.
const PARENT: usize = 0;
const TRANSACTIONS_ROOT: usize = 4;
const NUMBER: usize = 8;

/// The proof that a root was anchored before its seed could be known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Beacon {
    /// The seed: the hash of the block after the anchor's.
    pub seed: Hash,
    /// The header of the anchor's block, as it is hashed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x([0-9a-fA-F]{2})*$"))]
    pub header: Bytes,
    /// The header of the block after it.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x([0-9a-fA-F]{2})*$"))]
    pub next: Bytes,
    /// The anchoring transaction, as it is sent.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x([0-9a-fA-F]{2})*$"))]
    pub transaction: Bytes,
    /// Its place in the block.
    pub place: u64,
    /// The nodes from the root of the block's transactions to this one.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub proof: Vec<Bytes>,
}

/// What a beacon shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchored {
    /// The seed.
    pub seed: Hash,
    /// Who anchored the root.
    pub account: Address,
    /// On which chain, if the transaction says so.
    pub chain_id: Option<u64>,
    /// In which block.
    pub block: u64,
}

/// Why a beacon shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Something in it is longer than it can be.
    #[error("a part of the beacon is too long")]
    TooLong,
    /// A header cannot be read.
    #[error("the header of the {0} is none")]
    Header(&'static str),
    /// The seed is not the hash of the second header.
    #[error("the seed is not the hash of the second block")]
    Seed,
    /// The second block does not come right after the first.
    #[error("the second block does not follow the first")]
    NotNext,
    /// The transaction is not in the first block.
    #[error("the transaction is not in the first block at place {0}")]
    NotInBlock(u64),
    /// The transaction cannot be read, or its signature is none.
    #[error("the transaction cannot be read")]
    Transaction,
    /// The transaction does something else.
    #[error("the transaction is not one of an account to itself")]
    NotToItself,
    /// The transaction anchors another root.
    #[error("the transaction anchors something else than this root")]
    OtherRoot,
}

/// What an account sends to itself to anchor a root.
pub fn call(account: Address, root: Hash) -> Call {
    Call { to: account, data: [PREFIX, &root.0].concat().into() }
}

/// The seed, if the beacon shows that this root was anchored before the seed could be known.
pub fn verify(beacon: &Beacon, root: Hash) -> Result<Hash, Error> {
    inspect(beacon, root).map(|anchored| anchored.seed)
}

/// The same, with who anchored the root where.
pub fn inspect(beacon: &Beacon, root: Hash) -> Result<Anchored, Error> {
    let headers = [&beacon.header, &beacon.next];
    if headers.iter().any(|header| header.len() > HEADER_BYTES_MAX)
        || beacon.transaction.len() > TRANSACTION_BYTES_MAX
        || trie::is_too_long(&beacon.proof)
    {
        return Err(Error::TooLong);
    }
    let first = Fields::read(&beacon.header).ok_or(Error::Header("first block"))?;
    let second = Fields::read(&beacon.next).ok_or(Error::Header("second block"))?;
    if keccak256(&beacon.next) != B256::from(beacon.seed.0) {
        return Err(Error::Seed);
    }
    if second.parent != keccak256(&beacon.header) || first.number.checked_add(1) != Some(second.number) {
        return Err(Error::NotNext);
    }
    if !trie::leads_to(first.transactions_root, beacon.place, &beacon.transaction, &beacon.proof) {
        return Err(Error::NotInBlock(beacon.place));
    }
    let (account, chain_id) = read_anchor(&beacon.transaction, root)?;
    Ok(Anchored { seed: beacon.seed, account, chain_id, block: first.number })
}

/// Who anchored this root by this transaction.
fn read_anchor(raw: &[u8], root: Hash) -> Result<(Address, Option<u64>), Error> {
    let transaction = TxEnvelope::decode_2718_exact(raw).map_err(|_| Error::Transaction)?;
    let account = transaction.recover_signer().map_err(|_| Error::Transaction)?;
    if transaction.kind() != TxKind::Call(account) {
        return Err(Error::NotToItself);
    }
    if transaction.input() != &call(account, root).data {
        return Err(Error::OtherRoot);
    }
    Ok((account, transaction.chain_id()))
}

/// What is read of a header. The rest differs from chain to chain and counts by its hash.
struct Fields {
    parent: B256,
    transactions_root: B256,
    number: u64,
}

impl Fields {
    fn read(header: &[u8]) -> Option<Self> {
        let mut rest = header;
        let mut inside = Prefix::decode_bytes(&mut rest, true).ok()?;
        if !rest.is_empty() {
            return None;
        }
        let mut fields = Vec::new();
        while fields.len() <= NUMBER {
            fields.push(Prefix::decode_bytes(&mut inside, false).ok()?);
        }
        let number = fields[NUMBER];
        let mut wide = [0; 8];
        wide.get_mut(8_usize.checked_sub(number.len())?..)?.copy_from_slice(number);
        Some(Self {
            parent: B256::try_from(fields[PARENT]).ok()?,
            transactions_root: B256::try_from(fields[TRANSACTIONS_ROOT]).ok()?,
            number: u64::from_be_bytes(wide),
        })
    }
}
