//! How many elements a `[[task]]` stands for, and what each of them is: a number of a range or a tile of a grid.
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// A range of whole numbers, both ends included, written `"1..100000"` or `"0..90 step 10"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Each {
    first: u64,
    step: u64,
    count: u64,
}

/// Why a text is not a range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a range: write first..last, both included, such as \"1..100\" or \"0..90 step 10\"")]
pub struct EachError(String);

impl Each {
    /// The numbers from zero on, so many of them; at least one.
    pub fn first(count: u64) -> Self {
        Self { first: 0, step: 1, count: count.max(1) }
    }

    /// How many numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number at this position, from 0.
    pub fn value(&self, index: u32) -> u64 {
        self.first.saturating_add(self.step.saturating_mul(u64::from(index)))
    }
}

impl FromStr for Each {
    type Err = EachError;

    fn from_str(text: &str) -> Result<Self, EachError> {
        let refuse = || EachError(text.into());
        let number = |part: &str| part.trim().parse::<u64>().map_err(|_| refuse());
        let (range, step) = match text.split_once("step") {
            Some((range, step)) => (range, number(step)?),
            None => (text, 1),
        };
        let (first, last) = range.split_once("..").ok_or_else(refuse)?;
        let (first, last) = (number(first)?, number(last)?);
        if step == 0 || last < first || last == u64::MAX {
            return Err(refuse());
        }
        Ok(Self { first, step, count: (last - first) / step + 1 })
    }
}

impl fmt::Display for Each {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.first, self.first + self.step * (self.count - 1))?;
        if self.step == 1 { Ok(()) } else { write!(f, " step {}", self.step) }
    }
}

/// A rectangle of a picture, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rect {
    /// Left edge.
    pub x: u32,
    /// Top edge.
    pub y: u32,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

/// What the elements of a `[[task]]` are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Extent {
    /// One task.
    Single,
    /// One task for each number.
    Array(Each),
    /// One task for each tile of a grid, row by row; tiles at the right and bottom edge may be smaller.
    Tiles {
        /// Width of the whole.
        width: u32,
        /// Height of the whole.
        height: u32,
        /// Width of a tile.
        tile_width: u32,
        /// Height of a tile.
        tile_height: u32,
    },
}

impl Extent {
    /// How many elements.
    pub fn count(&self) -> u64 {
        match *self {
            Self::Single => 1,
            Self::Array(each) => each.count(),
            // A grid without a tile size comes only from outside; it has no elements.
            Self::Tiles { tile_width: 0, .. } | Self::Tiles { tile_height: 0, .. } => 0,
            Self::Tiles { width, height, tile_width, tile_height } => {
                u64::from(width.div_ceil(tile_width)) * u64::from(height.div_ceil(tile_height))
            }
        }
    }

    /// The tile at this position; `None` if the elements are not tiles or there is none.
    pub fn tile(&self, index: u32) -> Option<Rect> {
        let Self::Tiles { width, height, tile_width, tile_height } = *self else { return None };
        if u64::from(index) >= self.count() {
            return None;
        }
        let columns = width.div_ceil(tile_width);
        let (x, y) = (index % columns * tile_width, index / columns * tile_height);
        Some(Rect { x, y, width: tile_width.min(width - x), height: tile_height.min(height - y) })
    }

    /// The number that `{index}` stands for in the arguments of this element.
    pub fn value(&self, index: u32) -> u64 {
        match self {
            Self::Array(each) => each.value(index),
            Self::Single | Self::Tiles { .. } => u64::from(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_range_includes_both_ends() {
        let each: Each = "1..100000".parse().expect("a range");
        assert_eq!((each.count(), each.value(0), each.value(99_999)), (100_000, 1, 100_000));
        let each: Each = "0..95 step 10".parse().expect("a range");
        assert_eq!((each.count(), each.value(9), each.to_string().as_str()), (10, 90, "0..90 step 10"));
    }

    #[test]
    fn text_that_is_no_range_is_refused() {
        for text in ["", "1", "5..1", "1..x", "1..5 step 0", "0..18446744073709551615", "1...3"] {
            assert!(text.parse::<Each>().is_err(), "{text}");
        }
    }

    #[test]
    fn tiles_cover_the_picture_without_overlap() {
        let grid = Extent::Tiles { width: 10, height: 7, tile_width: 4, tile_height: 3 };
        let tiles = (0..grid.count() as u32).map(|index| grid.tile(index).expect("a tile"));
        assert_eq!(tiles.map(|tile| tile.width * tile.height).sum::<u32>(), 70);
        assert_eq!(grid.tile(8), Some(Rect { x: 8, y: 6, width: 2, height: 1 }));
    }
}
