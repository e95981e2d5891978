//! What the tests share: chunks, clocks and a look at the disk itself.
use gleaner_data::store::{Chunk, Options, Store, Verify};
use gleaner_wire::Hash;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub const KIB: usize = 1024;
pub const MIB: u64 = 1024 * 1024;

/// Repeatable chance.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A chunk of this length that no other seed gives.
pub fn chunk(seed: u64, length: usize) -> Chunk {
    let mut chance = Chance::new(seed + 1);
    let mut bytes: Vec<u8> = std::iter::repeat_with(|| chance.next().to_le_bytes()).flatten().take(length).collect();
    for (byte, digit) in bytes.iter_mut().zip(seed.to_le_bytes()) {
        *byte = digit;
    }
    Chunk::of(bytes)
}

pub fn ids(chunks: &[Chunk]) -> Vec<Hash> {
    chunks.iter().map(|chunk| chunk.id).collect()
}

pub fn holds(store: &Store, chunk: &Chunk) -> bool {
    store.get(&chunk.id, Verify::Here).unwrap().is_some_and(|bytes| bytes == chunk.bytes)
}

/// Options with a clock that the test moves.
pub fn clocked(limit: u64) -> (Options, Arc<AtomicU64>) {
    let time = Arc::new(AtomicU64::new(1));
    let told = Arc::clone(&time);
    let clock = Arc::new(move || told.load(Ordering::Relaxed));
    (Options { clock, ..Options::with_limit(limit) }, time)
}

/// Files of segments, and the bytes of disk that they really take.
pub fn on_disk(folder: &Path) -> (u64, u64) {
    let entries = std::fs::read_dir(folder.join("segments")).unwrap();
    let taken: Vec<u64> = entries.map(|entry| entry.unwrap().metadata().unwrap().blocks() * 512).collect();
    (taken.len() as u64, taken.iter().sum())
}

/// Asserts that what the store says it takes is what it takes. File systems put lists of extents of a file with many
/// holes into a block of its own.
pub fn assert_counts_are_real(store: &Store, folder: &Path) {
    let (files, taken) = on_disk(folder);
    let told = store.usage().taken;
    assert!(told <= taken && taken <= told + files * 4096, "says {told}, takes {taken} in {files} files");
}
