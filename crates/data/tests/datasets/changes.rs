//! Only what changed is read and sent; whatever changes, and whenever, what comes out is right.
use std::collections::HashSet;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::world::{Chance, OPTIONS, World};
use gleaner_data::index::Index;
use gleaner_data::measure::{noise, words};
use gleaner_data::pack;
use gleaner_data::tree::Case;
use proptest::prelude::*;

#[test]
fn what_did_not_change_is_neither_read_nor_sent() {
    let world = World::new();
    for number in 0..500 {
        world.write(format!("{}/{number}", number % 5), words(number, 3000));
    }
    world.write("large", noise(1, 5_000_000));
    let (first, _) = world.pack();
    let (second, counts) = world.pack();
    assert_eq!((counts.unchanged, counts.read_bytes, counts.chunks), (501, 0, 0));
    assert_eq!(first.sealed, second.sealed);

    world.write("3/3", "changed");
    std::fs::remove_file(world.data().join("2/2")).expect("removed");
    world.write("4/new", "new");
    let (third, counts) = world.pack();
    assert_eq!((counts.unchanged, counts.read_bytes), (499, 10));
    world.check(&third);
    let (_, counts) = world.pack();
    assert_eq!((counts.unchanged, counts.chunks), (501, 0));
}

#[test]
fn checksum_reads_everything_and_sends_nothing() {
    let world = World::new();
    for number in 0..100 {
        world.write(format!("{number}"), words(number, 3000));
    }
    world.write("large", noise(1, 5_000_000));
    let (first, before) = world.pack();
    let options = pack::Options { checksum: true, level: Some(gleaner_data::squeeze::Level::new(3)), ..OPTIONS };
    let (second, counts) = world.try_pack(&world.data(), options).expect("packed");
    assert_eq!((counts.read_bytes, counts.chunks), (before.read_bytes, 0));
    assert_eq!(first.sealed, second.sealed);
}

/// Packs, applies edits, packs again, checks, and says how many bytes were sent the second time.
fn sent_after(content: &[u8], edited: &[u8]) -> u64 {
    let world = World::new();
    world.write("file", content);
    world.try_pack(&world.data(), OPTIONS).expect("packed");
    world.write("file", edited);
    let (packed, counts) = world.try_pack(&world.data(), OPTIONS).expect("packed");
    world.check(&packed);
    counts.sealed_bytes
}

#[test]
fn a_thousand_small_insertions_cost_little_more_than_themselves() {
    let (before, mut chance) = (noise(1, 32 << 20), Chance::new(2));
    let mut places: Vec<_> = (0..1000).map(|_| chance.below(before.len())).collect();
    places.sort_unstable();
    let (mut after, mut at) = (Vec::new(), 0);
    for (number, place) in places.into_iter().enumerate() {
        after.extend_from_slice(&before[at..place]);
        after.extend_from_slice(&noise(number as u64, 100));
        at = place;
    }
    after.extend_from_slice(&before[at..]);
    let per_edit = sent_after(&before, &after) / 1000;
    assert!(per_edit < 2500, "{per_edit} bytes for each insertion of 100");
}

#[test]
fn one_insertion_costs_about_a_block() {
    let before = noise(1, 8 << 20);
    let mut after = before.clone();
    after.splice(4_000_000..4_000_000, noise(2, 100));
    let sent = sent_after(&before, &after);
    // The manifest of 8 MiB is about 9 KiB, and is sent again.
    assert!(sent < 16_000, "{sent}");
}

#[test]
fn a_file_that_was_edited_before_is_not_sent_for_it_again() {
    let world = World::new();
    let mut content = noise(1, 8 << 20);
    world.write("file", &content);
    world.try_pack(&world.data(), OPTIONS).expect("packed");
    for edit in 0..8_usize {
        let place = (edit * 1_000_003) % content.len();
        content.splice(place..place, noise(edit as u64, 300));
        world.write("file", &content);
        let (packed, counts) = world.try_pack(&world.data(), OPTIONS).expect("packed");
        assert!(counts.sealed_bytes < 20_000, "edit {edit}: {counts:?}");
        world.check(&packed);
    }
}

#[test]
fn a_file_rewritten_bit_by_bit_does_not_fall_to_pieces() {
    let world = World::new();
    let (mut content, mut chance) = (noise(1, 1 << 20), Chance::new(3));
    for round in 0..40_u64 {
        for _ in 0..20 {
            let place = chance.below(content.len() - 2000);
            content[place..place + 2000].copy_from_slice(&noise(round + place as u64, 2000));
        }
        world.write("file", &content);
        world.try_pack(&world.data(), OPTIONS).expect("packed");
    }
    let (packed, _) = world.try_pack(&world.data(), OPTIONS).expect("packed");
    world.check(&packed);
    let out = world.home.path().join("fresh");
    let fetched = world.try_unpack(&packed, &out, Case::Unknown).expect("unpacked").fetched_bytes;
    assert!(world.store.bytes() > 3 << 20, "it was rewritten");
    assert!(fetched < 8 << 20, "{fetched} bytes are fetched for 1 MiB");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn any_edits_of_any_file_restore_exactly(
        seed: u64,
        size in 0_usize..3_000_000,
        rounds in prop::collection::vec(
            prop::collection::vec((any::<prop::sample::Index>(), 0_usize..70_000, 0_usize..70_000, any::<bool>()), 1..6),
            1..4,
        ),
    ) {
        let world = World::new();
        let mut content = if seed % 2 == 0 { noise(seed, size) } else { words(seed, size) };
        world.write("folder/file", &content);
        world.pack();
        for edits in rounds {
            for (place, removed, inserted, is_copied) in edits {
                let place = place.index(content.len() + 1);
                let end = (place + removed).min(content.len());
                let new = if is_copied { content[..inserted.min(content.len())].to_vec() } else { noise(seed, inserted) };
                content.splice(place..end, new);
            }
            world.write("folder/file", &content);
            let (packed, _) = world.pack();
            world.check(&packed);
        }
    }
}

