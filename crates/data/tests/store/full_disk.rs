//! A disk that fills up: a small tmpfs in a mount namespace of the child's own.
use super::child;
use super::world::{Chance, KIB, chunk, holds};
use gleaner_data::store::{Chunk, Error, Store};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

const DISK: &str = "12m";

#[test]
fn a_full_disk_is_said_loses_nothing_and_ends_with_room() {
    let dir = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size={DISK} tmpfs \"$0\" && exec \"$@\"");
    let folder = dir.path().to_str().unwrap();
    let mut command: Vec<String> =
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &mount, folder].map(str::to_owned).to_vec();
    command.extend(child::arguments());
    let output = child::start(&command, "overfill", dir.path(), 0).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "needs user namespaces and tmpfs: {said}");
}

/// The child, on the small disk.
pub fn overfill(folder: &Path) {
    let folder = folder.join("store");
    let store = Store::open(&folder, 1 << 30).unwrap();
    let mut chance = Chance::new(3);
    let mut stored: Vec<Chunk> = Vec::new();
    let mut refusals = 0;
    for seed in 0.. {
        let batch: Vec<Chunk> =
            (0..8).map(|part| chunk(seed * 8 + part, KIB + usize::try_from(chance.below(80_000)).unwrap())).collect();
        match store.put(batch.clone()) {
            Ok(_) => stored.extend(batch),
            Err(error) => {
                assert!(matches!(error, Error::DiskFull), "{error}");
                assert!(error.to_string().contains("free some space"), "{error}");
                refusals += 1;
            }
        }
        if refusals == 10 {
            break;
        }
    }
    assert!(stored.len() > 100, "only {} chunks fitted", stored.len());
    fill_to_the_brim(&folder.join("ballast"));
    for seed in 0..20 {
        assert!(matches!(store.put(vec![chunk(1_000_000 + seed, 40_000)]), Err(Error::DiskFull)));
    }
    assert!(stored.iter().all(|chunk| holds(&store, chunk)), "a full disk loses nothing");
    let usage = store.usage();
    assert_eq!(usage.chunks, stored.len() as u64);

    // Opening on a full disk works too.
    drop(store);
    let store = Store::open(&folder, 1 << 30).unwrap();
    assert_eq!(store.usage(), usage);
    fs::remove_file(folder.join("ballast")).unwrap();
    store.put(vec![chunk(2_000_000, 1000)]).unwrap();
    let checked = store.check(|_| {}).unwrap();
    assert_eq!((checked.bad.len(), checked.orphans, checked.miscounted), (0, 0, 0), "{checked:?}");
    assert_eq!(checked.chunks, usage.chunks + 1);
}

fn fill_to_the_brim(path: &Path) {
    let mut file = File::create(path).unwrap();
    while file.write(&[1; 1024]).is_ok_and(|written| written > 0) {}
}
