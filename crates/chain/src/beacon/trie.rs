//! The trie of a block's transactions: a leaf for each, by its place.
use alloy_primitives::{B256, Bytes};
use alloy_trie::proof::{ProofRetainer, verify_proof};
use alloy_trie::root::adjust_index_for_rlp;
use alloy_trie::{HashBuilder, Nibbles};

/// The most nodes from a root to a leaf: a place has at most 18 half bytes.
const NODES_MAX: usize = 20;
/// The longest node: a branch of 17 hashes, or a leaf with the longest anchoring transaction.
const NODE_BYTES_MAX: usize = 1_280;

/// Whether this is more than any proof needs.
pub(super) fn is_too_long(proof: &[Bytes]) -> bool {
    proof.len() > NODES_MAX || proof.iter().any(|node| node.len() > NODE_BYTES_MAX)
}

/// The root of these transactions, and the nodes that lead from it to the one at a place.
pub(super) fn prove(transactions: &[Bytes], place: usize) -> (B256, Vec<Bytes>) {
    let retainer = ProofRetainer::new(vec![key(place)]);
    let mut builder = HashBuilder::default().with_proof_retainer(retainer);
    // Leaves are added in the order of their keys.
    for turn in 0..transactions.len() {
        let index = adjust_index_for_rlp(turn, transactions.len());
        builder.add_leaf(key(index), &transactions[index]);
    }
    let root = builder.root();
    let nodes = builder.take_proof_nodes().into_nodes_sorted();
    (root, nodes.into_iter().map(|(_, node)| node).collect())
}

/// Whether the nodes lead from the root to this transaction at this place, and nowhere else.
pub(super) fn leads_to(root: B256, place: u64, transaction: &[u8], proof: &[Bytes]) -> bool {
    let Ok(place) = usize::try_from(place) else { return false };
    verify_proof(root, key(place), Some(transaction.to_vec()), proof).is_ok()
}

fn key(place: usize) -> Nibbles {
    Nibbles::unpack(alloy_rlp::encode_fixed_size(&place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_trie::root::ordered_trie_root_encoded;

    /// Transactions of different lengths. No signed one is shorter than these.
    fn transactions(count: usize) -> Vec<Bytes> {
        (0..count)
            .map(|number| vec![u8::try_from(number % 251).expect("below 251"); 90 + number * 7 % 150].into())
            .collect()
    }

    #[test]
    fn every_transaction_of_blocks_of_any_size_is_proven() {
        for count in [1, 2, 3, 16, 17, 127, 128, 129, 300] {
            let transactions = transactions(count);
            for place in 0..count {
                let (root, proof) = prove(&transactions, place);
                assert_eq!(root, ordered_trie_root_encoded(&transactions));
                assert!(!is_too_long(&proof), "{place} of {count}");
                assert!(leads_to(root, place as u64, &transactions[place], &proof), "{place} of {count}");
                assert!(!leads_to(root, place as u64 + 1, &transactions[place], &proof), "{place} of {count}");
            }
        }
    }

    #[test]
    fn a_proof_with_more_or_less_than_it_needs_leads_nowhere() {
        let transactions = transactions(200);
        let (root, proof) = prove(&transactions, 150);
        let leads = |proof: &[Bytes]| leads_to(root, 150, &transactions[150], proof);
        assert!(leads(&proof) && proof.len() > 1);
        assert!(!leads(&proof[1..]) && !leads(&proof[..proof.len() - 1]) && !leads(&[]));
        assert!(!leads(&[proof.as_slice(), &[Bytes::from_static(&[0x80])]].concat()));
        assert!(!leads(&[proof.as_slice(), &proof[..1]].concat()));
    }
}