/// More than fits into all buffers together: it cannot be read to its end before something of it was put.
const LONG: usize = 24_000_000;

#[test]
fn a_file_that_changes_once_while_it_is_read_is_read_again() {
    let mut world = World::new();
    let path = world.write("file", noise(1, LONG));
    let is_done = AtomicBool::new(false);
    world.store.on_put = Some(Box::new(move |_| {
        if !is_done.swap(true, Ordering::Relaxed) {
            let mut file = std::fs::File::options().append(true).open(&path).expect("opened");
            file.write_all(b"and more").expect("written");
        }
    }));
    let (packed, counts) = world.pack();
    assert_eq!(packed.notices, []);
    assert!(counts.read_bytes > LONG as u64 * 3 / 2, "it was read twice: {counts:?}");
    world.check(&packed);
}

#[test]
fn a_file_that_keeps_changing_is_reported_and_read_the_next_time() {
    let world = World::new();
    world.write("steady", noise(2, 100_000));
    let path = world.write("file", noise(1, LONG));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = std::fs::File::options().append(true).open(&path).expect("opened");
            while !is_over.load(Ordering::Relaxed) {
                file.write_all(b"more").expect("written");
                std::thread::yield_now();
            }
        });
        let (packed, _) = world.pack();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(packed.notices.len(), 1, "{:?}", packed.notices);
        assert_eq!(packed.notices[0].path, path);
    });
    let (packed, counts) = world.pack();
    assert_eq!((counts.unchanged, &packed.notices[..]), (1, &[][..]));
    world.check(&packed);
}

#[test]
fn after_a_crash_at_any_moment_nothing_is_missing() {
    let mut world = World::new();
    for number in 0..200 {
        world.write(format!("small/{number}"), noise(number, 5000));
    }
    world.write("large", noise(1, 6_000_000));
    let mut chance = Chance::new(9);
    for _ in 0..12 {
        world.store.puts_max = Some(chance.below(60) as u64);
        let error = world.try_pack(&world.data(), OPTIONS).expect_err("the store fails");
        assert!(matches!(error, pack::Error::Sink(_)), "{error}");
        world.store = std::mem::take(&mut world.store).crash();
    }
    let (packed, _) = world.pack();
    world.check(&packed);
}

#[test]
fn what_the_other_side_lost_is_sent_again() {
    let world = World::new();
    world.write("large", noise(1, 3_000_000));
    let (first, _) = world.pack();
    let mut lost: HashSet<_> = world.store.chunks.lock().expect("not poisoned").keys().copied().collect();
    lost.retain(|id| id.0[0] % 2 == 0);
    world.store.chunks.lock().expect("not poisoned").retain(|id, _| !lost.contains(id));
    let mut index = Index::open(&world.home.path().join("index"), &world.keys).expect("opened");
    assert_eq!(index.forget_chunks(&lost).expect("forgotten"), lost.len() as u64);
    let last = index.last();
    index.commit(last).expect("committed");
    drop(index);
    let (second, counts) = world.pack();
    assert_eq!(counts.chunks, lost.len() as u64);
    assert_eq!(first.sealed, second.sealed);
    world.check(&second);
}

#[test]
fn small_files_left_behind_in_old_chunks_are_brought_together_again() {
    let world = World::new();
    for number in 0..600 {
        world.write(format!("{number:03}"), noise(number, 4000));
    }
    world.try_pack(&world.data(), OPTIONS).expect("packed");
    for number in (0..600).filter(|number| number % 8 != 0) {
        world.write(format!("{number:03}"), noise(number + 1000, 4000));
    }
    let (_, counts) = world.try_pack(&world.data(), OPTIONS).expect("packed");
    assert_eq!(counts.unchanged, 75);
    let (packed, counts) = world.try_pack(&world.data(), OPTIONS).expect("packed");
    assert!(counts.read_bytes >= 70 * 4000 && counts.read_bytes <= 100 * 4000, "{counts:?}");
    world.check(&packed);
    let out = world.home.path().join("fresh");
    let fetched = world.try_unpack(&packed, &out, Case::Unknown).expect("unpacked").fetched_bytes;
    assert!(fetched < 600 * 4000 * 5 / 4, "{fetched} bytes are fetched for 2.4 MB");
    let (_, counts) = world.try_pack(&world.data(), OPTIONS).expect("packed");
    assert_eq!((counts.unchanged, counts.chunks), (600, 0));
}
