//! What a task delivers: pictures of a format, and perhaps a film.
#[cfg(feature = "openapi")]
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What the finished pictures are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PictureFormat))]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// PNG, in the scene's colours; with its own options if the scene writes PNG.
    #[default]
    Png,
    /// OpenEXR, linear light; with its own options if the scene writes it, 32 bits otherwise.
    Exr,
}

impl Format {
    /// The ending of a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Exr => "exr",
        }
    }
}

/// What the film is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VideoFormat))]
#[serde(rename_all = "snake_case")]
pub enum Video {
    /// H.264 in MP4, for everything.
    Mp4,
    /// VP9 in WebM, for browsers.
    Webm,
}

impl Video {
    /// The ending of a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Mp4 => "mp4",
            Self::Webm => "webm",
        }
    }
}
