//! How a frame is cut into pieces that cover it exactly, and which piece has which number.
use crate::Rect;
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::num::NonZeroU32;
use serde::{Deserialize, Serialize};

use super::step::{frame_file, frame_number};
use super::{Format, Frames};

/// The most pieces of one frame.
pub const PIECES_OF_FRAME_MAX: u32 = 4096;
/// The longest side of a picture that is cut.
pub const SIDE_MAX: u32 = 65_536;
/// The smallest side of a tile. Smaller ones cost more to start than to render.
pub const TILE_SIDE_MIN: u32 = 8;

/// How one frame is split; what is 1 is not split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = FrameSplit))]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Columns and rows of tiles.
    #[serde(default = "whole")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<u32>, min_items = 2, max_items = 2))]
    pub tiles: [NonZeroU32; 2],
    /// Ranges of samples.
    #[serde(default = "one")]
    #[cfg_attr(feature = "openapi", schema(value_type = u32, minimum = 1))]
    pub samples: NonZeroU32,
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

fn whole() -> [NonZeroU32; 2] {
    [NonZeroU32::MIN; 2]
}

impl Split {
    /// Pieces of each frame, at most `u32::MAX`.
    pub fn pieces(&self) -> u32 {
        self.tiles[0].get().saturating_mul(self.tiles[1].get()).saturating_mul(self.samples.get())
    }
}

impl Default for Split {
    fn default() -> Self {
        Self { tiles: whole(), samples: one() }
    }
}

/// What a frame of the scene is, as far as cutting is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Width in pixels, as rendered.
    pub width: u32,
    /// Height in pixels, as rendered.
    pub height: u32,
    /// Samples of each pixel.
    pub samples: u32,
}

/// Some of a frame's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleRange {
    /// The first, from 0.
    pub first: u32,
    /// How many; never 0.
    pub count: u32,
    /// How many the whole frame has.
    pub total: u32,
}

/// What one task renders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// The frame.
    pub frame: i32,
    /// The tile, counted from the top left; without one, the whole picture.
    pub tile: Option<Rect>,
    /// The samples; without a range, all of them.
    pub samples: Option<SampleRange>,
}

impl Piece {
    /// Whether it is all of its frame, so that nothing has to be merged.
    pub fn is_whole(&self) -> bool {
        self.tile.is_none() && self.samples.is_none()
    }

    /// The name of its file, given the format of whole frames.
    pub fn file(&self, format: Format) -> String {
        if self.is_whole() {
            frame_file(self.frame, format)
        } else {
            alloc::format!("{}.piece.exr", frame_number(self.frame))
        }
    }
}

/// Why frames cannot be cut as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The picture is empty or larger than anything that is rendered.
    #[error("a picture of {0} × {1} pixels cannot be split: sides are 1 to {SIDE_MAX} pixels")]
    Picture(u32, u32),
    /// Tiles would be too small.
    #[error("{0} tiles on a side of {1} pixels: a tile has at least {TILE_SIDE_MIN} pixels, so take at most {most}", most = (.1 / TILE_SIDE_MIN).max(1))]
    Tiles(u32, u32),
    /// There are not as many samples.
    #[error("{0} ranges of {1} samples: a range has at least one sample, so take at most {1}")]
    Samples(u32, u32),
    /// Too many pieces.
    #[error("a frame in {0} pieces is over the limit of {PIECES_OF_FRAME_MAX}")]
    Pieces(u64),
}

/// Frames and how each of them is cut. Pieces are numbered frame by frame, within a frame tile by tile and row by row,
/// within a tile range by range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    frames: Frames,
    split: Split,
    size: Size,
}

impl Cut {
    /// Cuts, or says why not.
    pub fn new(frames: Frames, split: Split, size: Size) -> Result<Self, Refusal> {
        let [columns, rows] = split.tiles.map(NonZeroU32::get);
        let samples = split.samples.get();
        let sides = 1..=SIDE_MAX;
        if !sides.contains(&size.width) || !sides.contains(&size.height) {
            return Err(Refusal::Picture(size.width, size.height));
        }
        for (parts, side) in [(columns, size.width), (rows, size.height)] {
            if parts > 1 && side / TILE_SIDE_MIN < parts {
                return Err(Refusal::Tiles(parts, side));
            }
        }
        if samples > 1 && samples > size.samples {
            return Err(Refusal::Samples(samples, size.samples));
        }
        // Tiles are at most SIDE_MAX / TILE_SIDE_MIN on a side, so this fits.
        let pieces = u64::from(columns) * u64::from(rows) * u64::from(samples);
        if pieces > u64::from(PIECES_OF_FRAME_MAX) {
            return Err(Refusal::Pieces(pieces));
        }
        Ok(Self { frames, split, size })
    }

    /// The frames.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// How each frame is split.
    pub fn split(&self) -> Split {
        self.split
    }

    /// What each frame is.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Pieces of each frame.
    pub fn pieces_of_frame(&self) -> u32 {
        self.split.tiles[0].get() * self.split.tiles[1].get() * self.split.samples.get()
    }

    /// All pieces.
    pub fn count(&self) -> u64 {
        self.frames.count() as u64 * u64::from(self.pieces_of_frame())
    }

    /// The piece with this number, from 0.
    pub fn piece(&self, index: u64) -> Option<Piece> {
        let each = u64::from(self.pieces_of_frame());
        let frame = self.frames.at(usize::try_from(index / each).ok()?)?;
        let within = u32::try_from(index % each).ok()?;
        let ranges = self.split.samples.get();
        Some(Piece { frame, tile: self.tile(within / ranges), samples: self.range(within % ranges) })
    }

