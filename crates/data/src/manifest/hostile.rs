//! Manifests as they are written, and as somebody with bad intentions would write them.
use gleaner_wire::Hash;
use proptest::prelude::*;

use super::*;
use crate::chunk::{ChunkRef, Extent};
use crate::seal::ChunkKey;

fn name(text: &str) -> Name {
    Name::new(text.as_bytes().to_vec()).expect("a good name")
}

fn chunk(number: u64) -> ChunkRef {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&number.to_le_bytes());
    ChunkRef { id: Hash(id), key: ChunkKey::from_bytes([7; 32]), plain_bytes: 50_000, sealed_bytes: 40_000 }
}

fn data(number: u64, offset: u32, bytes: u32) -> Extent {
    Extent::Data { chunk: chunk(number), offset, bytes }
}

fn folder(depth: usize, text: &str) -> (Entry, Vec<Extent>) {
    (Entry { depth, name: name(text), kind: Kind::Folder { mode: 0o755 } }, Vec::new())
}

fn link(depth: usize, text: &str, target: &str) -> (Entry, Vec<Extent>) {
    (Entry { depth, name: name(text), kind: Kind::Link { target: target.into() } }, Vec::new())
}

fn file(depth: usize, text: &str, extents: Vec<Extent>) -> (Entry, Vec<Extent>) {
    let bytes = extents.iter().map(Extent::bytes).sum();
    let changed = Time { seconds: -5, nanoseconds: 999_999_999 };
    (Entry { depth, name: name(text), kind: Kind::File { mode: 0o644, changed, bytes } }, extents)
}

type Listing = Vec<(Entry, Vec<Extent>)>;

fn written(entries: &[(Entry, Vec<Extent>)]) -> Result<(Vec<u8>, Totals), Error> {
    let mut writer = Writer::new(Vec::new())?;
    for (entry, extents) in entries {
        writer.entry(entry)?;
        extents.iter().cloned().try_for_each(|extent| writer.extent(extent))?;
    }
    writer.finish()
}

fn read(bytes: &[u8], declared: Totals) -> Result<Listing, Error> {
    let mut reader = Reader::new(bytes, declared)?;
    let mut entries = Vec::new();
    while let Some(entry) = reader.entry()? {
        let mut extents = Vec::new();
        while let Some(extent) = reader.extent()? {
            extents.push(extent);
        }
        entries.push((entry, extents));
    }
    Ok(entries)
}

fn sample() -> Listing {
    vec![
        file(1, "a", vec![data(1, 0, 1000)]),
        folder(1, "b"),
        folder(2, "empty"),
        file(2, "sparse", vec![data(1, 1000, 49_000), Extent::Hole { bytes: 1 << 40 }, data(2, 5, 1)]),
        link(2, "up", "../a"),
        file(1, "b.c", vec![data(2, 6, 10), data(1, 0, 7)]),
        file(1, "nothing", vec![]),
    ]
}

#[test]
fn what_is_written_is_read() {
    let (bytes, totals) = written(&sample()).expect("written");
    assert_eq!(read(&bytes, totals).expect("read"), sample());
    assert_eq!(totals, Totals { entries: 7, bytes: (1 << 40) + 50_018, stored_bytes: 50_018 });
}

#[test]
fn the_encoding_is_pinned() {
    let (bytes, _) = written(&sample()).expect("written");
    assert_eq!(Hash::of(&bytes).to_string(), PINNED);
}

const PINNED: &str = "3679d89d7be5feb61f829f743e65b5447a8f66c2461c4c3696aa5226f11368b0";

#[test]
fn chunks_are_named_once() {
    let many = (0..1000).map(|number| file(1, &format!("{number:04}"), vec![data(1, number, 1)])).collect::<Vec<_>>();
    let (bytes, totals) = written(&many).expect("written");
    assert!(bytes.len() < 1000 * 25, "{}", bytes.len());
    assert_eq!(read(&bytes, totals).expect("read"), many);
}

