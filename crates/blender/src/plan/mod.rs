//! What is rendered, cut into pieces: pure, so that the hub and the requester plan alike.
//!
//! Knows nothing of engines or files. A piece is one frame, or one tile of it, or one range of its samples, or both.
mod cut;
mod frames;
mod product;

pub use cut::{Cut, Piece, Refusal, SampleRange, Size, Split};
pub use frames::{FRAME_MAX, FRAME_MIN, FRAMES_MAX, Frames, FramesError};
pub use product::{Format, Video};
