//! How fast this machine cuts, hashes, squeezes and seals, each alone and all together, beside BLAKE3 alone in the same
//! run: the hash is the physical floor, since every byte has to be hashed.
use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

use crate::cut::Cutter;
use crate::delta::{Grain, Summer};
use crate::seal::{AccountSecret, Error, Keys};
use crate::squeeze::{Level, Squeezer};

/// Gigabytes a second of one core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speeds {
    /// BLAKE3 of the whole input at once, on one core.
    pub blake3: f64,
    /// Finding the cuts.
    pub cut: f64,
    /// The tags of the chunks.
    pub hash: f64,
    /// The sums of the blocks of the chunks.
    pub sums: f64,
    /// Squeezing.
    pub squeeze: f64,
    /// Encrypting, and the hashes of what comes out.
    pub seal: f64,
    /// Everything, one step after the other.
    pub together: f64,
    /// What is left of each byte, sealed.
    pub left: f64,
}

/// Measures on these bytes. They should be some tens of megabytes.
pub fn pipeline(bytes: &[u8], level: Option<Level>) -> Result<Speeds, Error> {
    let keys = AccountSecret::random()?.keys();
    let (cutter, summer) = (Cutter::new(keys.cut_seed), Summer::new(&keys));
    let mut squeezer = Squeezer::new(level).map_err(Error::Decompressor)?;
    let speed = |seconds: f64| bytes.len() as f64 / 1e9 / seconds;
    let (blake3, _) = timed(|| blake3::hash(bytes));
    let mut lengths = Vec::new();
    let (cut, ()) = timed(|| cutter.lengths(bytes, true, &mut lengths));
    let chunks = split(bytes, &lengths);
    let (hash, tags) = timed(|| chunks.iter().map(|chunk| keys.tag(chunk)).collect::<Vec<_>>());
    let (sums, _) = timed(|| chunks.iter().map(|chunk| summer.sums(Grain::Fine, chunk).len()).sum::<usize>());
    let (mut squeeze, mut seal, mut sealed) = (0.0, 0.0, 0);
    for (chunk, tag) in chunks.iter().zip(&tags) {
        let (seconds, text) = timed(|| squeezer.squeeze(chunk));
        squeeze += seconds;
        let (seconds, whole) = timed(|| keys.seal(tag, text));
        seal += seconds;
        sealed += whole.bytes.len();
    }
    let (together, _) = timed(|| all(bytes, &keys, &cutter, &summer, &mut squeezer));
    Ok(Speeds {
        blake3: speed(blake3),
        cut: speed(cut),
        hash: speed(hash),
        sums: speed(sums),
        squeeze: speed(squeeze),
        seal: speed(seal),
        together: speed(together),
        left: sealed as f64 / bytes.len() as f64,
    })
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = thread_seconds();
    let result = black_box(work());
    (thread_seconds() - start, result)
}

/// Processor time, which neighbours hardly change.
fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn split<'a>(bytes: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    lengths
        .iter()
        .map(|length| {
            let (chunk, after) = rest.split_at(*length);
            rest = after;
            chunk
        })
        .collect()
}

fn all(bytes: &[u8], keys: &Keys, cutter: &Cutter, summer: &Summer, squeezer: &mut Squeezer) -> usize {
    let (mut rest, mut sealed) = (bytes, 0);
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(cutter.first(rest));
        black_box(summer.sums(Grain::Fine, chunk));
        sealed += black_box(keys.seal(&keys.tag(chunk), squeezer.squeeze(chunk))).bytes.len();
        rest = after;
    }
    sealed
}

/// Bytes without any pattern, the same for the same seed.
pub fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// Bytes that squeeze about as well as written text, the same for the same seed.
pub fn words(seed: u64, size: usize) -> Vec<u8> {
    const SYLLABLES: [&str; 16] =
        ["ba", "chor", "den", "fi", "glea", "hu", "in", "jo", "ka", "lo", "mer", "ner", "o", "pa", "qui", "ran"];
    let mut bytes = Vec::with_capacity(size + 8);
    for chance in noise(seed, size / 2 + 1) {
        bytes.extend_from_slice(SYLLABLES[usize::from(chance & 15)].as_bytes());
        if chance >> 4 < 6 {
            bytes.push(b' ');
        }
        if bytes.len() >= size {
            break;
        }
    }
    bytes.resize(size, b'.');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_speed() {
        let speeds = pipeline(&words(1, 4 << 20), Some(Level::new(3))).expect("measured");
        let Speeds { blake3, cut, hash, sums, squeeze, seal, together, left } = speeds;
        assert!([blake3, cut, hash, sums, squeeze, seal, together].iter().all(|speed| *speed > 0.0), "{speeds:?}");
        assert!(left < 0.6, "{speeds:?}");
    }
}
