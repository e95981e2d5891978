//! Squeezing: zstd for each chunk on its own, and nothing at all for what zstd cannot make smaller.
//!
//! Most of what is large is compressed already: pictures, models, videos. A look at a sample tells, so that no time
//! is lost on it. How hard to squeeze is a pure decision of [`policy`].
pub mod policy;
mod probe;

use std::fmt;
use std::io;

pub use policy::Level;
use probe::Memory;

/// What squeezing must save for its result to be taken, as a part of the chunk: less is not worth unsqueezing.
const SAVED_PART_MIN: usize = 32;

/// How a chunk is squeezed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    Raw,
    /// By zstd, at any level.
    Zstd,
}

impl Codec {
    /// How it is written inside a sealed chunk.
    pub fn byte(self) -> u8 {
        match self {
            Self::Raw => 0,
            Self::Zstd => 1,
        }
    }

    /// What this byte stands for.
    pub fn from_byte(byte: u8) -> Option<Self> {
        [Self::Raw, Self::Zstd].into_iter().find(|codec| codec.byte() == byte)
    }
}

/// A squeezed chunk, ready to be sealed: its body, then the byte of its codec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    bytes: Vec<u8>,
    codec: Codec,
    plain_bytes: u32,
}

impl Text {
    fn new(body: &[u8], codec: Codec, plain: &[u8]) -> Self {
        // The proof of wholeness is going to follow in the same memory.
        let mut bytes = Vec::with_capacity(body.len() + 1 + 16);
        bytes.extend_from_slice(body);
        bytes.push(codec.byte());
        Self { bytes, codec, plain_bytes: u32::try_from(plain.len()).expect("chunks are small") }
    }

    /// How it is squeezed.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// How large it is when unsqueezed.
    pub fn plain_bytes(&self) -> u32 {
        self.plain_bytes
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - 1]
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Squeezes chunks, one at a time. Each thread has its own.
pub struct Squeezer {
    level: Option<Level>,
    zstd: zstd::bulk::Compressor<'static>,
    quick: zstd::bulk::Compressor<'static>,
    scratch: Vec<u8>,
    memory: Memory,
}

impl fmt::Debug for Squeezer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Squeezer").field("level", &self.level).field("memory", &self.memory).finish_non_exhaustive()
    }
}

impl Squeezer {
    /// A squeezer of this level, or one that leaves everything alone.
    pub fn new(level: Option<Level>) -> io::Result<Self> {
        let number = level.unwrap_or(Level::QUICK).number();
        Ok(Self {
            level,
            zstd: zstd::bulk::Compressor::new(number)?,
            quick: zstd::bulk::Compressor::new(Level::QUICK.number())?,
            scratch: Vec::new(),
            memory: Memory::default(),
        })
    }

    /// Goes on with another level.
    pub fn set_level(&mut self, level: Option<Level>) -> io::Result<()> {
        if let Some(level) = level.filter(|level| Some(*level) != self.level) {
            self.zstd.set_compression_level(level.number())?;
        }
        self.level = level;
        Ok(())
    }

    /// Forgets what was learned about the stream before.
    pub fn start_stream(&mut self) {
        self.memory = Memory::default();
    }

    /// Squeezes a chunk as far as it is worth it.
    pub fn squeeze(&mut self, plain: &[u8]) -> Text {
        if self.level.is_none() {
            return Text::new(plain, Codec::Raw, plain);
        }
        let Self { zstd, quick, scratch, memory, .. } = self;
        if memory.is_hopeless(plain, |sample| squeeze_into(quick, sample, scratch, room(sample)).is_some()) {
            return Text::new(plain, Codec::Raw, plain);
        }
        match squeeze_into(zstd, plain, scratch, room(plain)) {
            Some(body) => Text::new(body, Codec::Zstd, plain),
            None => Text::new(plain, Codec::Raw, plain),
        }
    }
}

impl Squeezer {
    /// Squeezes a chunk without a look at whether it is worth it. Nothing, if it saves too little after all.
    pub(crate) fn squeeze_anyway(&mut self, plain: &[u8]) -> Option<Text> {
        self.level?;
        let body = squeeze_into(&mut self.zstd, plain, &mut self.scratch, room(plain))?;
        Some(Text::new(body, Codec::Zstd, plain))
    }
}

/// Below how many bytes squeezing was worth it.
fn room(plain: &[u8]) -> usize {
    (plain.len() - plain.len() / SAVED_PART_MIN).max(1)
}

/// What does not fit into `room` has not become smaller by enough.
fn squeeze_into<'a>(
    zstd: &mut zstd::bulk::Compressor<'static>,
    plain: &[u8],
    scratch: &'a mut Vec<u8>,
    room: usize,
) -> Option<&'a [u8]> {
    scratch.clear();
    scratch.reserve_exact(zstd::zstd_safe::compress_bound(plain.len()));
    let length = zstd.compress_to_buffer(plain, scratch).ok()?;
    (length < room).then(|| &scratch[..length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{noise, words};

    fn squeezer() -> Squeezer {
        Squeezer::new(Some(Level::new(3))).expect("set up")
    }

    #[test]
    fn text_is_squeezed_and_noise_is_left_alone() {
        let mut squeezer = squeezer();
        let text = squeezer.squeeze(&words(1, 64 << 10));
        assert_eq!(text.codec(), Codec::Zstd);
        assert!(text.body().len() < 32 << 10, "{}", text.body().len());
        assert_eq!(squeezer.squeeze(&noise(1, 64 << 10)).codec(), Codec::Raw);
    }

    #[test]
    fn text_after_much_noise_is_squeezed_again() {
        let mut squeezer = squeezer();
        for seed in 0..50 {
            assert_eq!(squeezer.squeeze(&noise(seed, 64 << 10)).codec(), Codec::Raw);
        }
        assert_eq!(squeezer.squeeze(&words(2, 64 << 10)).codec(), Codec::Zstd);
    }

    #[test]
    fn chunks_of_any_small_size_pass() {
        let mut squeezer = squeezer();
        for size in 0..300 {
            let plain = noise(9, size);
            let text = squeezer.squeeze(&plain);
            assert_eq!((text.plain_bytes() as usize, text.codec()), (size, Codec::Raw));
            assert_eq!(text.body(), plain);
        }
    }

    #[test]
    fn without_a_level_nothing_is_squeezed() {
        let text = Squeezer::new(None).expect("set up").squeeze(&words(1, 1000));
        assert_eq!((text.codec(), text.body()), (Codec::Raw, &words(1, 1000)[..]));
    }

    #[test]
    fn codecs_are_pinned() {
        assert_eq!(
            [Codec::from_byte(0), Codec::from_byte(1), Codec::from_byte(2)],
            [Some(Codec::Raw), Some(Codec::Zstd), None]
        );
    }
}
