//! Puts the pieces of a frame together.
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::picture::{BYTES_MAX, Error, Picture};
use crate::plan::{Cut, Piece, SampleRange, Size};
use gleaner_wire::Rect;

/// Why pieces do not make a frame.
#[derive(Debug, thiserror::Error)]
pub enum Mismatch {
    /// A piece cannot be read.
    #[error(transparent)]
    Picture(#[from] Error),
    /// There are not as many files as pieces.
    #[error("{files} files for a frame of {pieces} pieces")]
    Count {
        /// Files given.
        files: usize,
        /// Pieces expected.
        pieces: usize,
    },
    /// A piece is not as large as it should be.
    #[error("piece {piece} has {width} × {height} pixels and should have {wanted_width} × {wanted_height}")]
    Size {
        /// Its number within the frame.
        piece: usize,
        /// Its width.
        width: u32,
        /// Its height.
        height: u32,
        /// The width it should have.
        wanted_width: u32,
        /// The height it should have.
        wanted_height: u32,
    },
    /// Pieces do not have the same channels.
    #[error("piece {0} has other channels than the first one")]
    Channels(usize),
    /// Pieces are outside the frame, or too many or too few.
    #[error("the pieces do not cover the frame exactly")]
    Cover,
    /// The whole would be too large.
    #[error("the merged picture would be over the limit of {BYTES_MAX} bytes")]
    TooLarge,
}

/// The frame at a position of the plan, out of the files of its pieces in the plan's order.
pub fn frame<P: AsRef<Path>>(cut: &Cut, frame: usize, files: &[P]) -> Result<Picture, Mismatch> {
    pieces(cut.size(), &cut.pieces_at(frame).collect::<Vec<_>>(), files)
}

/// A frame out of its pieces and their files in the same order. One piece is in memory at a time.
pub fn pieces<P: AsRef<Path>>(size: Size, pieces: &[Piece], files: &[P]) -> Result<Picture, Mismatch> {
    if files.len() != pieces.len() {
        return Err(Mismatch::Count { files: files.len(), pieces: pieces.len() });
    }
    if !is_covered(size, pieces) {
        return Err(Mismatch::Cover);
    }
    let mut canvas: Option<Canvas> = None;
    for (number, (piece, file)) in pieces.iter().zip(files).enumerate() {
        let picture = Picture::read(file.as_ref())?;
        let canvas = match &mut canvas {
            Some(canvas) => canvas,
            None => canvas.insert(Canvas::new(size, piece.samples.is_some(), &picture)?),
        };
        canvas.add(number, piece, &picture)?;
    }
    let canvas = canvas.expect("a frame has at least one piece");
    Ok(canvas.finish())
}

/// Whether pieces are inside the frame, all of one kind, and together have as many samples of pixels as it has.
fn is_covered(size: Size, pieces: &[Piece]) -> bool {
    let whole = Rect { x: 0, y: 0, width: size.width, height: size.height };
    let all = SampleRange { first: 0, count: size.samples.max(1), total: size.samples.max(1) };
    let ranges = pieces.first().is_some_and(|piece| piece.samples.is_some());
    let mut covered = 0_u128;
    for piece in pieces {
        let (tile, range) = (piece.tile.unwrap_or(whole), piece.samples.unwrap_or(all));
        let inside = |at: u32, length: u32, side| length > 0 && u64::from(at) + u64::from(length) <= u64::from(side);
        let sound = inside(tile.x, tile.width, size.width) && inside(tile.y, tile.height, size.height);
        if !sound || !inside(range.first, range.count, all.total) || piece.samples.is_some() != ranges {
            return false;
        }
        covered += u128::from(tile.width) * u128::from(tile.height) * u128::from(range.count);
    }
    covered == u128::from(size.width) * u128::from(size.height) * u128::from(all.total)
}

/// What has been put together so far.
struct Canvas {
    size: Size,
    light: Light,
}

/// Copies stay in single precision, so that bits are kept, and memory as well.
enum Light {
    Copied(BTreeMap<String, Vec<f32>>),
    Summed(BTreeMap<String, Vec<f64>>),
}

impl Canvas {
    fn new(size: Size, summed: bool, first: &Picture) -> Result<Self, Mismatch> {
        let pixels = u64::from(size.width) * u64::from(size.height);
        let bytes = pixels.saturating_mul(if summed { 8 } else { 4 }).saturating_mul(first.channels().len() as u64);
        if bytes > BYTES_MAX {
            return Err(Mismatch::TooLarge);
        }
        let pixels = pixels as usize;
        let names = first.channels().keys().cloned();
        let light = if summed {
            Light::Summed(names.map(|name| (name, vec![0.0; pixels])).collect())
        } else {
            Light::Copied(names.map(|name| (name, vec![0.0; pixels])).collect())
        };
        Ok(Self { size, light })
    }

    fn add(&mut self, number: usize, piece: &Piece, picture: &Picture) -> Result<(), Mismatch> {
        let whole = Rect { x: 0, y: 0, width: self.size.width, height: self.size.height };
        let tile = piece.tile.unwrap_or(whole);
        let (width, height) = (picture.width(), picture.height());
        if (width, height) != (tile.width, tile.height) {
            let (wanted_width, wanted_height) = (tile.width, tile.height);
            return Err(Mismatch::Size { piece: number, width, height, wanted_width, wanted_height });
        }
        let known = match &self.light {
            Light::Copied(channels) => channels.keys().eq(picture.channels().keys()),
            Light::Summed(channels) => channels.keys().eq(picture.channels().keys()),
        };
        if !known {
            return Err(Mismatch::Channels(number));
        }
        let weight = f64::from(piece.samples.map_or(1, |range| range.count));
        for (to, from) in rows(tile, self.size.width) {
            self.light.add(to, from, weight, picture);
        }
        Ok(())
    }

