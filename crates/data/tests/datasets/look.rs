//! Looking into a dataset without unpacking it.
use std::io::Cursor;
use std::os::unix::fs::FileExt;

use gleaner_data::measure::{noise, words};
use gleaner_data::parcel::{self, File};
use gleaner_data::seal::AccountSecret;
use gleaner_data::unpack;

use crate::world::{Store, World};

fn parcel(files: &[(&str, Vec<u8>)], store: &Store) -> parcel::Packed {
    let keys = AccountSecret::from_bytes([3; 32]).keys();
    let file = |(path, content): &(&str, Vec<u8>)| File {
        path: (*path).to_owned(),
        bytes: content.len() as u64,
        content: Cursor::new(content.clone()),
    };
    parcel::pack(&keys, files.iter().map(file).collect(), store).expect("packed")
}

#[test]
fn every_file_is_listed_and_each_reads_as_it_was_written() {
    let store = Store::default();
    let files = [
        ("a/deep/noise", noise(1, 700_000)),
        ("a/empty", Vec::new()),
        ("again", noise(1, 700_000)),
        ("b", words(2, 90)),
    ];
    let packed = parcel(&files, &store);
    let mut listed = Vec::new();
    let each = |file: &unpack::File<'_>| {
        listed.push((String::from_utf8_lossy(file.path).replace('\0', "/"), file.bytes));
        true
    };
    unpack::files(&packed.root, &store, each).expect("listed");
    let wanted: Vec<_> = files.iter().map(|(path, content)| ((*path).to_owned(), content.len() as u64)).collect();
    assert_eq!(listed, wanted);
    for (path, content) in &files {
        let mut read = Vec::new();
        let path = path.replace('/', "\0");
        let each = |bytes: &[u8]| {
            read.extend_from_slice(bytes);
            true
        };
        assert!(unpack::content(&packed.root, &store, path.as_bytes(), each).expect("read"));
        assert!(read == *content, "{path}");
    }
    assert!(!unpack::content(&packed.root, &store, b"a", |_| true).expect("looked"), "a folder is no file");
    assert!(!unpack::content(&packed.root, &store, b"c", |_| true).expect("looked"));
}

#[test]
fn who_has_seen_enough_gets_no_more() {
    let store = Store::default();
    let packed = parcel(&[("a", noise(1, 700_000)), ("b", words(2, 90))], &store);
    let mut seen = 0;
    unpack::content(&packed.root, &store, b"a", |bytes| {
        seen += bytes.len();
        false
    })
    .expect("read");
    assert!(seen > 0 && seen < 300_000, "{seen}");
    let mut files = 0;
    unpack::files(&packed.root, &store, |_| {
        files += 1;
        false
    })
    .expect("listed");
    assert_eq!(files, 1);
}

#[test]
fn holes_read_as_zeros() {
    let world = World::new();
    let path = world.write("sparse", "");
    let file = std::fs::File::options().write(true).open(&path).expect("opened");
    file.set_len(3 << 20).expect("sized");
    file.write_all_at(b"end", (3 << 20) - 3).expect("written");
    let (packed, _) = world.pack();
    let (mut bytes, mut last) = (0_u64, Vec::new());
    unpack::content(&packed.root, &world.store, b"sparse", |piece| {
        bytes += piece.len() as u64;
        last = piece[piece.len().saturating_sub(3)..].to_vec();
        true
    })
    .expect("read");
    assert_eq!((bytes, last), (3 << 20, b"end".to_vec()));
}

#[test]
fn a_chunk_that_is_missing_is_an_error() {
    let store = Store::default();
    let packed = parcel(&[("a", noise(1, 700_000))], &store);
    let gone = Store::default();
    assert!(matches!(
        unpack::content(&packed.root, &gone, b"a", |_| true),
        Err(unpack::Error::Source(_) | unpack::Error::Manifest(_))
    ));
}
