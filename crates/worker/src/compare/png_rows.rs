//! A PNG, row by row: of the largest picture no more than a few rows are in memory.
use png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Reader, Transformations};

use super::image::{Rows, Unreadable};
use super::pairs::{Input, open};
use crate::content::Content;

/// What a decoder may take for itself: rows, and what is written beside the picture.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// A PNG that is read.
pub struct PngRows<'a> {
    reader: Reader<Box<dyn Input + 'a>>,
    color: ColorType,
    depth: BitDepth,
}

impl<'a> PngRows<'a> {
    /// Opens one. Nothing, if it is interlaced or moves: its rows do not come one after the other, or are not all of it.
    pub fn open(content: &'a Content) -> Result<Option<Self>, Unreadable> {
        let mut decoder = Decoder::new_with_limits(open(content)?, Limits { bytes: BYTES_MAX });
        decoder.set_transformations(Transformations::EXPAND);
        let reader = decoder.read_info().map_err(unreadable)?;
        let info = reader.info();
        if info.interlaced || info.animation_control.is_some() {
            return Ok(None);
        }
        let (color, depth) = reader.output_color_type();
        Ok(Some(Self { reader, color, depth }))
    }
}

impl Rows for PngRows<'_> {
    fn size(&self) -> (u32, u32) {
        let info = self.reader.info();
        (info.width, info.height)
    }

    fn next(&mut self, row: &mut Vec<u16>) -> Result<(), Unreadable> {
        let (color, depth) = (self.color, self.depth);
        let found = self.reader.next_row().map_err(unreadable)?.ok_or(Unreadable::Broken)?;
        row.clear();
        match depth {
            BitDepth::Sixteen => {
                let values = found.data().chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
                spread(row, values, color);
            }
            // Fewer than eight bits have been made eight.
            BitDepth::Eight | BitDepth::Four | BitDepth::Two | BitDepth::One => {
                spread(row, found.data().iter().map(|byte| u16::from(*byte) * 257), color);
            }
        }
        Ok(())
    }
}

/// Every pixel gets its four channels.
fn spread(row: &mut Vec<u16>, mut values: impl Iterator<Item = u16>, color: ColorType) {
    match color {
        ColorType::Rgba => row.extend(values),
        ColorType::Rgb | ColorType::Indexed => {
            while let (Some(red), Some(green), Some(blue)) = (values.next(), values.next(), values.next()) {
                row.extend([red, green, blue, u16::MAX]);
            }
        }
        ColorType::GrayscaleAlpha => {
            while let (Some(grey), Some(alpha)) = (values.next(), values.next()) {
                row.extend([grey, grey, grey, alpha]);
            }
        }
        ColorType::Grayscale => row.extend(values.flat_map(|grey| [grey, grey, grey, u16::MAX])),
    }
}

fn unreadable(error: DecodingError) -> Unreadable {
    match error {
        DecodingError::IoError(error) => error.into(),
        DecodingError::Format(_) | DecodingError::Parameter(_) | DecodingError::LimitsExceeded => Unreadable::Broken,
    }
}
