//! The limit: what goes, what stays, and what is refused.
use super::world::{KIB, MIB, assert_counts_are_real, chunk, clocked, holds, ids, on_disk};
use bytes::Bytes;
use gleaner_data::store::{CHUNK_BYTES_MAX, Chunk, Error, Options, Store, Verify};
use gleaner_wire::Hash;
use std::sync::atomic::Ordering;

#[test]
fn chunks_are_stored_once_found_again_and_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), 64 * MIB).unwrap();
    let chunks: Vec<Chunk> = (0..100).map(|seed| chunk(seed, 1 + usize::try_from(seed * seed * 50).unwrap())).collect();
    assert_eq!(store.put(chunks.clone()).unwrap(), 100);
    assert_eq!(store.put(chunks[40..60].to_vec()).unwrap(), 0, "what is held is not stored again");
    let usage = store.usage();
    assert_eq!(usage.bytes, chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum::<u64>());
    drop(store);
    let store = Store::open(dir.path(), 64 * MIB).unwrap();
    assert_eq!(store.usage(), usage);
    let mut asked = ids(&chunks);
    asked.reverse();
    asked.push(Hash::of(b"never stored"));
    for verify in [Verify::Here, Verify::ByReceiver] {
        let found = store.get_many(&asked, verify).unwrap();
        assert!(found.iter().zip(chunks.iter().rev()).all(|(found, chunk)| found.as_ref() == Some(&chunk.bytes)));
        assert_eq!(found.last(), Some(&None));
    }
    let held = store.has_many(&asked).unwrap();
    assert_eq!((held.len(), held.count(), held.contains(100)), (101, 100, false));
    assert_counts_are_real(&store, dir.path());
}

#[test]
fn bytes_that_do_not_match_their_name_or_are_too_many_are_refused_with_all_of_their_batch() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), 64 * MIB).unwrap();
    let good = chunk(1, 100);
    let lie = Chunk { id: good.id, bytes: Bytes::from_static(b"something else") };
    let error = store.put(vec![chunk(2, 100), lie]).unwrap_err();
    assert!(matches!(error, Error::Mismatch(id) if id == good.id), "{error}");
    let error = store.put(vec![chunk(3, CHUNK_BYTES_MAX + 1)]).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert_eq!(store.usage().chunks, 0);
    assert!(matches!(store.put(vec![chunk(6, 0)]), Err(Error::Empty)));
    store.put(vec![chunk(4, CHUNK_BYTES_MAX), chunk(5, 1)]).unwrap();
    assert!(holds(&store, &chunk(4, CHUNK_BYTES_MAX)) && holds(&store, &chunk(5, 1)));
}

#[test]
fn what_was_not_used_for_longest_goes_first() {
    let dir = tempfile::tempdir().unwrap();
    let (options, time) = clocked(2 * MIB);
    let store = Store::open_with(dir.path(), options.clone()).unwrap();
    let chunks: Vec<Chunk> = (0..30).map(|seed| chunk(seed, 64 * KIB)).collect();
    for chunk in &chunks {
        time.fetch_add(1, Ordering::Relaxed);
        store.put(vec![chunk.clone()]).unwrap();
    }
    // Three are used again: by reading, by putting once more, and by reading before the store is opened again.
    time.fetch_add(1, Ordering::Relaxed);
    store.get(&chunks[0].id, Verify::ByReceiver).unwrap().unwrap();
    store.put(vec![chunks[3].clone()]).unwrap();
    store.get(&chunks[5].id, Verify::Here).unwrap().unwrap();
    drop(store);
    let store = Store::open_with(dir.path(), options).unwrap();
    time.fetch_add(1, Ordering::Relaxed);
    store.put((100..110).map(|seed| chunk(seed, 64 * KIB)).collect()).unwrap();
    let gone: Vec<usize> = store.has_many(&ids(&chunks)).unwrap().positions(false).collect();
    let expected: Vec<usize> = (1..30).filter(|position| ![3, 5].contains(position)).take(gone.len()).collect();
    assert!((8..=12).contains(&gone.len()), "{gone:?}");
    assert_eq!(gone, expected, "the oldest went, those used again stayed");
    assert!(store.usage().taken <= 2 * MIB);
    assert_counts_are_real(&store, dir.path());
}

#[test]
fn what_is_pinned_stays_until_its_last_owner_lets_go() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), 2 * MIB).unwrap();
    let needed: Vec<Chunk> = (0..10).map(|seed| chunk(seed, 64 * KIB)).collect();
    assert_eq!(store.pin("task 1", &ids(&needed)).unwrap().count(), 0, "pinned before it is here");
    store.put(needed.clone()).unwrap();
    assert!(store.pin("task 2", &ids(&needed)).unwrap().is_full());
    store.pin("task 2", &ids(&needed)).unwrap();
    assert_eq!(store.usage().pinned, 10 * 64 * KIB as u64);
    let flood = |from: u64| (from..from + 100).try_for_each(|seed| store.put(vec![chunk(seed, 64 * KIB)]).map(|_| ()));
    flood(1000).unwrap();
    assert_eq!(store.unpin("task 1").unwrap(), 10);
    flood(2000).unwrap();
    assert!(needed.iter().all(|chunk| holds(&store, chunk)), "task 2 still needs them");
    assert_eq!(store.owners().unwrap(), [("task 2".to_owned(), 10)]);
    assert_eq!(store.unpin("task 2").unwrap(), 10);
    assert_eq!(store.unpin("task 2").unwrap(), 0);
    flood(3000).unwrap();
    assert_eq!(store.has_many(&ids(&needed)).unwrap().count(), 0);
    assert_eq!(store.usage().pinned, 0);
}

