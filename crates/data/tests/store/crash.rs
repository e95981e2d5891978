//! kill -9 at any moment: what was acknowledged is there, and nothing else is.
use super::child::{self, SAYS};
use super::world::{Chance, KIB, MIB, assert_counts_are_real, chunk};
use gleaner_data::store::{Chunk, Error, Options, Store, Verify};
use gleaner_wire::Hash;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

const KILLS: u64 = 30;
const LIMIT: u64 = 24 * MIB;
const THREADS: u64 = 3;

fn options() -> Options {
    Options { segment_bytes: 2 * MIB, ..Options::with_limit(LIMIT) }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{SAYS}{line}").unwrap();
    out.flush().unwrap();
}

/// The child: puts, pins, evicts, lets go and remembers until it is killed, and says what was acknowledged.
pub fn fill(folder: &Path, seed: u64) {
    let store = Store::open_with(folder, options()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || fill_alone(store, seed * THREADS + thread));
        }
    });
}

fn fill_alone(store: &Store, seed: u64) {
    let mut chance = Chance::new(seed);
    for round in 0.. {
        let length = |chance: &mut Chance| usize::try_from(chance.below(64)).unwrap() * KIB + 100;
        let batch: Vec<Chunk> =
            (0..1 + chance.below(8)).map(|_| chunk(chance.next() >> 1, length(&mut chance))).collect();
        let names: Vec<Hash> = batch.iter().map(|chunk| chunk.id).collect();
        let owner = format!("{seed}-{round}");
        let kept = round % 3 == 0;
        if kept {
            store.pin(&owner, &names).unwrap();
        }
        store.put(batch).unwrap();
        for id in names.iter().filter(|_| kept) {
            say(&format!("keeps {owner} {id}"));
        }
        if round % 5 == 4 {
            store.remember(Hash::of(owner.as_bytes()), names).unwrap();
        }
        // Each thread keeps the last ten batches that it pinned.
        if kept && round >= 30 {
            let old = format!("{seed}-{}", round - 30);
            say(&format!("drops {old}"));
            store.unpin(&old).unwrap();
        }
    }
}

#[test]
fn what_was_acknowledged_survives_kill_9_at_any_moment_and_nothing_is_left_over() {
    let dir = tempfile::tempdir().unwrap();
    let mut chance = Chance::new(7);
    let (mut acknowledged, mut evicting) = (0, 0);
    for kill in 0..KILLS {
        let kept = killed_at_random(dir.path(), kill, &mut chance);
        let store = Store::open_with(dir.path(), options()).unwrap();
        for (_, id) in &kept {
            let bytes = store.get(id, Verify::Here).unwrap();
            assert!(bytes.is_some_and(|bytes| Hash::of(&bytes) == *id), "{id} was acknowledged and is gone");
        }
        assert_counts_are_real(&store, dir.path());
        let usage = store.usage();
        assert!(usage.taken <= LIMIT && usage.damaged == 0, "{usage:?}");
        let checked = store.check(|_| {}).unwrap();
        assert_eq!((checked.bad.len(), checked.orphans, checked.miscounted), (0, 0, 0), "{checked:?}");
        assert_eq!((checked.chunks, checked.bytes), (usage.chunks, usage.bytes));
        acknowledged += kept.len();
        evicting += u64::from(usage.taken > LIMIT / 2);
        for (owner, _) in store.owners().unwrap() {
            store.unpin(&owner).unwrap();
        }
        assert_eq!(store.usage().pinned, 0);
    }
    assert!(
        acknowledged > 100 && evicting > KILLS / 2,
        "{acknowledged} acknowledged, {evicting} rounds with evictions"
    );
}

/// Runs a child and kills it; returns what it had acknowledged and not let go of, with owners.
fn killed_at_random(folder: &Path, seed: u64, chance: &mut Chance) -> BTreeSet<(String, Hash)> {
    let mut child = child::start(&child::arguments(), "fill", folder, seed);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains(SAYS) {
        assert!(out.read_line(&mut said).unwrap() > 0, "the child ended by itself: {said}");
    }
    // The moment is what the test is about, so there is no event to wait for.
    let reader = std::thread::spawn(move || {
        let mut rest = Vec::new();
        out.read_to_end(&mut rest).unwrap();
        rest
    });
    std::thread::sleep(Duration::from_micros(chance.below(400_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    said.push_str(&String::from_utf8(reader.join().unwrap()).unwrap());
    let mut kept = BTreeSet::new();
    let whole = said.rfind('\n').map_or("", |end| &said[..end]);
    for line in whole.lines().filter_map(|line| line.strip_prefix(SAYS)) {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["keeps", owner, id] => drop(kept.insert((owner.to_owned(), id.parse().unwrap()))),
            ["drops", owner] => kept.retain(|(name, _)| name != owner),
            _ => panic!("{line}"),
        }
    }
    kept
}

/// The child: opens the store and has it until its input ends.
pub fn hold(folder: &Path) {
    let _store = Store::open(folder, MIB).unwrap();
    say("open");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_second_process_is_refused_and_told_who_has_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = child::start(&child::arguments(), "hold", dir.path(), 0);
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(out.any(|line| line.unwrap().ends_with("open")));
    let Err(error) = Store::open(dir.path(), MIB) else { panic!("a second process got in") };
    assert!(matches!(&error, Error::Locked { pid, .. } if *pid == child.id().to_string()), "{error}");
    assert!(error.to_string().contains("stop that one first"), "{error}");
    drop(child.stdin.take());
    child.wait().unwrap();
    Store::open(dir.path(), MIB).unwrap();
}

/// A copy of a store as it lies on the disk, without it being closed.
fn copied(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        std::fs::copy(entry.path(), to.path().join(entry.file_name())).unwrap();
    }
    for folder in std::fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
        std::fs::create_dir(to.path().join(folder.file_name())).unwrap();
        for entry in std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
            std::fs::copy(entry.path(), to.path().join(folder.file_name()).join(entry.file_name())).unwrap();
        }
    }
    to
}

/// The file of the segment that was written last: they are named by their numbers.
fn last_segment(folder: &Path) -> std::path::PathBuf {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                found.push(path);
            }
        }
    }
    found.into_iter().max().unwrap()
}

#[test]
fn what_a_power_cut_takes_back_is_forgotten_and_what_was_flushed_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_with(dir.path(), options()).unwrap();
    let (safe, open) = ([chunk(1, 50_000), chunk(2, 50_000)], [chunk(3, 50_000), chunk(4, 50_000)]);
    store.put(safe.to_vec()).unwrap();
    store.flush().unwrap();
    store.put(open.to_vec()).unwrap();
    // The index got to the disk, and the last bytes did not.
    let cut = copied(dir.path());
    let file = std::fs::OpenOptions::new().write(true).open(last_segment(cut.path())).unwrap();
    let length = file.metadata().unwrap().len();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0; 50_000], length - 50_000).unwrap();
    let after = Store::open_with(cut.path(), options()).unwrap();
    let ids: Vec<Hash> = safe.iter().chain(&open).map(|chunk| chunk.id).collect();
    let held = after.has_many(&ids).unwrap();
    assert_eq!([0, 1, 2, 3].map(|number| held.contains(number)), [true, true, true, false]);
    assert_counts_are_real(&after, cut.path());
    let checked = after.check(|_| {}).unwrap();
    assert_eq!((checked.bad.len(), checked.orphans, checked.miscounted), (0, 0, 0), "{checked:?}");
    after.put(open.to_vec()).unwrap();
    assert!(after.get(&open[1].id, Verify::Here).unwrap().is_some());
}