#[test]
fn chunks_named_long_ago_are_named_again() {
    let extents: Vec<_> = (0..20_000_u64).map(|number| data(number * number % 6007, 0, 50_000)).collect();
    let many = vec![file(1, "a", extents)];
    let (bytes, totals) = written(&many).expect("written");
    assert_eq!(read(&bytes, totals).expect("read"), many);
}

#[test]
fn neighbouring_extents_become_one() {
    let split =
        vec![file(1, "a", vec![data(1, 0, 10), data(1, 10, 20), Extent::Hole { bytes: 5 }, Extent::Hole { bytes: 6 }])];
    let (bytes, totals) = written(&split).expect("written");
    let joined = vec![file(1, "a", vec![data(1, 0, 30), Extent::Hole { bytes: 11 }])];
    assert_eq!(read(&bytes, totals).expect("read"), joined);
}

#[test]
fn entries_that_clash_or_lie_nowhere_are_refused() {
    let (a, folder_a) = (|| file(1, "a", vec![]), || folder(1, "a"));
    let below_file = file(2, "b", vec![]);
    let bad: [Listing; 8] = [
        vec![a(), a()],
        vec![a(), folder_a()],
        vec![folder_a(), link(1, "a", "b")],
        vec![a(), below_file.clone()],
        vec![link(1, "a", "b"), below_file.clone()],
        vec![file(1, "b", vec![]), a()],
        vec![below_file.clone()],
        vec![folder_a(), below_file.clone(), below_file],
    ];
    for entries in bad {
        assert!(written(&entries).is_err(), "{entries:?}");
        let (bytes, totals) = forced(&entries);
        assert!(matches!(read(&bytes, totals), Err(Error::Refused(_))), "{entries:?}");
    }
}

/// Writes entries without the writer's checks of their order: each alone, its bytes one after the other.
fn forced(entries: &[(Entry, Vec<Extent>)]) -> (Vec<u8>, Totals) {
    let (mut bytes, mut sum) = ([&MAGIC[..], &[VERSION]].concat(), Totals::default());
    for (entry, extents) in entries {
        let alone = Entry { depth: 1, ..entry.clone() };
        let (mut one, totals) = written(&[(alone, extents.clone())]).expect("written");
        one[6] = entry.depth as u8;
        bytes.extend_from_slice(&one[5..one.len() - end_of(totals).len()]);
        sum.entries += totals.entries;
        sum.bytes += totals.bytes;
        sum.stored_bytes += totals.stored_bytes;
    }
    bytes.extend_from_slice(&end_of(sum));
    (bytes, sum)
}

fn end_of(totals: Totals) -> Vec<u8> {
    let mut bytes = vec![0];
    for number in [totals.entries, totals.bytes, totals.stored_bytes] {
        bytes::put_number(&mut bytes, number).expect("written");
    }
    bytes
}

#[test]
fn links_that_leave_are_refused() {
    for target in ["..", "/etc/passwd", "b/../..", ""] {
        let (bytes, totals) = forced(&[link(1, "a", target)]);
        assert!(read(&bytes, totals).is_err(), "{target}");
    }
}

#[test]
fn bad_names_are_refused() {
    let (bytes, totals) = written(&[file(1, "xx", vec![])]).expect("written");
    for bad in [b"..", b"a/", b"/a", b"a\0"] {
        let mut bytes = bytes.clone();
        bytes[8..10].copy_from_slice(bad);
        assert!(matches!(read(&bytes, totals), Err(Error::Name { .. })), "{bad:?}");
    }
}

