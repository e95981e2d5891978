//! What is rendered, cut into pieces, and the steps that a rendering is made of: pure, so that all who plan it plan alike.
//!
//! Knows nothing of engines or files. A piece is one frame, or one tile of it, or one range of its samples, or both.
mod cut;
mod frames;
mod product;
mod rate;
mod source;
mod step;
mod steps;

pub use cut::{Cut, PIECES_OF_FRAME_MAX, Piece, Refusal, SIDE_MAX, SampleRange, Size, Split, TILE_SIDE_MIN};
pub use frames::{FRAME_MAX, FRAME_MIN, FRAMES_MAX, Frames, FramesError};
pub use product::{Format, Video};
pub use rate::Rate;
pub use source::{DeviceChoice, NAME_BYTES_MAX, Renderer, Source, is_inside};
pub use step::{Facts, Film, Merge, PICTURES_FOLDER, PIECES_FOLDER, Render, Step, picture_file, piece_file};
pub use steps::{on_the_way_to, steps};