#[test]
fn what_is_handed_over_stays_pinned_and_is_pinned_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), 2 * MIB).unwrap();
    let needed: Vec<Chunk> = (0..10).map(|seed| chunk(seed, 64 * KIB)).collect();
    store.put(needed.clone()).unwrap();
    store.pin("old", &ids(&needed[..6])).unwrap();
    store.pin("new", &ids(&needed[4..])).unwrap();
    assert_eq!(store.pinned_bytes("new", "old").unwrap(), 4 * 64 * KIB as u64);
    assert_eq!(store.pinned_bytes("new", "nobody").unwrap(), 6 * 64 * KIB as u64);
    store.hand_over("new", "old").unwrap();
    store.hand_over("nobody", "old").unwrap();
    assert_eq!(store.owners().unwrap(), [("old".to_owned(), 10)]);
    assert_eq!(store.usage().pinned, 10 * 64 * KIB as u64);
    (1000..1100).for_each(|seed| assert!(store.put(vec![chunk(seed, 64 * KIB)]).is_ok()));
    assert!(needed.iter().all(|chunk| holds(&store, chunk)));
    assert_eq!((store.unpin("old").unwrap(), store.usage().pinned), (10, 0));
}

#[test]
fn a_put_that_only_fits_without_the_pinned_is_refused_says_what_is_missing_and_evicts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), MIB).unwrap();
    let pinned: Vec<Chunk> = (0..12).map(|seed| chunk(seed, 64 * KIB)).collect();
    store.pin("a running task", &ids(&pinned)).unwrap();
    store.put(pinned.clone()).unwrap();
    store.put(vec![chunk(50, 64 * KIB)]).unwrap();
    let before = store.usage();
    let error = store.put((100..110).map(|seed| chunk(seed, 64 * KIB)).collect()).unwrap_err();
    let Error::NoRoom { missing, pinned: kept, limit } = error else { panic!("{error}") };
    assert_eq!((kept, limit), (12 * 64 * KIB as u64, MIB));
    assert!((6 * 64 * KIB as u64..7 * 64 * KIB as u64).contains(&missing), "{missing}");
    assert!(error.to_string().contains("Raise its limit"), "{error}");
    assert_eq!(store.usage(), before);
    drop(store);
    // With the limit raised as the message says, it fits.
    let store = Store::open(dir.path(), MIB + missing).unwrap();
    store.put((100..110).map(|seed| chunk(seed, 64 * KIB)).collect()).unwrap();
    assert!(pinned.iter().all(|chunk| holds(&store, chunk)));
}

#[test]
fn thousands_of_pins_are_taken_and_released_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), 64 * MIB).unwrap();
    let chunks: Vec<Chunk> = (0..5000).map(|seed| chunk(seed, 1000)).collect();
    store.put(chunks.clone()).unwrap();
    assert!(store.pin("task", &ids(&chunks)).unwrap().is_full());
    assert_eq!(store.usage().pinned, 5_000_000);
    drop(store);
    let store = Store::open(dir.path(), 64 * MIB).unwrap();
    assert_eq!((store.usage().pinned, store.unpin("task").unwrap(), store.usage().pinned), (5_000_000, 5000, 0));
}

/// Fills a store many times over while one chunk in sixteen stays pinned.
fn churn(options: Options) {
    let dir = tempfile::tempdir().unwrap();
    let (limit, punch) = (options.limit, options.punch);
    let store = Store::open_with(dir.path(), options).unwrap();
    let mut pinned = Vec::new();
    for seed in 0..2000 {
        let chunk = chunk(seed, 20 * KIB + usize::try_from(seed % 7).unwrap() * 1000);
        if seed % 16 == 0 && pinned.len() < 60 {
            store.pin("kept", &[chunk.id]).unwrap();
            pinned.push(chunk.clone());
        }
        store.put(vec![chunk]).unwrap();
        assert!(store.usage().taken <= limit, "{:?}", store.usage());
    }
    assert!(pinned.iter().all(|chunk| holds(&store, chunk)));
    let usage = store.usage();
    let least = if punch { limit * 3 / 4 } else { limit / 3 };
    assert!(usage.bytes >= least, "room is used, not wasted: {usage:?}");
    assert_counts_are_real(&store, dir.path());
    let (files, _) = on_disk(dir.path());
    assert!(files <= 2 * 16 * limit / (256 * KIB as u64), "{files} files are left");
    let checked = store.check(|_| {}).unwrap();
    assert_eq!((checked.bad.len(), checked.orphans, checked.miscounted), (0, 0, 0), "{checked:?}");
}

#[test]
fn room_is_given_back_by_punching_holes() {
    churn(Options { segment_bytes: 256 * KIB as u64, ..Options::with_limit(4 * MIB) });
}

#[test]
fn room_is_given_back_by_compacting_where_no_holes_can_be_punched() {
    churn(Options { segment_bytes: 256 * KIB as u64, punch: false, ..Options::with_limit(4 * MIB) });
}
