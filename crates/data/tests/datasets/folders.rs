//! Folders as people have them go in, and come out the same.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use crate::world::{OPTIONS, World};
use gleaner_data::manifest::Root;
use gleaner_data::measure::{noise, words};
use gleaner_data::tree::Case;
use gleaner_data::{pack, tree, unpack};

fn mixed() -> World {
    let world = World::new();
    for number in 0..300 {
        world.write(format!("small/{}/{number}", number % 7), words(number, (number * 97) as usize % 40_000));
    }
    world.write("zz/noise", noise(1, 9_000_000));
    world.write("zz/words", words(2, 3_000_000));
    world.write("zz/again", noise(1, 9_000_000));
    world.write("small.txt", "sorts between small and small/");
    world.write("empty file", "");
    world.write(OsStr::from_bytes(b"\xff\xfe not utf-8"), "name");
    world.write("new\nline", "name");
    std::fs::create_dir_all(world.data().join("nothing/in/here")).expect("made");
    symlink("../zz/noise", world.data().join("small/link")).expect("linked");
    symlink("nowhere", world.data().join("dangling")).expect("linked");
    world
}

#[test]
fn a_folder_comes_out_as_it_went_in() {
    let world = mixed();
    let script = world.write("script", "#!/bin/sh");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o751)).expect("set");
    let secret = world.write("closed/secret", "x");
    std::fs::set_permissions(secret, PermissionsExt::from_mode(0o400)).expect("set");
    std::fs::set_permissions(world.data().join("closed"), PermissionsExt::from_mode(0o555)).expect("set");
    let (packed, counts) = world.pack();
    assert!(counts.sealed_bytes < 9_000_000 + 8_000_000, "equal files are sent once: {counts:?}");
    assert_eq!(packed.notices, []);
    world.check(&packed);
    let opened = Root::open(&packed.sealed.key, packed.sealed.bytes).expect("opened");
    assert_eq!(opened, packed.root);
}

#[test]
fn holes_stay_holes() {
    let world = World::new();
    let path = world.write("sparse", "");
    let file = std::fs::File::options().write(true).open(&path).expect("opened");
    file.set_len(6 << 30).expect("sized");
    file.write_all_at(&noise(1, 100_000), 1 << 20).expect("written");
    file.write_all_at(&noise(2, 100_000), (5 << 30) + 17).expect("written");
    drop(file);
    let small = world.write("small", "");
    std::fs::File::options().write(true).open(small).and_then(|file| file.set_len(10 << 20)).expect("sized");
    let (packed, counts) = world.pack();
    assert!(counts.read_bytes < 1 << 20, "{counts:?}");
    let out = world.home.path().join("out");
    world.try_unpack(&packed, &out, Case::Unknown).expect("unpacked");
    let meta = std::fs::metadata(out.join("sparse")).expect("there");
    assert_eq!(meta.len(), 6 << 30);
    assert!(meta.blocks() * 512 < 1 << 20, "{} blocks", meta.blocks());
    let restored = std::fs::File::open(out.join("sparse")).expect("opened");
    let mut bytes = vec![0; 100_010];
    restored.read_exact_at(&mut bytes, (5 << 30) + 7).expect("read");
    assert!(bytes[..10] == [0; 10] && bytes[10..] == noise(2, 100_000));
    assert_eq!(std::fs::metadata(out.join("small")).expect("there").len(), 10 << 20);
    let (_, counts) = world.pack();
    assert_eq!((counts.unchanged, counts.read_bytes), (2, 0));
}

#[test]
fn a_single_file_is_a_dataset_too() {
    let world = World::new();
    let path = world.write("model.bin", noise(3, 500_000));
    world.write("other", "not this one");
    let (packed, _) = world.try_pack(&path, OPTIONS).expect("packed");
    let out = world.home.path().join("out");
    world.try_unpack(&packed, &out, Case::Unknown).expect("unpacked");
    assert_eq!(crate::world::listing(&out).len(), 1);
    assert_eq!(std::fs::read(out.join("model.bin")).expect("read"), noise(3, 500_000));
}

