//! Random deeds beside a plain map.
use super::world::{MIB, assert_counts_are_real, chunk};
use bytes::Bytes;
use gleaner_data::store::{Chunk, Options, Store, Verify};
use gleaner_wire::Hash;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const SEEDS: u64 = 60;

#[derive(Clone, Debug)]
enum Deed {
    Put(Vec<u64>),
    Get(Vec<u64>),
    Pin(u8, Vec<u64>),
    Unpin(u8),
    Remember(u8, Vec<u64>),
    Forget(u8),
    Reopen,
    Check,
}

fn deed() -> impl Strategy<Value = Deed> {
    let seeds = || prop::collection::vec(0..SEEDS, 0..12);
    prop_oneof![
        6 => seeds().prop_map(Deed::Put),
        4 => seeds().prop_map(Deed::Get),
        1 => (0..3_u8, prop::collection::vec(0..SEEDS, 0..4)).prop_map(|(owner, seeds)| Deed::Pin(owner, seeds)),
        1 => (0..3_u8).prop_map(Deed::Unpin),
        1 => (0..3_u8, seeds()).prop_map(|(root, seeds)| Deed::Remember(root, seeds)),
        1 => (0..3_u8).prop_map(Deed::Forget),
        1 => Just(Deed::Reopen),
        1 => Just(Deed::Check),
    ]
}

fn made(seed: u64) -> Chunk {
    chunk(seed, usize::try_from(seed * seed * 37 % 30_000).unwrap() + 1)
}

fn names(seeds: &[u64]) -> Vec<Hash> {
    seeds.iter().map(|&seed| made(seed).id).collect()
}

/// What a store may be expected to hold. Under a limit chunks may be missing, but never those that are pinned.
#[derive(Default)]
struct Model {
    put: HashMap<Hash, Bytes>,
    pins: BTreeMap<u8, BTreeSet<Hash>>,
    lists: BTreeMap<u8, Vec<Hash>>,
    /// Pinned ever since it was put.
    safe: BTreeSet<Hash>,
}

impl Model {
    fn is_pinned(&self, id: &Hash) -> bool {
        self.pins.values().any(|ids| ids.contains(id))
    }

    fn agree(&self, store: &Store, roomy: bool) {
        let all = names(&(0..SEEDS).collect::<Vec<_>>());
        let held = store.has_many(&all).unwrap();
        let mut bytes = 0;
        for (position, id) in all.iter().enumerate() {
            let put = self.put.get(id);
            assert!(put.is_some() || !held.contains(position), "never put, and held");
            let must = put.is_some() && (roomy || self.safe.contains(id));
            assert!(held.contains(position) || !must, "put, not to be evicted, and gone");
            bytes += put.filter(|_| held.contains(position)).map_or(0, |put| put.len() as u64);
        }
        let usage = store.usage();
        assert_eq!((usage.chunks, usage.bytes), (held.count() as u64, bytes));
        assert!(usage.taken <= usage.limit);
        for (root, ids) in &self.lists {
            let bits = store.holdings(&Hash([*root; 32])).unwrap().unwrap();
            assert_eq!(bits, store.has_many(ids).unwrap(), "the bits of a dataset are what is held");
        }
    }

    fn follow(&mut self, store: &Store, deed: &Deed) {
        match deed {
            Deed::Put(seeds) => {
                store.put(seeds.iter().map(|&seed| made(seed)).collect()).unwrap();
                for chunk in seeds.iter().map(|&seed| made(seed)) {
                    if self.is_pinned(&chunk.id) {
                        self.safe.insert(chunk.id);
                    }
                    self.put.insert(chunk.id, chunk.bytes);
                }
            }
            Deed::Get(seeds) => {
                let ids = names(seeds);
                let held = store.has_many(&ids).unwrap();
                let verify = if seeds.len() % 2 == 0 { Verify::Here } else { Verify::ByReceiver };
                for (position, found) in store.get_many(&ids, verify).unwrap().into_iter().enumerate() {
                    let expected = self.put.get(&ids[position]).filter(|_| held.contains(position));
                    assert_eq!(found.as_ref(), expected);
                }
            }
            Deed::Pin(owner, seeds) => {
                let ids = names(seeds);
                let held = store.pin(&owner.to_string(), &ids).unwrap();
                self.safe.extend(held.positions(true).map(|position| ids[position]));
                self.pins.entry(*owner).or_default().extend(ids);
            }
            Deed::Unpin(owner) => {
                store.unpin(&owner.to_string()).unwrap();
                self.pins.remove(owner);
                let pinned: BTreeSet<Hash> = self.safe.iter().copied().filter(|id| self.is_pinned(id)).collect();
                self.safe = pinned;
            }
            Deed::Remember(root, seeds) => {
                store.remember(Hash([*root; 32]), names(seeds)).unwrap();
                self.lists.entry(*root).or_insert_with(|| names(seeds));
            }
            Deed::Forget(root) => {
                store.forget(&Hash([*root; 32])).unwrap();
                self.lists.remove(root);
            }
            Deed::Reopen => {}
            Deed::Check => {
                let checked = store.check(|_| {}).unwrap();
                assert_eq!((checked.bad.len(), checked.orphans, checked.miscounted), (0, 0, 0), "{checked:?}");
            }
        }
    }
}

fn walk(options: &Options, deeds: &[Deed], roomy: bool) {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open_with(dir.path(), options.clone()).unwrap();
    let mut model = Model::default();
    for deed in deeds {
        if matches!(deed, Deed::Reopen) {
            drop(store);
            store = Store::open_with(dir.path(), options.clone()).unwrap();
        }
        model.follow(&store, deed);
        model.agree(&store, roomy);
    }
    if options.punch {
        assert_counts_are_real(&store, dir.path());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_store_with_room_is_a_map(deeds in prop::collection::vec(deed(), 1..40)) {
        walk(&Options { segment_bytes: 64 * 1024, ..Options::with_limit(64 * MIB) }, &deeds, true);
    }

    #[test]
    fn a_store_that_evicts_forgets_only_what_is_not_pinned(
        deeds in prop::collection::vec(deed(), 1..60),
        punch: bool,
    ) {
        walk(&Options { segment_bytes: 64 * 1024, punch, ..Options::with_limit(MIB) }, &deeds, false);
    }
}
