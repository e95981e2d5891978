//! What one task does, complete in itself: this is what a task carries to its worker.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use super::{DeviceChoice, Format, Piece, Rate, Size, Source, Video};

/// Where a task finds the scene, pieces and pictures that it reads, inside its folder of inputs.
pub const PIECES_FOLDER: &str = "pieces";
/// Where a film's task finds its pictures, inside its folder of inputs.
pub const PICTURES_FOLDER: &str = "pictures";

/// What has to be known about a scene before its frames are cut; the step that looks at it delivers this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// What each frame is.
    pub size: Size,
    /// Frames a second; without one, there can be no film.
    pub rate: Option<Rate>,
}

/// What one task does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Says what a scene is and needs.
    Inspect(Source),
    /// Renders a frame or a piece of it.
    Render(Render),
    /// Makes a frame's picture out of its pieces.
    Merge(Merge),
    /// Makes a film out of pictures.
    Film(Film),
}

/// Renders a frame or a piece of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Render {
    /// The scene.
    pub source: Source,
    /// What of it.
    pub piece: Piece,
    /// What a whole frame's picture is; pieces are OpenEXR.
    pub format: Format,
    /// What computes it.
    pub device: DeviceChoice,
}

/// Makes a frame's picture out of its pieces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// The scene, whose denoiser, compositor and colours the picture goes through.
    pub source: Source,
    /// The frame.
    pub frame: i32,
    /// What the frame is.
    pub size: Size,
    /// The pieces; the file of each is [`piece_file`] of its position.
    pub pieces: Vec<Piece>,
    /// What the picture is.
    pub format: Format,
}

/// Makes a film out of pictures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Film {
    /// How many; the file of each is [`picture_file`] of its position.
    pub pictures: u32,
    /// How fast.
    pub rate: Rate,
    /// What the film is.
    pub video: Video,
}

impl Step {
    /// The name of the file that it leaves in its folder of outputs, and the only one.
    pub fn output(&self) -> String {
        match self {
            Self::Inspect(_) => "scene.json".into(),
            Self::Render(render) => render.piece.file(render.format),
            Self::Merge(merge) => frame_file(merge.frame, merge.format),
            Self::Film(film) => format!("film.{}", film.video.extension()),
        }
    }
}

/// Where the piece at this position of a frame is, inside the folder of inputs.
pub fn piece_file(position: usize) -> String {
    format!("{PIECES_FOLDER}/{position:04}.exr")
}

/// Where the picture at this position of a film is, inside the folder of inputs: numbers without gaps, whatever the
/// frames are.
pub fn picture_file(position: usize) -> String {
    format!("{PICTURES_FOLDER}/{position:06}.png")
}

/// The name of a frame's picture.
pub(super) fn frame_file(frame: i32, format: Format) -> String {
    format!("{}.{}", frame_number(frame), format.extension())
}

/// A frame's number, such that names sort as frames do where none is negative.
pub(super) fn frame_number(frame: i32) -> String {
    if frame < 0 { format!("-{:06}", frame.unsigned_abs()) } else { format!("{frame:06}") }
}
