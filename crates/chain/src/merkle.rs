//! Trees of keccak hashes, so that one root stands for many records and each can be shown alone.
//!
//! Pairs are hashed in rising order and leaves are hashed twice, as OpenZeppelin's `MerkleProof` expects: a proof needs
//! no directions, and an inner node can never be passed off as a leaf.
use alloy_primitives::{B256, keccak256};

/// The hash that stands for an encoded record.
pub fn leaf(encoded: &[u8]) -> B256 {
    keccak256(keccak256(encoded))
}

/// A tree over leaves in their given order. A node without a neighbour rises as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    layers: Vec<Vec<B256>>,
}

impl Tree {
    /// The tree of these leaves.
    pub fn new(leaves: Vec<B256>) -> Self {
        let mut layers = vec![leaves];
        while layers.last().is_some_and(|layer| layer.len() > 1) {
            let below = layers.last().expect("there is always a layer");
            layers.push(below.chunks(2).map(parent).collect());
        }
        Self { layers }
    }

    /// The hash of everything; zero when there is nothing.
    pub fn root(&self) -> B256 {
        self.layers.last().and_then(|layer| layer.first()).copied().unwrap_or_default()
    }

    /// How many leaves there are.
    pub fn len(&self) -> usize {
        self.layers[0].len()
    }

    /// Whether there are no leaves.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The hashes that lead from a leaf to the root, or nothing if there is no such leaf.
    pub fn proof(&self, index: usize) -> Option<Vec<B256>> {
        if index >= self.len() {
            return None;
        }
        let climb = self.layers.iter().enumerate();
        Some(climb.filter_map(|(height, layer)| layer.get((index >> height) ^ 1).copied()).collect())
    }
}

fn parent(children: &[B256]) -> B256 {
    match children {
        [left, right] => pair(*left, *right),
        [] | [_, ..] => children[0],
    }
}

fn pair(one: B256, other: B256) -> B256 {
    let (low, high) = if one <= other { (one, other) } else { (other, one) };
    keccak256([low.0, high.0].concat())
}

/// Whether the proof leads from the leaf to the root.
pub fn verify(root: B256, leaf: B256, proof: &[B256]) -> bool {
    proof.iter().fold(leaf, |node, sibling| pair(node, *sibling)) == root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(count: u32) -> Vec<B256> {
        (0..count).map(|index| leaf(&index.to_be_bytes())).collect()
    }

    #[test]
    fn every_leaf_of_every_small_tree_is_proved() {
        for count in 1..70 {
            let tree = Tree::new(leaves(count));
            for (index, leaf) in leaves(count).into_iter().enumerate() {
                let proof = tree.proof(index).expect("the leaf is there");
                assert!(verify(tree.root(), leaf, &proof), "leaf {index} of {count}");
                assert!(!verify(tree.root(), keccak256(leaf), &proof));
            }
            assert_eq!(tree.proof(count as usize), None);
        }
    }

    #[test]
    fn an_inner_node_is_no_leaf() {
        let tree = Tree::new(leaves(4));
        let inner = [tree.layers[0][0], tree.layers[0][1]].map(|hash| hash.0).concat();
        assert!(!verify(tree.root(), leaf(&inner), &[tree.layers[1][1]]));
    }

    #[test]
    fn the_smallest_trees_have_plain_roots() {
        assert_eq!(Tree::new(Vec::new()).root(), B256::ZERO);
        assert_eq!(Tree::new(leaves(1)).root(), leaves(1)[0]);
    }
}
