//! The hub's side: who fetches which dataset, where each can be reached and what it holds.
//!
//! Pure state: a member announces itself every few seconds and is told of the others; who stays silent is forgotten.
//! What strangers can make the hub remember is bounded. Nothing that a member says of itself is believed further than
//! that: a chunk it does not hold after all is asked of somebody else.
use super::MEMBERS_MAX;
use crate::store::Bitmap;
use gleaner_wire::{Hash, Millis, WorkerKey};
use std::collections::BTreeMap;

/// Who has not announced itself for this long is gone.
pub const SILENCE_MAX: Millis = Millis(15_000);
/// Datasets that are kept track of at a time.
pub const DATASETS_MAX: usize = 4096;
/// Bytes of addresses that a member may announce.
pub const ADDRESS_BYTES_MAX: usize = 1024;
/// What all members say they hold, in bytes of memory at most.
const HOLDS_BYTES_MAX: usize = 256 * 1024 * 1024;
/// How often it is looked for those who are silent.
const SWEEP_TIME: Millis = Millis(1000);
/// Chunks of a dataset at most, as in the store.
const CHUNKS_MAX: usize = 1 << 26;

/// One who fetches or has a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its key, which is also its address in the network.
    pub key: WorkerKey,
    /// Where it can be reached, as it says; opaque here.
    pub address: Vec<u8>,
    /// What it holds of the dataset.
    pub holds: Bitmap,
    /// Whether it is the machine of the dataset's owner.
    pub owner: bool,
    seen: Millis,
}

/// What became of an announcement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announced {
    /// Noted; these are the others.
    Noted(Vec<Member>),
    /// Not noted, and why.
    Refused(&'static str),
}

/// Who fetches which dataset.
#[derive(Debug, Default)]
pub struct Registry {
    datasets: BTreeMap<Hash, BTreeMap<WorkerKey, Member>>,
    holds_bytes: usize,
    swept: Millis,
}

impl Registry {
    /// Nobody fetches anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// A member says where it is and what it holds, and is told of the others.
    pub fn announce(
        &mut self,
        now: Millis,
        root: Hash,
        key: WorkerKey,
        address: Vec<u8>,
        holds: Bitmap,
        owner: bool,
    ) -> Announced {
        if now >= self.swept.after(SWEEP_TIME) {
            self.forget_silent(now);
        }
        if self.holds_bytes + holds.as_bytes().len() > HOLDS_BYTES_MAX {
            return Announced::Refused("too much is told at the moment: try again later");
        }
        if address.len() > ADDRESS_BYTES_MAX || holds.len() > CHUNKS_MAX {
            return Announced::Refused("the address or the list is too long");
        }
        if !self.datasets.contains_key(&root) && self.datasets.len() >= DATASETS_MAX {
            return Announced::Refused("too many datasets move at the moment: try again later");
        }
        let members = self.datasets.entry(root).or_default();
        if !members.contains_key(&key) && members.len() >= MEMBERS_MAX {
            return Announced::Refused("too many fetch this dataset at the moment: try again later");
        }
        let others = members.values().filter(|other| other.key != key).cloned().collect();
        self.holds_bytes += holds.as_bytes().len();
        if let Some(before) = members.insert(key, Member { key, address, holds, owner, seen: now }) {
            self.holds_bytes -= before.holds.as_bytes().len();
        }
        Announced::Noted(others)
    }

    /// A member leaves a dataset.
    pub fn leave(&mut self, root: &Hash, key: &WorkerKey) {
        if let Some(members) = self.datasets.get_mut(root) {
            if let Some(left) = members.remove(key) {
                self.holds_bytes -= left.holds.as_bytes().len();
            }
            if members.is_empty() {
                self.datasets.remove(root);
            }
        }
    }

    /// Who is known to fetch or have a dataset.
    pub fn members(&self, root: &Hash) -> impl Iterator<Item = &Member> {
        self.datasets.get(root).into_iter().flat_map(BTreeMap::values)
    }

    /// When somebody would be forgotten next.
    pub fn next_deadline(&self) -> Option<Millis> {
        self.datasets.values().flat_map(BTreeMap::values).map(|member| member.seen.after(SILENCE_MAX)).min()
    }

    /// Forgets who has been silent.
    pub fn forget_silent(&mut self, now: Millis) {
        self.swept = now;
        self.datasets.retain(|_, members| {
            members.retain(|_, member| member.seen.after(SILENCE_MAX) > now);
            !members.is_empty()
        });
        let members = self.datasets.values().flat_map(BTreeMap::values);
        self.holds_bytes = members.map(|member| member.holds.as_bytes().len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> WorkerKey {
        WorkerKey([number; 32])
    }

    fn announce(registry: &mut Registry, now: u64, root: u8, who: u8) -> Announced {
        registry.announce(Millis(now), Hash([root; 32]), key(who), vec![who], Bitmap::new(10), false)
    }

    fn others(announced: Announced) -> Vec<WorkerKey> {
        match announced {
            Announced::Noted(members) => members.into_iter().map(|member| member.key).collect(),
            Announced::Refused(why) => panic!("refused: {why}"),
        }
    }

    #[test]
    fn members_of_a_dataset_are_told_of_each_other_and_of_nobody_else() {
        let mut registry = Registry::new();
        assert!(others(announce(&mut registry, 0, 1, 1)).is_empty());
        assert!(others(announce(&mut registry, 0, 2, 9)).is_empty());
        assert_eq!(others(announce(&mut registry, 1, 1, 2)), [key(1)]);
        registry.leave(&Hash([1; 32]), &key(1));
        assert!(others(announce(&mut registry, 2, 1, 2)).is_empty());
    }

    #[test]
    fn who_is_silent_is_forgotten_and_leaves_nothing() {
        let mut registry = Registry::new();
        announce(&mut registry, 0, 1, 1);
        announce(&mut registry, 10_000, 1, 2);
        assert_eq!(registry.next_deadline(), Some(SILENCE_MAX));
        assert_eq!(others(announce(&mut registry, 15_000, 1, 3)), [key(2)]);
        registry.forget_silent(Millis(40_000));
        assert_eq!(registry.next_deadline(), None);
        assert!(registry.datasets.is_empty());
    }

    #[test]
    fn what_strangers_can_fill_is_bounded() {
        let mut registry = Registry::new();
        for who in 0..=255 {
            others(announce(&mut registry, 0, 1, who));
        }
        let one_more = registry.announce(Millis(0), Hash([1; 32]), WorkerKey([7; 32]), vec![], Bitmap::new(10), false);
        assert!(matches!(one_more, Announced::Noted(_)), "a member may announce itself again");
        let mut stranger = [7; 32];
        stranger[0] = 8;
        let refused = registry.announce(Millis(0), Hash([1; 32]), WorkerKey(stranger), vec![], Bitmap::new(10), false);
        assert!(matches!(refused, Announced::Refused(_)));
        let long = registry.announce(Millis(0), Hash([1; 32]), key(1), vec![0; 2000], Bitmap::new(10), false);
        assert!(matches!(long, Announced::Refused(_)));
        let told = (0..40)
            .map(|who| registry.announce(Millis(0), Hash([2; 32]), key(who), vec![], Bitmap::new(1 << 26), false));
        let told: Vec<_> = told.collect();
        assert!(matches!(told[0], Announced::Noted(_)) && matches!(told[39], Announced::Refused(_)));
        registry.forget_silent(Millis(1_000_000));
        assert_eq!(registry.holds_bytes, 0);
    }
}
