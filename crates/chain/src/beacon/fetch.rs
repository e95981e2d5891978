//! From an anchoring transaction on a chain to its beacon.
use alloy_primitives::{B256, keccak256};
use gleaner_wire::Hash;

use super::{Beacon, Fields, trie, verify};
use crate::node::{Error, Node};

/// What there is of an anchoring transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Its beacon.
    Beacon(Box<Beacon>),
    /// It is in a block, and a block after it is still missing: the chain must have grown to this height.
    NotYet {
        /// The height.
        wanted: u64,
    },
    /// It is in no block that the node knows.
    Nowhere,
}

/// The beacon of a root, once so many blocks have come after the one that gives the seed. A block that is replaced
/// meanwhile is noticed, and waited for again.
pub async fn fetch(node: &Node, transaction: B256, root: Hash, confirmations: u64) -> Result<Found, Error> {
    let Some(receipt) = node.receipt(transaction).await? else { return Ok(Found::Nowhere) };
    let number = receipt.block_number;
    let wanted = number.saturating_add(1).saturating_add(confirmations);
    if node.height().await? < wanted {
        return Ok(Found::NotYet { wanted });
    }
    let (block, next) = (node.sealed_block(number).await?, node.sealed_header(number + 1).await?);
    let (Some(block), Some(next)) = (block, next) else { return Ok(Found::NotYet { wanted }) };
    let hash = keccak256(&block.header);
    let follows = Fields::read(&next).is_some_and(|fields| fields.parent == hash);
    let place = block.transactions.iter().position(|raw| keccak256(raw) == transaction);
    let Some(place) = place.filter(|_| follows && hash == receipt.block_hash) else {
        return Ok(Found::NotYet { wanted });
    };
    let (_, proof) = trie::prove(&block.transactions, place);
    let beacon = Beacon {
        seed: Hash(keccak256(&next).0),
        header: block.header,
        next,
        transaction: block.transactions[place].clone(),
        place: place as u64,
        proof,
    };
    // A node that leaves something out of a block cannot be believed; asking again may help.
    match verify(&beacon, root) {
        Ok(_) => Ok(Found::Beacon(Box::new(beacon))),
        Err(error) => Err(Error::Inconsistent(format!("block {number} proves nothing: {error}"))),
    }
}

/// Whether the chain behind a node has the beacon's two blocks.
pub async fn is_on(node: &Node, beacon: &Beacon) -> Result<bool, Error> {
    let Some(fields) = Fields::read(&beacon.next) else { return Ok(false) };
    let found = node.block(fields.number).await?;
    Ok(found.is_some_and(|block| block.hash.0 == beacon.seed.0 && block.hash == keccak256(&beacon.next)))
}