    fn finish(self) -> Picture {
        let channels = match self.light {
            Light::Copied(channels) => channels,
            Light::Summed(sums) => {
                let total = f64::from(self.size.samples);
                let mean = |sum: Vec<f64>| sum.into_iter().map(|value| (value / total) as f32).collect();
                sums.into_iter().map(|(name, sum)| (name, mean(sum))).collect()
            }
        };
        Picture::new(self.size.width, self.size.height, channels)
    }
}

impl Light {
    /// Takes one row of a piece into every channel; both have the same channels.
    fn add(&mut self, to: Range<usize>, from: Range<usize>, weight: f64, picture: &Picture) {
        match self {
            Self::Copied(channels) => {
                for (canvas, values) in channels.values_mut().zip(picture.channels().values()) {
                    canvas[to.clone()].copy_from_slice(&values[from.clone()]);
                }
            }
            Self::Summed(channels) => {
                for (canvas, values) in channels.values_mut().zip(picture.channels().values()) {
                    for (sum, value) in canvas[to.clone()].iter_mut().zip(&values[from.clone()]) {
                        *sum += weight * f64::from(*value);
                    }
                }
            }
        }
    }
}

/// Where each row of a tile goes in the whole, and where it is in the tile.
fn rows(tile: Rect, width: u32) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let wide = tile.width as usize;
    (0..tile.height as usize).map(move |row| {
        let to = (tile.y as usize + row) * width as usize + tile.x as usize;
        (to..to + wide, row * wide..(row + 1) * wide)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Frames, Split};
    use std::num::NonZeroU32;
    use std::path::PathBuf;

    const SIZE: Size = Size { width: 20, height: 17, samples: 5 };

    fn cut(columns: u32, rows: u32, samples: u32) -> Cut {
        let number = |n| NonZeroU32::new(n).expect("not zero");
        let split = Split { tiles: [number(columns), number(rows)], samples: number(samples) };
        Cut::new(Frames::one(1), split, SIZE).expect("cuts")
    }

    /// The light of one sample of one pixel.
    fn light(x: u32, y: u32, sample: u32) -> f32 {
        ((x * 7 + y * 13 + sample * 29) % 31) as f32 / 31.0
    }

    fn mean(x: u32, y: u32, first: u32, count: u32) -> f32 {
        ((first..first + count).map(|s| f64::from(light(x, y, s))).sum::<f64>() / f64::from(count)) as f32
    }

    fn write(folder: &Path, cut: &Cut) -> Vec<PathBuf> {
        let files = cut.pieces_at(0).enumerate().map(|(number, piece)| {
            let tile = piece.tile.unwrap_or(Rect { x: 0, y: 0, width: SIZE.width, height: SIZE.height });
            let (first, count) = piece.samples.map_or((0, SIZE.samples), |range| (range.first, range.count));
            let values = (tile.y..tile.y + tile.height)
                .flat_map(|y| (tile.x..tile.x + tile.width).map(move |x| mean(x, y, first, count)))
                .collect();
            let path = folder.join(format!("{number}.exr"));
            Picture::new(tile.width, tile.height, [("V.Combined.R".into(), values)].into())
                .write(&path)
                .expect("writes");
            path
        });
        files.collect()
    }

    fn merged(cut: &Cut) -> Vec<f32> {
        let folder = tempfile::tempdir().expect("a folder");
        let files = write(folder.path(), cut);
        frame(cut, 0, &files).expect("merges").channels()["V.Combined.R"].clone()
    }

    #[test]
    fn tiles_are_copied_bit_for_bit() {
        let whole = merged(&cut(1, 1, 1));
        assert_eq!(merged(&cut(2, 2, 1)), whole);
        assert_eq!(merged(&cut(1, 2, 1)), whole);
    }

    #[test]
    fn uneven_ranges_are_weighed_by_their_samples() {
        let whole = merged(&cut(1, 1, 1));
        for split in [cut(1, 1, 2), cut(1, 1, 5), cut(2, 1, 3)] {
            let apart = merged(&split).iter().zip(&whole).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart <= super::super::SAMPLES_TOLERANCE, "{apart}");
        }
    }

    #[test]
    fn pieces_that_are_outside_or_do_not_cover_the_frame_are_refused_before_any_is_read() {
        let half = |x, width| Piece { frame: 1, tile: Some(Rect { x, y: 0, width, height: 17 }), samples: None };
        for list in [vec![half(0, 10)], vec![half(0, 10), half(11, 10)], vec![half(0, 10), half(u32::MAX, 10)], vec![]]
        {
            let files = vec!["/nonexistent"; list.len()];
            assert!(matches!(pieces(SIZE, &list, &files), Err(Mismatch::Cover)), "{list:?}");
        }
    }

    #[test]
    fn pieces_that_do_not_belong_together_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let cut = cut(2, 1, 1);
        let mut files = write(folder.path(), &cut);
        assert!(matches!(frame(&cut, 0, &files[..1]), Err(Mismatch::Count { files: 1, pieces: 2 })));
        let other = folder.path().join("other.exr");
        Picture::new(10, 17, [("V.Combined.G".into(), vec![0.0; 170])].into()).write(&other).expect("writes");
        files[1] = other.clone();
        assert!(matches!(frame(&cut, 0, &files), Err(Mismatch::Channels(1))));
        Picture::new(9, 17, [("V.Combined.R".into(), vec![0.0; 153])].into()).write(&other).expect("writes");
        assert!(matches!(frame(&cut, 0, &files), Err(Mismatch::Size { piece: 1, width: 9, .. })));
    }
}
