//! Many threads at once.
use super::world::{Chance, KIB, MIB, assert_counts_are_real, chunk, ids};
use gleaner_data::store::{Chunk, Load, Options, Store, Verify, measure};
use gleaner_wire::Hash;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[test]
fn readers_see_chunks_whole_or_not_at_all_while_others_put_evict_and_check() {
    for punch in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { segment_bytes: MIB, punch, ..Options::with_limit(8 * MIB) };
        let store = Store::open_with(dir.path(), options).unwrap();
        let chunks: Vec<Chunk> = (0..600).map(|seed| chunk(seed, 20 * KIB + usize::try_from(seed).unwrap())).collect();
        let (done, hits) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..4)
                .map(|seed| {
                    let (store, chunks, done, hits) = (&store, &chunks, &done, &hits);
                    scope.spawn(move || read_on(store, chunks, done, hits, seed))
                })
                .collect();
            let checker = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let checked = store.check(|_| {}).unwrap();
                    assert_eq!((checked.bad.len(), checked.orphans, checked.miscounted), (0, 0, 0), "{checked:?}");
                }
            });
            let writers: Vec<_> = (0..4)
                .map(|seed| {
                    let (store, chunks) = (&store, &chunks);
                    scope.spawn(move || {
                        let mut chance = Chance::new(100 + seed);
                        for _ in 0..150 {
                            let from = usize::try_from(chance.below(590)).unwrap();
                            store.put(chunks[from..from + 10].to_vec()).unwrap();
                        }
                    })
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            done.store(true, Ordering::Relaxed);
            readers.into_iter().for_each(|reader| reader.join().unwrap());
            checker.join().unwrap();
        });
        assert!(hits.load(Ordering::Relaxed) > 1000, "{hits:?}");
        assert!(store.usage().taken <= 8 * MIB && store.usage().damaged == 0, "{:?}", store.usage());
        if punch {
            assert_counts_are_real(&store, dir.path());
        }
    }
}

fn read_on(store: &Store, chunks: &[Chunk], done: &AtomicBool, hits: &AtomicU64, seed: u64) {
    let mut chance = Chance::new(seed);
    let verify = if seed.is_multiple_of(2) { Verify::Here } else { Verify::ByReceiver };
    while !done.load(Ordering::Relaxed) {
        let from = usize::try_from(chance.below(580)).unwrap();
        let asked = &chunks[from..from + 20];
        for (found, chunk) in store.get_many(&ids(asked), verify).unwrap().iter().zip(asked) {
            assert!(found.as_ref().is_none_or(|found| *found == chunk.bytes), "a reader got other bytes");
            hits.fetch_add(u64::from(found.is_some()), Ordering::Relaxed);
        }
    }
}

#[test]
fn an_error_reaches_only_the_call_that_caused_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), 2 * MIB).unwrap();
    let pinned: Vec<Hash> = (0..40).map(|seed| chunk(seed, 64 * KIB).id).collect();
    store.pin("task", &pinned).unwrap();
    std::thread::scope(|scope| {
        let greedy = scope.spawn(|| store.put((0..40).map(|seed| chunk(seed, 64 * KIB)).collect()));
        let modest: Vec<_> = (0..8)
            .map(|seed| {
                scope.spawn({
                    let store = &store;
                    move || store.put(vec![chunk(1000 + seed, KIB)])
                })
            })
            .collect();
        assert!(greedy.join().unwrap().is_err(), "40 pinned chunks do not fit");
        modest.into_iter().for_each(|call| assert_eq!(call.join().unwrap().unwrap(), 1));
    });
    assert_eq!(store.usage().chunks, 8);
}

#[test]
fn figures_are_measured_beside_a_plain_file() {
    let dir = tempfile::tempdir().unwrap();
    let load = Load { bytes: 256 * MIB, chunk_bytes: 64 * KIB, batch: 64, threads: 4 };
    let figures = measure(dir.path(), load).unwrap();
    println!("{figures:.0?}");
    for figure in [figures.file_write, figures.put, figures.file_read, figures.get, figures.get_unverified] {
        assert!(figure.is_finite() && figure > 0.0, "{figures:?}");
    }
}
