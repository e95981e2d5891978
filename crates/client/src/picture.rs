//! Tiles put together into one PNG.
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use gleaner_wire::Extent;

use crate::Error;
use crate::fetch::part_of;

/// The largest picture that is put together, in bytes of its pixels.
const PICTURE_BYTES_MAX: u64 = 1 << 30;
const BYTES_PER_PIXEL: u64 = 4;

/// A picture that is put together out of tiles as they come. What has not come is transparent.
#[derive(Clone, Debug)]
pub struct Canvas {
    extent: Extent,
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Canvas {
    /// An empty picture of these tiles; none if they are no tiles, or its pixels would take more than so many bytes.
    pub fn new(extent: Extent, bytes_max: u64) -> Option<Self> {
        let bytes = picture_bytes(&extent).filter(|bytes| *bytes <= bytes_max.min(PICTURE_BYTES_MAX))?;
        let Extent::Tiles { width, height, .. } = extent else { return None };
        let pixels = vec![0; usize::try_from(bytes).ok()?];
        Some(Self { extent, width, height, pixels })
    }

    /// How many bytes the tile at this position has, if there is a picture of these tiles whose pixels take at most so many.
    pub fn tile_bytes_of(extent: &Extent, index: u32, bytes_max: u64) -> Option<u64> {
        picture_bytes(extent).filter(|bytes| *bytes <= bytes_max)?;
        tile_bytes(extent, index)
    }

    /// How many bytes the tile at this position has, if it is one of a picture; none if there is no such tile.
    pub fn tile_bytes(&self, index: u32) -> Option<u64> {
        tile_bytes(&self.extent, index)
    }

    /// Puts a tile in its place. False if it is none of this picture, or not 4 bytes for each of its pixels.
    pub fn place(&mut self, index: u32, bytes: &[u8]) -> bool {
        let Some(tile) = self.extent.tile(index) else { return false };
        if tile_bytes(&self.extent, index) != Some(bytes.len() as u64) {
            return false;
        }
        let row_bytes = self.width as usize * BYTES_PER_PIXEL as usize;
        let tile_row = tile.width as usize * BYTES_PER_PIXEL as usize;
        for (row, line) in bytes.chunks_exact(tile_row).enumerate() {
            let start = (tile.y as usize + row) * row_bytes + tile.x as usize * BYTES_PER_PIXEL as usize;
            self.pixels[start..start + tile_row].copy_from_slice(line);
        }
        true
    }

    /// The picture as it is now, as a PNG.
    pub fn write(&self, to: impl Write) -> io::Result<()> {
        let mut encoder = png::Encoder::new(to, self.width, self.height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        Ok(writer.finish()?)
    }
}

fn picture_bytes(extent: &Extent) -> Option<u64> {
    let Extent::Tiles { width, height, .. } = *extent else { return None };
    let bytes = u64::from(width).checked_mul(u64::from(height)).and_then(|pixels| pixels.checked_mul(BYTES_PER_PIXEL));
    bytes.filter(|bytes| (1..=PICTURE_BYTES_MAX).contains(bytes) && extent.count() > 0)
}

fn tile_bytes(extent: &Extent, index: u32) -> Option<u64> {
    let tile = extent.tile(index)?;
    u64::from(tile.width).checked_mul(u64::from(tile.height))?.checked_mul(BYTES_PER_PIXEL)
}

/// Whether every tile is 4 bytes for each of its pixels, and all of them together are of a size to handle.
pub(crate) fn is_picture(extent: &Extent, sizes: &[u64]) -> bool {
    picture_bytes(extent).is_some()
        && sizes.len() as u64 == extent.count()
        && (0..).zip(sizes).all(|(index, bytes)| tile_bytes(extent, index) == Some(*bytes))
}

/// Reads the tiles `0`, `1`, … of `folder` and writes them as one PNG.
pub(crate) fn write(extent: &Extent, folder: &Path, path: &Path) -> Result<(), Error> {
    let Some(mut canvas) = Canvas::new(*extent, PICTURE_BYTES_MAX) else { return Ok(()) };
    for index in 0..u32::try_from(extent.count()).expect("checked by is_picture") {
        let file = folder.join(index.to_string());
        let bytes = std::fs::read(&file).map_err(Error::file("read", &file))?;
        canvas.place(index, &bytes);
    }
    let part = part_of(path);
    let written = File::create(&part).and_then(|file| canvas.write(BufWriter::new(file)));
    written.map_err(Error::file("write", &part))?;
    std::fs::rename(&part, path).map_err(Error::file("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_land_where_they_belong() {
        let folder = tempfile::tempdir().expect("a folder");
        let extent = Extent::Tiles { width: 3, height: 2, tile_width: 2, tile_height: 2 };
        std::fs::write(folder.path().join("0"), [[1; 4], [2; 4], [4; 4], [5; 4]].concat()).expect("written");
        std::fs::write(folder.path().join("1"), [[3; 4], [6; 4]].concat()).expect("written");
        assert!(is_picture(&extent, &[16, 8]));
        let path = folder.path().join("all.png");
        write(&extent, folder.path(), &path).expect("written");
        let mut reader =
            png::Decoder::new(io::BufReader::new(File::open(&path).expect("opens"))).read_info().expect("a PNG");
        let mut pixels = vec![0; 24];
        reader.next_frame(&mut pixels).expect("pixels");
        assert_eq!(pixels, [[1; 4], [2; 4], [3; 4], [4; 4], [5; 4], [6; 4]].concat());
    }

    #[test]
    fn a_picture_shows_what_has_come_and_takes_no_tile_of_another_size() {
        let extent = Extent::Tiles { width: 3, height: 1, tile_width: 2, tile_height: 1 };
        let mut canvas = Canvas::new(extent, 1000).expect("a picture");
        assert!(canvas.place(1, &[9; 4]) && !canvas.place(0, &[9; 4]) && !canvas.place(2, &[9; 4]));
        assert_eq!(canvas.pixels, [[0; 4], [0; 4], [9; 4]].concat());
        let mut png = Vec::new();
        canvas.write(&mut png).expect("encoded");
        assert!(png.starts_with(b"\x89PNG"));
        assert!(Canvas::new(extent, 11).is_none(), "it takes twelve bytes");
    }

    #[test]
    fn what_is_no_picture_is_left_as_tiles() {
        let extent = Extent::Tiles { width: 3, height: 2, tile_width: 2, tile_height: 2 };
        assert!(!is_picture(&extent, &[16]), "a tile is missing");
        assert!(!is_picture(&extent, &[16, 9]), "a tile of another size");
        assert!(!is_picture(&Extent::Single, &[4]));
        let huge = Extent::Tiles { width: u32::MAX, height: u32::MAX, tile_width: u32::MAX, tile_height: u32::MAX };
        assert!(!is_picture(&huge, &[4]));
    }
}
