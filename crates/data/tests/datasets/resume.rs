//! Large files that are cut short in the middle, and gone on with.
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use gleaner_data::pack::Packed;
use gleaner_data::tree::Case;
use gleaner_data::unpack;

use crate::world::{Chance, World, assert_same, listing};

const LARGE_BYTES: usize = 40 * 1024 * 1024;
const THREADS: usize = 3;
/// What a thread may have fetched and not yet noted.
const PIECE_BYTES: u64 = 1024 * 1024 + 256 * 1024;

fn noise(bytes: usize) -> Vec<u8> {
    let mut chance = Chance::new(9);
    (0..bytes).map(|_| chance.below(256) as u8).collect()
}

fn film() -> (World, Packed) {
    let world = World::new();
    world.write("film", noise(LARGE_BYTES));
    let sparse = File::create(world.data().join("sparse")).expect("made");
    sparse.set_len(200 * 1024 * 1024).expect("made longer");
    for place in [3, 50, 120] {
        sparse.write_all_at(&noise(700_000), place * 1024 * 1024).expect("written");
    }
    drop(sparse);
    let (packed, _) = world.pack();
    (world, packed)
}

/// Unpacks until the store fails after so many chunks.
fn unpack_some(world: &mut World, packed: &Packed, out: &Path, gets: Option<u64>) -> unpack::Counts {
    world.store = std::mem::take(&mut world.store).crash();
    world.store.gets_max = gets;
    let (progress, options) =
        (unpack::Progress::default(), unpack::Options { threads: THREADS, case: Case::Unknown, bytes_max: u64::MAX });
    let unpacked = unpack(&packed.root, &world.store, out, options, &progress);
    assert_eq!(unpacked.is_ok(), gets.is_none(), "{unpacked:?}");
    progress.counts()
}

fn part_in(folder: &Path) -> PathBuf {
    let entries = folder.read_dir().expect("read").map(|entry| entry.expect("an entry"));
    let mut parts = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".gleaner-part-"));
    parts.next().expect("something was left behind").path()
}

#[test]
fn a_large_file_goes_on_inside() {
    let (mut world, packed) = film();
    let out = world.home.path().join("out");
    let (mut fetched, mut cuts, mut kept) = (0, 0, 0);
    for gets in [100, 200, 150] {
        let counts = unpack_some(&mut world, &packed, &out, Some(gets));
        assert!(counts.kept_bytes >= kept, "what was kept once is kept: {counts:?}");
        (fetched, cuts, kept) = (fetched + counts.fetched_bytes, cuts + 1, counts.kept_bytes);
    }
    let last = unpack_some(&mut world, &packed, &out, None);
    assert!(last.kept_bytes > kept, "{last:?}");
    let stored = packed.root.totals.stored_bytes;
    assert_eq!(last.kept_bytes + last.written_bytes, stored, "none of it twice");
    let lost_max = cuts * THREADS as u64 * PIECE_BYTES;
    assert!(fetched + last.fetched_bytes < stored + stored / 500 + lost_max, "{fetched} and {last:?}");
    assert_same(&listing(&world.data()), &listing(&out));
}

#[test]
fn what_went_bad_between_two_tries_is_fetched_again() {
    let (mut world, packed) = film();
    let out = world.home.path().join("out");
    unpack_some(&mut world, &packed, &out, Some(300));
    let part = File::options().read(true).write(true).open(part_in(&out)).expect("opened");
    for place in [0, 3 * 1024 * 1024 + 7, 9 * 1024 * 1024] {
        let mut byte = [0];
        part.read_exact_at(&mut byte, place).expect("read");
        part.write_all_at(&[byte[0] ^ 1], place).expect("written");
    }
    let counts = unpack_some(&mut world, &packed, &out, None);
    assert!(counts.kept_bytes > 0, "{counts:?}");
    assert_same(&listing(&world.data()), &listing(&out));
}

#[test]
fn nothing_is_taken_over_from_another_version_of_a_file() {
    let (mut world, packed) = film();
    let out = world.home.path().join("out");
    unpack_some(&mut world, &packed, &out, Some(300));
    // Of the same length, and mostly a hole where the other has bytes.
    let film = File::create(world.data().join("film")).expect("made");
    film.set_len(LARGE_BYTES as u64).expect("made longer");
    film.write_all_at(b"the end", LARGE_BYTES as u64 - 7).expect("written");
    drop(film);
    let (packed, _) = world.pack();
    unpack_some(&mut world, &packed, &out, None);
    assert_same(&listing(&world.data()), &listing(&out));
}
