//! Merkle commitments: one hash that stands for a list and cannot be made to stand for another one later.
//!
//! Leaves and inner nodes are hashed apart, and the number of leaves is part of the root, so that no list passes for a longer
//! or shorter one. A lone node at the end of a level goes up as it is.
use alloc::vec::Vec;

use crate::Hash;

const LEAF: &[u8] = b"gleaner leaf 1";
const NODE: &[u8] = b"gleaner node 1";
const ROOT: &[u8] = b"gleaner root 1";

/// What stands for a piece of data in a tree.
pub fn leaf(bytes: &[u8]) -> Hash {
    joined(&[LEAF, bytes])
}

/// A tree over some leaves, with every level of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    levels: Vec<Vec<Hash>>,
}

impl Tree {
    /// The tree over these leaves, in their order.
    pub fn of(leaves: Vec<Hash>) -> Self {
        let mut levels = Vec::from([leaves]);
        while let Some(last) = levels.last().filter(|last| last.len() > 1) {
            let above = last.chunks(2).map(|pair| match pair {
                [left, right] => node(left, right),
                lone => lone[0],
            });
            let above = above.collect();
            levels.push(above);
        }
        Self { levels }
    }

    /// What stands for the whole list.
    pub fn root(&self) -> Hash {
        let top = self.levels.last().and_then(|level| level.first()).copied().unwrap_or(Hash([0; 32]));
        sealed(self.levels[0].len() as u32, &top)
    }

    /// What it takes to show that the leaf at this place is in the tree.
    pub fn path(&self, at: u32) -> Option<Vec<Hash>> {
        self.levels[0].get(at as usize)?;
        let below = &self.levels[..self.levels.len() - 1];
        let beside = (0..).zip(below).filter_map(|(height, level): (u32, _)| level.get((at as usize >> height) ^ 1));
        Some(beside.copied().collect())
    }
}

/// Whether a leaf stands at this place in the list of so many that a root stands for.
pub fn verify(root: &Hash, count: u32, at: u32, leaf: &Hash, path: &[Hash]) -> bool {
    if at >= count {
        return false;
    }
    let (mut at, mut width, mut top) = (at, count, *leaf);
    let mut path = path.iter();
    while width > 1 {
        if at ^ 1 < width {
            let Some(beside) = path.next() else { return false };
            top = if at.is_multiple_of(2) { node(&top, beside) } else { node(beside, &top) };
        }
        (at, width) = (at / 2, width.div_ceil(2));
    }
    path.next().is_none() && sealed(count, &top) == *root
}

fn node(left: &Hash, right: &Hash) -> Hash {
    joined(&[NODE, &left.0, &right.0])
}

fn sealed(count: u32, top: &Hash) -> Hash {
    joined(&[ROOT, &count.to_le_bytes(), &top.0])
}

fn joined(parts: &[&[u8]]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    parts.iter().for_each(|part| _ = hasher.update(part));
    Hash(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn leaves(count: u32) -> Vec<Hash> {
        (0..count).map(|number| leaf(&number.to_le_bytes())).collect()
    }

    #[test]
    fn roots_are_pinned() {
        let roots = [0, 1, 5].map(|count| Tree::of(leaves(count)).root().to_string());
        let pinned = [
            "4dfd95703870a494e5d68ad9ae6bde8b0d25adc69a9ccb469d929db77b47c3b0",
            "0050fd0422a89e4355b0342bd7927df2e6b5237d85320ecaf852b97b8569e963",
            "03747655c99110b83c5ccb16a23cd9547626b7dea0a39de1bf2c441bdce8ec15",
        ];
        assert_eq!(roots, pinned);
    }

    proptest! {
        #[test]
        fn every_leaf_is_shown_to_be_where_it_is_and_nowhere_else(count in 1..70_u32, at in 0..70_u32, other in 0..70_u32) {
            let at = at % count;
            let (tree, leaves) = (Tree::of(leaves(count)), leaves(count));
            let path = tree.path(at).expect("it is in the tree");
            prop_assert!(verify(&tree.root(), count, at, &leaves[at as usize], &path));
            prop_assert_eq!(verify(&tree.root(), count, other, &leaves[at as usize], &path), other == at);
            prop_assert!(!verify(&tree.root(), count + 1, at, &leaves[at as usize], &path));
            prop_assert!(!verify(&tree.root(), count, at, &leaf(b"another"), &path));
            let mut longer = path;
            longer.push(Hash([0; 32]));
            prop_assert!(!verify(&tree.root(), count, at, &leaves[at as usize], &longer));
        }
    }
}