#[test]
fn more_than_declared_is_refused_before_it_is_read() {
    let (bytes, totals) = written(&sample()).expect("written");
    for declared in [
        Totals { entries: totals.entries - 1, ..totals },
        Totals { bytes: totals.bytes - 1, ..totals },
        Totals { stored_bytes: totals.stored_bytes - 1, ..totals },
        Totals { entries: totals.entries + 1, ..totals },
        Totals { bytes: u64::MAX, ..totals },
    ] {
        assert!(matches!(read(&bytes, declared), Err(Error::Refused(_))), "{declared:?}");
    }
}

#[test]
fn extents_outside_of_their_chunk_or_too_many_are_refused() {
    for bad in [data(1, 50_000, 1), data(1, 49_999, 2), data(1, u32::MAX, 1)] {
        let (bytes, totals) = forced(&[file(1, "a", vec![bad])]);
        assert!(read(&bytes, totals).is_err());
    }
    let tiny = (0..200).map(|place| data(place % 7, 200 - place as u32, 1)).collect();
    assert!(written(&[file(1, "a", tiny)]).is_err());
}

#[test]
fn what_follows_the_end_and_other_versions_are_refused() {
    let (mut bytes, totals) = written(&sample()).expect("written");
    bytes.push(0);
    assert!(read(&bytes, totals).is_err());
    bytes[4] = 9;
    assert!(matches!(read(&bytes, totals), Err(Error::Version { found: 9 })));
    assert!(read(b"ELF", totals).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn damage_is_refused_or_harmless(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let (mut bytes, totals) = written(&sample()).expect("written");
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        check(&bytes, totals)?;
    }

    #[test]
    fn cut_off_manifests_are_refused(at: prop::sample::Index) {
        let (mut bytes, totals) = written(&sample()).expect("written");
        bytes.truncate(at.index(bytes.len()));
        prop_assert!(read(&bytes, totals).is_err());
    }

    #[test]
    fn noise_is_refused(mut bytes: Vec<u8>, entries in 0_u64..100, file_bytes: u64) {
        bytes.splice(0..0, [&MAGIC[..], &[VERSION]].concat());
        check(&bytes, Totals { entries, bytes: file_bytes, stored_bytes: file_bytes })?;
    }

    #[test]
    fn any_tree_comes_back(depths in prop::collection::vec((1_usize..6, 0_u8..3, 0_u32..100), 0..60)) {
        let mut entries: Listing = Vec::new();
        let mut deepest = 1;
        for (number, (depth, kind, size)) in depths.into_iter().enumerate() {
            let (depth, text) = (depth.min(deepest), format!("{number:05}"));
            let extents = if size == 0 { vec![] } else { vec![data(u64::from(size), size, size)] };
            entries.push(match kind {
                0 => folder(depth, &text),
                1 => file(depth, &text, extents),
                _ => link(depth, &text, "x"),
            });
            deepest = if kind == 0 { depth + 1 } else { depth };
        }
        let (bytes, totals) = written(&entries).expect("written");
        prop_assert_eq!(read(&bytes, totals).expect("read"), entries);
    }
}

/// Whatever is accepted keeps every rule.
fn check(bytes: &[u8], declared: Totals) -> Result<(), TestCaseError> {
    let Ok(entries) = read(bytes, declared) else { return Ok(()) };
    let mut sum = 0;
    for (entry, extents) in &entries {
        prop_assert!(Name::new(entry.name.as_bytes().to_vec()).is_ok());
        match &entry.kind {
            Kind::Folder { mode } => prop_assert!(*mode <= 0o777),
            Kind::File { bytes, .. } => {
                prop_assert_eq!(extents.iter().map(Extent::bytes).sum::<u64>(), *bytes);
                sum += bytes;
            }
            Kind::Link { target } => prop_assert!(check_target(entry.depth, target).is_ok()),
        }
    }
    prop_assert_eq!((entries.len() as u64, sum), (declared.entries, declared.bytes));
    let (again, totals) = written(&entries).expect("what is read can be written");
    prop_assert_eq!(totals, declared);
    prop_assert!(again.len() <= bytes.len());
    Ok(())
}
