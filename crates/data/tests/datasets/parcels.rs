//! What tasks have written, packed and unpacked again.
use gleaner_data::parcel::{self, File};
use gleaner_data::seal::AccountSecret;
use gleaner_data::tree::Case;
use gleaner_data::{measure, unpack};
use gleaner_wire::Hash;

use crate::world::Store;

fn files() -> Vec<(String, Vec<u8>)> {
    let mut files = vec![
        ("b.txt".to_owned(), b"one".to_vec()),
        ("a/deep/er".to_owned(), measure::noise(1, 700_000)),
        ("a/x".to_owned(), measure::words(2, 300_000)),
        ("a.txt".to_owned(), Vec::new()),
        ("a/again".to_owned(), measure::noise(1, 700_000)),
    ];
    files.extend((0..500).map(|number| (format!("many/{number}"), format!("file {number}").into_bytes())));
    files
}

fn packed(store: &Store, files: &[(String, Vec<u8>)]) -> parcel::Packed {
    let keys = AccountSecret::from_bytes([3; 32]).keys();
    let file = |(path, content): &(String, Vec<u8>)| File {
        path: path.clone(),
        bytes: content.len() as u64,
        content: std::io::Cursor::new(content.clone()),
    };
    parcel::pack(&keys, files.iter().map(file).collect(), store).expect("packed")
}

#[test]
fn files_come_out_as_they_went_in() {
    let (store, files, out) = (Store::default(), files(), tempfile::tempdir().expect("a folder"));
    let packed = packed(&store, &files);
    let options = unpack::Options { threads: 2, case: Case::Told, bytes_max: u64::MAX };
    let totals = unpack(&packed.root, &store, out.path(), options, &unpack::Progress::default());
    assert_eq!(totals.expect("unpacked").bytes, files.iter().map(|(_, content)| content.len() as u64).sum::<u64>());
    for (path, content) in &files {
        assert!(std::fs::read(out.path().join(path)).expect("is there") == *content, "{path}");
    }
}

#[test]
fn the_list_of_chunks_is_all_that_is_stored_and_repeats_are_stored_once() {
    let store = Store::default();
    let packed = packed(&store, &files());
    let mut listed = packed.chunks.clone();
    let mut stored: Vec<Hash> = store.chunks.lock().expect("not poisoned").keys().copied().collect();
    listed.sort();
    stored.sort();
    assert_eq!(listed, stored);
    assert_eq!(packed.chunks[0], packed.sealed.id(), "the root is first");
    assert_eq!(store.bytes(), packed.sealed_bytes);
    assert!(packed.sealed_bytes < 1_250_000, "noise does not shrink, and is there twice: {}", packed.sealed_bytes);
}

#[test]
fn equal_results_are_equal_in_whatever_order_they_were_written() {
    let (mut backwards, store) = (files(), Store::default());
    backwards.reverse();
    assert_eq!(packed(&store, &files()).sealed.blob, packed(&Store::default(), &backwards).sealed.blob);
    backwards[7].1[0] ^= 1;
    assert_ne!(packed(&store, &files()).sealed.blob, packed(&Store::default(), &backwards).sealed.blob);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let keys = AccountSecret::from_bytes([3; 32]).keys();
    for path in ["", "../x", "a/../b", "/etc", "a//b", "a/"] {
        let file = File { path: path.to_owned(), bytes: 1, content: &b"x"[..] };
        assert!(parcel::pack(&keys, vec![file], &Store::default()).is_err(), "{path}");
    }
    let twice = ["a", "a/b"].map(|path| File { path: path.to_owned(), bytes: 1, content: &b"x"[..] });
    assert!(parcel::pack(&keys, twice.into(), &Store::default()).is_err());
}
