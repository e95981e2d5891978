//! Pieces of a frame into one picture, and how two pictures differ.
//!
//! Tiles are copied: the merged picture has the bits that the pieces have. Ranges of samples are averaged by how many
//! samples each has, in double precision: within [`SAMPLES_TOLERANCE`] of the unsplit picture, since Cycles itself adds
//! up in single precision.
mod assemble;
mod compare;
mod picture;

pub use assemble::{Mismatch, frame, pieces};
pub use compare::{ChannelDifference, Difference, compare};
pub use picture::{BYTES_MAX, Error, Pass, Picture};

/// The most by which a picture that was merged from ranges of samples differs from the unsplit one, relative to the
/// larger of 1 and the value itself.
pub const SAMPLES_TOLERANCE: f32 = 5e-7;