    /// The pieces of the frame at this position, in their order.
    pub fn pieces_at(&self, frame: usize) -> impl Iterator<Item = Piece> + '_ {
        let each = u64::from(self.pieces_of_frame());
        let first = frame as u64 * each;
        (first..first + each).filter_map(|index| self.piece(index))
    }

    fn tile(&self, index: u32) -> Option<Rect> {
        let [columns, rows] = self.split.tiles.map(NonZeroU32::get);
        if columns * rows == 1 {
            return None;
        }
        let (x, right) = part(self.size.width, columns, index % columns);
        let (y, bottom) = part(self.size.height, rows, index / columns);
        Some(Rect { x, y, width: right - x, height: bottom - y })
    }

    fn range(&self, index: u32) -> Option<SampleRange> {
        let ranges = self.split.samples.get();
        if ranges == 1 {
            return None;
        }
        let (first, end) = part(self.size.samples, ranges, index);
        Some(SampleRange { first, count: end - first, total: self.size.samples })
    }
}

/// Beginning and end of one of `parts` nearly equal parts of a length.
fn part(length: u32, parts: u32, index: u32) -> (u32, u32) {
    let edge = |at: u32| (u64::from(length) * u64::from(at) / u64::from(parts)) as u32;
    (edge(index), edge(index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn split(columns: u32, rows: u32, samples: u32) -> Split {
        let number = |n| NonZeroU32::new(n).expect("not zero");
        Split { tiles: [number(columns), number(rows)], samples: number(samples) }
    }

    fn frames(text: &str) -> Frames {
        text.parse().expect("frames")
    }

    #[test]
    fn an_unsplit_frame_is_one_whole_piece() {
        let cut = Cut::new(frames("3,9"), Split::default(), Size { width: 1, height: 1, samples: 0 }).expect("cuts");
        assert_eq!(cut.count(), 2);
        assert_eq!(cut.piece(1), Some(Piece { frame: 9, tile: None, samples: None }));
        assert_eq!(cut.piece(2), None);
    }

    #[test]
    fn pieces_are_numbered_by_frame_then_tile_then_range() {
        let cut = Cut::new(frames("1-2"), split(2, 1, 2), Size { width: 20, height: 8, samples: 5 }).expect("cuts");
        let right = Rect { x: 10, y: 0, width: 10, height: 8 };
        assert_eq!(
            cut.piece(7),
            Some(Piece { frame: 2, tile: Some(right), samples: Some(SampleRange { first: 2, count: 3, total: 5 }) })
        );
        assert_eq!(cut.pieces_at(1).count(), 4);
    }

    #[test]
    fn cuts_that_leave_nothing_are_refused() {
        let size = Size { width: 64, height: 64, samples: 4 };
        let cut = |split| Cut::new(frames("1"), split, size);
        assert_eq!(cut(split(9, 1, 1)), Err(Refusal::Tiles(9, 64)));
        assert_eq!(cut(split(1, 1, 5)), Err(Refusal::Samples(5, 4)));
        let wide = Size { width: 65_536, height: 65_536, samples: 4 };
        assert!(matches!(Cut::new(frames("1"), split(8192, 8192, 4), wide), Err(Refusal::Pieces(_))));
        let none = Size { width: 0, height: 1, samples: 1 };
        assert_eq!(Cut::new(frames("1"), Split::default(), none), Err(Refusal::Picture(0, 1)));
    }

    #[cfg(feature = "std")]
    #[test]
    fn a_split_reads_as_in_a_job_file() {
        let read = |text| serde_json::from_str::<Split>(text);
        assert_eq!(read(r#"{"tiles":[2,3]}"#).expect("tiles"), split(2, 3, 1));
        assert_eq!(read(r#"{"samples":4}"#).expect("samples"), split(1, 1, 4));
        assert!(read(r#"{"tiles":[0,3]}"#).is_err());
        assert!(read(r#"{"tile":[1,3]}"#).is_err());
    }

    proptest! {
        #[test]
        fn pieces_cover_every_sample_of_every_pixel_once(
            width in 1..80u32, height in 1..80u32, samples in 1..12u32,
            columns in 1..6u32, rows in 1..6u32, ranges in 1..6u32,
        ) {
            let size = Size { width, height, samples };
            let Ok(cut) = Cut::new(frames("7"), split(columns, rows, ranges), size) else { return Ok(()) };
            let mut seen = vec![0u32; (width * height * samples) as usize];
            let pieces: Vec<Piece> = cut.pieces_at(0).collect();
            prop_assert_eq!(pieces.len() as u64, cut.count());
            for piece in pieces {
                let tile = piece.tile.unwrap_or(Rect { x: 0, y: 0, width, height });
                let range = piece.samples.unwrap_or(SampleRange { first: 0, count: samples, total: samples });
                prop_assert!(tile.width > 0 && tile.height > 0 && range.count > 0);
                for y in tile.y..tile.y + tile.height {
                    for x in tile.x..tile.x + tile.width {
                        for sample in range.first..range.first + range.count {
                            seen[((y * width + x) * samples + sample) as usize] += 1;
                        }
                    }
                }
            }
            prop_assert!(seen.iter().all(|count| *count == 1));
        }
    }
}
