//! How fast the store is beside a plain file on the same disk, in the same run.
use super::{CHUNK_BYTES_MAX, Chunk, Error, Store, Verify};
use bytes::Bytes;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::thread;
use std::time::Instant;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Bytes in all.
    pub bytes: u64,
    /// Bytes in a chunk.
    pub chunk_bytes: usize,
    /// Chunks in a call that puts.
    pub batch: usize,
    /// Threads that put, as connections to several peers do.
    pub threads: usize,
}

/// Chunks in a call that gets: about what one who sends them has in memory at a time.
const GET_BATCH: usize = 16;

/// Millions of bytes a second.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Writing a plain file from front to back, with one sync at the end.
    pub file_write: f64,
    /// Putting chunks, each call on disk when it returns.
    pub put: f64,
    /// Reading the plain file from front to back, from the system's cache.
    pub file_read: f64,
    /// Getting chunks, verified, from the system's cache.
    pub get: f64,
    /// Getting chunks that the receiver verifies.
    pub get_unverified: f64,
}

/// Puts and gets chunks of random bytes in a new store below this folder, and writes and reads a plain file beside it.
///
/// # Panics
/// If the load has no chunks, or chunks larger than a store takes.
pub fn measure(folder: &Path, load: Load) -> Result<Figures, Error> {
    assert!(
        load.batch > 0 && (1..=CHUNK_BYTES_MAX).contains(&load.chunk_bytes),
        "a load has chunks that a store takes"
    );
    let beside = folder.join("plain");
    fs::create_dir_all(folder).map_err(Error::file("make", folder))?;
    let chunks = chunks(load);
    let bytes: u64 = chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum();
    let file_write = rate(bytes, || write_file(&beside, &chunks).map_err(Error::file("write", &beside)))?;
    let file_read = rate(bytes, || read_file(&beside).map_err(Error::file("read", &beside)))?;
    let _ = fs::remove_file(&beside);
    let store = Store::open(&folder.join("store"), bytes * 2 + (1 << 20))?;
    let put = rate(bytes, || put_all(&store, &chunks, load))?;
    let get = rate(bytes, || get_all(&store, &chunks, Verify::Here))?;
    let get_unverified = rate(bytes, || get_all(&store, &chunks, Verify::ByReceiver))?;
    Ok(Figures { file_write, put, file_read, get, get_unverified })
}

fn rate(bytes: u64, work: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
    let begun = Instant::now();
    work()?;
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    Ok(bytes as f64 / 1e6 / begun.elapsed().as_secs_f64())
}

fn chunks(load: Load) -> Vec<Chunk> {
    let count = load.bytes.div_ceil(load.chunk_bytes as u64);
    // Pages of one random block in which the number of the chunk is written: making bytes is not what is measured.
    let mut bytes = vec![0; load.chunk_bytes];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for byte in &mut bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = state.to_le_bytes()[0];
    }
    let numbered = |number: u64| {
        let mut bytes = bytes.clone();
        bytes.iter_mut().zip(number.to_le_bytes()).for_each(|(byte, digit)| *byte ^= digit);
        Chunk::of(Bytes::from(bytes))
    };
    (0..count).map(numbered).collect()
}

fn write_file(path: &Path, chunks: &[Chunk]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    chunks.iter().try_for_each(|chunk| file.write_all(&chunk.bytes))?;
    file.sync_all()
}

fn read_file(path: &Path) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; CHUNK_BYTES_MAX];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}

fn put_all(store: &Store, chunks: &[Chunk], load: Load) -> Result<(), Error> {
    let put = |thread: usize| {
        let mut batches = chunks.chunks(load.batch).skip(thread).step_by(load.threads);
        batches.try_for_each(|batch| store.put(batch.to_vec()).map(|_| ()))
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..load.threads).map(|thread| scope.spawn(move || put(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a thread that puts does not panic"))
    })
}

fn get_all(store: &Store, chunks: &[Chunk], verify: Verify) -> Result<(), Error> {
    for batch in chunks.chunks(GET_BATCH) {
        let ids: Vec<_> = batch.iter().map(|chunk| chunk.id).collect();
        let found = store.get_many(&ids, verify)?;
        assert!(found.iter().all(Option::is_some), "what was put is there");
    }
    Ok(())
}
