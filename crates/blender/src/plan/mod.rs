//! What is rendered, cut into pieces: pure, so that the hub and the requester plan alike.
//!
//! Knows nothing of engines or files. A piece is one frame, or one tile of it, or one range of its samples, or both. A
//! [`Request`] and the [`Facts`] of its scene make a [`Graph`], whose [`Task`]s carry a [`Step`] each.
mod cut;
mod frames;
mod graph;
mod product;
mod rate;
mod request;
mod step;

pub use cut::{Cut, PIECES_OF_FRAME_MAX, Piece, Refusal, SIDE_MAX, SampleRange, Size, Split, TILE_SIDE_MIN};
pub use frames::{FRAME_MAX, FRAME_MIN, FRAMES_MAX, Frames, FramesError};
pub use graph::{Facts, Graph, Task};
pub use product::{Format, Video};
pub use rate::Rate;
pub use request::{DeviceChoice, NAME_BYTES_MAX, Renderer, Request, Source, is_inside};
pub use step::{Film, Merge, PICTURES_FOLDER, PIECES_FOLDER, Render, Step, picture_file, piece_file};