#[test]
fn an_empty_folder_is_a_dataset_too() {
    let world = World::new();
    let (packed, _) = world.pack();
    world.check(&packed);
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_path() {
    let world = World::new();
    let error = world.try_pack(&world.data().join("missing"), OPTIONS).expect_err("refused");
    assert!(error.to_string().contains("missing"), "{error}");
    symlink("/etc/passwd", world.data().join("out")).expect("linked");
    let error = world.try_pack(&world.data(), OPTIONS).expect_err("refused");
    assert!(matches!(error, pack::Error::Tree(tree::Error::Link { .. })), "{error}");
}

#[test]
fn nothing_that_is_stored_shows_content_or_names() {
    let world = World::new();
    let marker = b"the quick brown fox jumps over the lazy dog";
    world.write("a-very-telling-name", marker.repeat(2000));
    world.write("small-telling-name", marker);
    let (packed, _) = world.try_pack(&world.data(), OPTIONS).expect("packed");
    let mut stored: Vec<Vec<u8>> = world.store.chunks.lock().expect("not poisoned").values().cloned().collect();
    stored.push(packed.sealed.bytes);
    assert!(stored.len() >= 3);
    for chunk in &stored {
        for window in chunk.windows(12) {
            assert!(window != &marker[..12] && window != b"telling-name");
        }
    }
}

#[test]
fn two_accounts_share_nothing() {
    let (one, mut other) = (mixed(), mixed());
    other.keys = gleaner_data::seal::AccountSecret::from_bytes([6; 32]).keys();
    one.pack();
    other.pack();
    let ids = |world: &World| world.store.chunks.lock().expect("not poisoned").keys().copied().collect::<Vec<_>>();
    let of_one = ids(&one);
    assert!(ids(&other).iter().all(|id| !of_one.contains(id)));
}

#[test]
fn unpacking_goes_on_where_it_was_cut_short() {
    let mut world = mixed();
    let (packed, _) = world.pack();
    let out = world.home.path().join("out");
    for gets in [0, 5, 40, 170] {
        world.store = std::mem::take(&mut world.store).crash();
        world.store.gets_max = Some(gets);
        let error = world.try_unpack(&packed, &out, Case::Unknown).expect_err("cut short");
        assert!(matches!(error, unpack::Error::Source(_)), "{error}");
    }
    world.store.gets_max = None;
    let counts = world.try_unpack(&packed, &out, Case::Unknown).expect("unpacked");
    assert!(counts.present > 0, "{counts:?}");
    crate::world::assert_same(&crate::world::listing(&world.data()), &crate::world::listing(&out));
    let again = world.try_unpack(&packed, &out, Case::Unknown).expect("unpacked");
    assert_eq!((again.present, again.written_bytes), (again.files, 0));
}

#[test]
fn changed_files_in_the_target_are_put_right() {
    let world = mixed();
    let (packed, _) = world.pack();
    let out = world.check(&packed);
    std::fs::write(out.join("zz/words"), "changed").expect("written");
    std::fs::set_permissions(out.join("small/3/3"), PermissionsExt::from_mode(0o600)).expect("set");
    std::fs::remove_file(out.join("dangling")).expect("removed");
    let counts = world.try_unpack(&packed, &out, Case::Unknown).expect("unpacked");
    assert_eq!(counts.files - counts.present, 2);
    crate::world::assert_same(&crate::world::listing(&world.data()), &crate::world::listing(&out));
}

#[test]
fn a_damaged_or_exchanged_chunk_is_noticed() {
    let world = mixed();
    let (packed, _) = world.pack();
    let ids: Vec<_> = world.store.chunks.lock().expect("not poisoned").keys().copied().collect();
    for (number, id) in ids.iter().enumerate().step_by(10) {
        let before = world.store.chunks.lock().expect("not poisoned")[id].clone();
        let mut damaged = before.clone();
        match number % 3 {
            0 => damaged[number % before.len()] ^= 4,
            1 => damaged.push(0),
            _ => damaged.truncate(before.len() / 2),
        }
        world.store.chunks.lock().expect("not poisoned").insert(*id, damaged);
        let out = world.home.path().join(format!("damaged-{number}"));
        let error = world.try_unpack(&packed, &out, Case::Unknown).expect_err("noticed");
        assert!(matches!(error, unpack::Error::Chunk(_)), "{error}");
        world.store.chunks.lock().expect("not poisoned").insert(*id, before);
    }
    world.check(&packed);
}

#[test]
fn more_than_is_allowed_and_names_of_equal_letters_are_refused() {
    let world = World::new();
    world.write("folder/Name", "1");
    world.write("folder/name", "2");
    let (packed, _) = world.pack();
    let out = world.home.path().join("out");
    let error = world.try_unpack(&packed, &out, Case::Ignored).expect_err("refused");
    assert!(matches!(error, unpack::Error::Tree(tree::Error::Case { .. })), "{error}");
    let options = unpack::Options { threads: 1, case: Case::Told, bytes_max: 1 };
    let refused = unpack(&packed.root, &world.store, Path::new("/nowhere"), options, &Default::default());
    assert!(matches!(refused, Err(unpack::Error::Large { bytes: 2, bytes_max: 1 })));
}

#[test]
fn a_root_that_declares_too_little_is_refused_while_it_is_read() {
    let world = mixed();
    let (mut packed, _) = world.pack();
    packed.root.totals.stored_bytes -= 1;
    let error = world.try_unpack(&packed, &world.home.path().join("out"), Case::Unknown).expect_err("refused");
    assert!(matches!(error, unpack::Error::Manifest(_)), "{error}");
}
