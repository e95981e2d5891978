//! Flipped bits, missing bytes, stray files: found, named, mended.
use super::world::{Chance, KIB, MIB, chunk, holds, ids};
use gleaner_data::store::{Chunk, Store, Verify};
use gleaner_wire::Hash;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A store with one segment, whose chunks lie in the order of the list.
fn filled(folder: &Path) -> (Store, Vec<Chunk>, PathBuf) {
    let store = Store::open(folder, 64 * MIB).unwrap();
    let chunks: Vec<Chunk> =
        (0..200).map(|seed| chunk(seed, 10 * KIB + usize::try_from(seed).unwrap() * 100)).collect();
    store.put(chunks.clone()).unwrap();
    let segment = fs::read_dir(folder.join("segments")).unwrap().next().unwrap().unwrap().path();
    (store, chunks, segment)
}

fn flip(segment: &Path, position: u64, bit: u64) {
    let file = OpenOptions::new().read(true).write(true).open(segment).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, position).unwrap();
    file.write_all_at(&[byte[0] ^ 1 << bit], position).unwrap();
}

fn at(chunks: &[Chunk], position: u64) -> Hash {
    let mut end = 0;
    chunks
        .iter()
        .find(|chunk| {
            end += chunk.bytes.len() as u64;
            position < end
        })
        .unwrap()
        .id
}

#[test]
fn check_finds_every_flipped_bit_and_names_exactly_the_chunks_to_fetch_again() {
    let dir = tempfile::tempdir().unwrap();
    let (store, chunks, segment) = filled(dir.path());
    let length = fs::metadata(&segment).unwrap().len();
    let mut chance = Chance::new(11);
    let mut expected = BTreeSet::new();
    for _ in 0..40 {
        let position = chance.below(length);
        if expected.insert(at(&chunks, position)) {
            flip(&segment, position, chance.below(8));
        }
    }
    let mut told = Vec::new();
    let checked = store.check(|progress| told.push(*progress)).unwrap();
    assert_eq!(checked.bad.iter().copied().collect::<BTreeSet<_>>(), expected);
    assert_eq!(checked.chunks, 200);
    assert!(told.len() > 1 && told.last().is_some_and(|last| last.bytes == last.bytes_total), "{told:?}");
    assert_eq!(store.usage().chunks, 200 - expected.len() as u64);
    assert_eq!(store.usage().damaged, expected.len() as u64);
    // What was named is fetched again, and all is well.
    store.put(chunks.iter().filter(|chunk| expected.contains(&chunk.id)).cloned().collect()).unwrap();
    assert!(chunks.iter().all(|chunk| holds(&store, chunk)));
    assert!(store.check(|_| {}).unwrap().bad.is_empty());
}

#[test]
fn a_reader_never_gets_altered_bytes_and_finds_the_chunk_missing_instead() {
    let dir = tempfile::tempdir().unwrap();
    let (store, chunks, segment) = filled(dir.path());
    store.pin("task", &ids(&chunks)).unwrap();
    flip(&segment, 5, 3);
    let found = store.get_many(&ids(&chunks[..3]), Verify::Here).unwrap();
    assert_eq!(found, [None, Some(chunks[1].bytes.clone()), Some(chunks[2].bytes.clone())]);
    assert!(!store.has_many(&ids(&chunks)).unwrap().contains(0));
    store.put(vec![chunks[0].clone()]).unwrap();
    assert!(holds(&store, &chunks[0]), "fetched again, it is stored again");
    assert_eq!(store.usage().pinned, store.usage().bytes, "and pinned as before");
}

#[test]
fn missing_bytes_are_noticed_when_checked_and_when_opened() {
    for reopened in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (store, chunks, segment) = filled(dir.path());
        let cut: u64 = chunks[..150].iter().map(|chunk| chunk.bytes.len() as u64).sum();
        OpenOptions::new().write(true).open(&segment).unwrap().set_len(cut + 1).unwrap();
        let store = if reopened {
            drop(store);
            Store::open(dir.path(), 64 * MIB).unwrap()
        } else {
            assert_eq!(store.check(|_| {}).unwrap().bad, ids(&chunks[150..]));
            store
        };
        assert_eq!(store.has_many(&ids(&chunks)).unwrap().count(), 150);
        store.put(chunks.clone()).unwrap();
        assert!(chunks.iter().all(|chunk| holds(&store, chunk)));
        let checked = store.check(|_| {}).unwrap();
        assert_eq!((checked.bad.len(), checked.miscounted), (0, 0));
    }
}

#[test]
fn a_segment_that_is_gone_and_files_that_nobody_knows_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let (store, chunks, segment) = filled(dir.path());
    let stray = |name: &str| File::create(segment.with_file_name(name)).unwrap().set_len(1000).unwrap();
    stray("00000000000000ff");
    stray("notes.txt");
    let checked = store.check(|_| {}).unwrap();
    assert_eq!((checked.orphans, checked.orphan_bytes, checked.bad.len()), (2, 2000, 0));
    drop(store);
    stray("00000000000000fe");
    OpenOptions::new().append(true).open(&segment).unwrap().write_all(b"torn").unwrap();
    let store = Store::open(dir.path(), 64 * MIB).unwrap();
    assert_eq!(fs::read_dir(dir.path().join("segments")).unwrap().count(), 1, "leftovers go when the store is opened");
    assert_eq!(fs::metadata(&segment).unwrap().len(), store.usage().bytes, "the torn tail is cut off");
    drop(store);
    fs::remove_file(&segment).unwrap();
    let store = Store::open(dir.path(), 64 * MIB).unwrap();
    assert_eq!(store.usage().chunks, 0);
    assert_eq!(store.put(chunks.clone()).unwrap(), 200);
    assert!(chunks.iter().all(|chunk| holds(&store, chunk)));
}
