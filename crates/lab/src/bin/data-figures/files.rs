//! What is moved: the same bytes in every run.
use anyhow::{Context, Result};
use clap::ValueEnum;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

/// One mebibyte.
pub const MIB: u64 = 1 << 20;
const SMALL_BYTES_MIN: u64 = 100;
const SMALL_BYTES_MAX: u64 = 8192;
const SMALL_FILES_A_FOLDER: u64 = 500;
const BLOCK_BYTES: u64 = MIB;
const WORDS: u64 = 20_000;

/// How large datasets are.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Mebibytes of those that are one file.
    pub mib: u64,
    /// Files of the others.
    pub files: u64,
}

/// A dataset of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Data {
    /// One file that cannot be squeezed.
    Random,
    /// One file of words.
    Text,
    /// Many small files of words.
    Small,
}

impl Data {
    /// Its name on the disk.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random.bin",
            Self::Text => "text.txt",
            Self::Small => "small",
        }
    }

    /// Whether it is a folder.
    pub fn is_folder(self) -> bool {
        self == Self::Small
    }

    /// What it is, in words.
    pub fn title(self, sizes: Sizes) -> String {
        match self {
            Self::Random => format!("{} MiB random", sizes.mib),
            Self::Text => format!("{} MiB text", sizes.mib),
            Self::Small => format!("{} small files", sizes.files),
        }
    }

    /// Writes it below this folder; its size.
    pub fn write(self, folder: &Path, sizes: Sizes) -> Result<u64> {
        let path = folder.join(self.name());
        match self {
            Self::Random => blocks(&path, sizes.mib * MIB, |block| noise(block, BLOCK_BYTES)),
            Self::Text => {
                let words = Words::new();
                blocks(&path, sizes.mib * MIB, |block| words.text(block, BLOCK_BYTES))
            }
            Self::Small => small(&path, sizes.files),
        }
        .with_context(|| format!("writing {}", path.display()))
    }
}

fn blocks(path: &Path, bytes: u64, block: impl Fn(u64) -> Vec<u8>) -> Result<u64> {
    let mut file = BufWriter::new(fs::File::create(path)?);
    for number in 0..bytes / BLOCK_BYTES {
        file.write_all(&block(number))?;
    }
    file.flush()?;
    Ok(bytes)
}

fn small(folder: &Path, count: u64) -> Result<u64> {
    let (words, mut chance, mut total) = (Words::new(), Chance(11), 0);
    for number in 0..count {
        let below = folder.join(format!("part-{:03}", number / SMALL_FILES_A_FOLDER));
        if number % SMALL_FILES_A_FOLDER == 0 {
            fs::create_dir_all(&below)?;
        }
        let bytes = SMALL_BYTES_MIN + chance.below(SMALL_BYTES_MAX - SMALL_BYTES_MIN + 1);
        fs::write(below.join(format!("{number:06}.txt")), words.text(number ^ 0xabcd_0000, bytes))?;
        total += bytes;
    }
    Ok(total)
}

/// Bytes without any pattern.
pub fn noise(seed: u64, bytes: u64) -> Vec<u8> {
    gleaner_data::measure::noise(seed, bytes as usize)
}

/// Chance that is the same in every run.
pub struct Chance(pub u64);

impl Chance {
    /// The next number, evenly spread.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Words of which some are said much more often than others, as in what people write.
struct Words(Vec<String>);

impl Words {
    fn new() -> Self {
        let mut chance = Chance(3);
        let letter = |chance: &mut Chance, of: &[u8]| char::from(of[chance.below(of.len() as u64) as usize]);
        let mut word = || {
            let syllables = 1 + chance.below(4);
            let syllable = |_| {
                let first = letter(&mut chance, b"bcdfghklmnprstvw");
                [first, letter(&mut chance, b"aeiou"), letter(&mut chance, b"nrslt")]
            };
            (0..syllables).flat_map(syllable).collect::<String>()
        };
        Self((0..WORDS).map(|_| word()).collect())
    }

    fn text(&self, seed: u64, bytes: u64) -> Vec<u8> {
        let (mut chance, mut text) = (Chance(seed), Vec::with_capacity(bytes as usize + 16));
        while (text.len() as u64) < bytes {
            // The product of even chances favours the front of the list; zstd leaves a third of such text.
            let place = chance.below(WORDS) * chance.below(WORDS) / WORDS * chance.below(WORDS) / WORDS;
            text.extend_from_slice(self.0[place as usize].as_bytes());
            text.push(if chance.below(12) == 0 { b'\n' } else { b' ' });
        }
        text.truncate(bytes as usize);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_moved_is_the_same_in_every_run() {
        let (words, again) = (Words::new(), Words::new());
        assert_eq!(words.text(1, 5000), again.text(1, 5000));
        assert_ne!(words.text(1, 5000), words.text(2, 5000));
        assert_eq!(words.text(3, 101).len(), 101);
    }
}
