//! A piece of a large file: what it should be, and whether an earlier try has written it.
//!
//! What is noted of a piece says which extents it is made of, and what was written for them, by their hashes. It is
//! believed only if the bytes on the disk still have that hash, so that neither a crash nor a power cut leaves wrong ones.
use std::sync::Arc;

use super::hand::LargeFile;
use crate::chunk::Extent;
use crate::tree::{Error, NOTE_BYTES};

const HALF: usize = NOTE_BYTES / 2;

/// A piece of a large file.
pub(super) struct Piece {
    pub(super) file: Arc<LargeFile>,
    /// How many pieces of the file come before it.
    number: u64,
    /// Where in the file it begins.
    pub(super) offset: u64,
    pub(super) extents: Vec<Extent>,
    made_of: [u8; HALF],
    /// What an earlier try says to have written for the same extents.
    written: Option<[u8; HALF]>,
}

impl Piece {
    pub(super) fn new(file: Arc<LargeFile>, number: u64, offset: u64, extents: Vec<Extent>) -> Self {
        let made_of = half(blake3::Hasher::new().update(&describe(number, offset, &extents)));
        let written = file.part.noted(number).and_then(|note| {
            let (extents, written) = note.split_at(HALF);
            if extents == made_of { written.try_into().ok() } else { None }
        });
        Self { file, number, offset, extents, made_of, written }
    }

    /// Whether an earlier try says to have written it.
    pub(super) fn is_noted(&self) -> bool {
        self.written.is_some()
    }

    /// Whether an earlier try has written it, and it still is as it should be; how many bytes that are.
    pub(super) fn kept(&self) -> Option<u64> {
        let (expected, mut hasher, mut bytes) = (self.written?, blake3::Hasher::new(), 0);
        let (mut offset, mut buffer) = (self.offset, Vec::new());
        for extent in &self.extents {
            if let Extent::Data { bytes: length, .. } = extent {
                buffer.resize(*length as usize, 0);
                self.file.part.read(&mut buffer, offset).ok()?;
                hasher.update(&buffer);
                bytes += u64::from(*length);
            }
            offset += extent.bytes();
        }
        (half(&hasher) == expected).then_some(bytes)
    }

    /// Notes that all of it is written; `written` has hashed the bytes of its extents.
    pub(super) fn note(&self, written: &blake3::Hasher) -> Result<(), Error> {
        let mut note = [0; NOTE_BYTES];
        note[..HALF].copy_from_slice(&self.made_of);
        note[HALF..].copy_from_slice(&half(written));
        self.file.part.note(self.number, &note)
    }
}

fn half(hasher: &blake3::Hasher) -> [u8; HALF] {
    let mut half = [0; HALF];
    half.copy_from_slice(&hasher.finalize().as_bytes()[..HALF]);
    half
}

fn describe(number: u64, offset: u64, extents: &[Extent]) -> Vec<u8> {
    let mut text = [number.to_le_bytes(), offset.to_le_bytes()].concat();
    for extent in extents {
        match extent {
            Extent::Hole { bytes } => {
                text.push(0);
                text.extend_from_slice(&bytes.to_le_bytes());
            }
            Extent::Data { chunk, offset, bytes } => {
                text.push(1);
                text.extend_from_slice(&chunk.id.0);
                text.extend_from_slice(&[offset.to_le_bytes(), bytes.to_le_bytes()].concat());
            }
        }
    }
    text
}
