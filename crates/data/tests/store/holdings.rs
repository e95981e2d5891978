//! What is held of which dataset.
use super::world::{KIB, MIB, chunk, ids};
use gleaner_data::store::{Chunk, Store};
use gleaner_wire::Hash;

#[test]
fn the_bits_of_a_dataset_follow_every_put_and_eviction() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), 2 * MIB).unwrap();
    let chunks: Vec<Chunk> = (0..40).map(|seed| chunk(seed, 40 * KIB)).collect();
    let (one, two) = (Hash::of(b"one"), Hash::of(b"two"));
    store.put(chunks[..10].to_vec()).unwrap();
    store.remember(one, ids(&chunks)).unwrap();
    store.remember(two, ids(&chunks[5..15])).unwrap();
    assert_eq!(store.holdings(&one).unwrap().unwrap().positions(true).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    assert_eq!(store.holdings(&two).unwrap().unwrap().count(), 5);
    assert_eq!(store.holdings(&Hash::of(b"three")).unwrap(), None);
    store.put(chunks[10..].to_vec()).unwrap();
    assert!(store.holdings(&one).unwrap().unwrap().is_full());
    let sketch = store.sketch().unwrap();
    assert_eq!(sketch.held(&two).unwrap().share, 255);
    assert_eq!(sketch.held(&Hash::of(b"three")), None);

    store.put((100..120).map(|seed| chunk(seed, 40 * KIB)).collect()).unwrap();
    drop(store);
    let store = Store::open(dir.path(), 2 * MIB).unwrap();
    let bits = store.holdings(&one).unwrap().unwrap();
    assert_eq!(bits, store.has_many(&ids(&chunks)).unwrap());
    assert!(!bits.is_full());
    let holding = store.datasets().unwrap().into_iter().find(|holding| holding.root == one).unwrap();
    assert_eq!((holding.chunks, holding.held), (40, bits.count() as u64));
    assert_eq!(holding.held_bytes, bits.count() as u64 * 40 * KIB as u64);
    store.forget(&one).unwrap();
    assert_eq!(store.holdings(&one).unwrap(), None);
    assert!(store.holdings(&two).unwrap().is_some());
}

#[test]
fn a_list_of_many_pages_is_kept_in_order_and_read_in_one_go() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), 64 * MIB).unwrap();
    let name = |number: u64| Hash::of(&number.to_le_bytes());
    let root = Hash::of(b"large");
    let held = [0_u64, 8191, 8192, 20_000, 24_575];
    let small: Vec<Chunk> = held.iter().map(|number| Chunk::of(number.to_le_bytes().to_vec())).collect();
    // The last page of this list is exactly full.
    store.remember(root, (0..24_576).map(name)).unwrap();
    assert_eq!(store.holdings(&root).unwrap().unwrap().count(), 0);
    store.put(small).unwrap();
    let bits = store.holdings(&root).unwrap().unwrap();
    assert_eq!(bits.len(), 24_576);
    assert_eq!(bits.positions(true).map(|bit| bit as u64).collect::<Vec<_>>(), held);
    store.remember(root, []).unwrap();
    assert_eq!(store.holdings(&root).unwrap().unwrap(), bits, "a root that is known stays as it is");
    store.forget(&root).unwrap();
    store.remember(root, (0..3).map(name)).unwrap();
    assert_eq!(store.holdings(&root).unwrap().unwrap().positions(true).collect::<Vec<_>>(), [0]);
}
