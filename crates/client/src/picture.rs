//! Tiles put together into one PNG.
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use gleaner_wire::Extent;

use crate::Error;
use crate::fetch::part_of;

/// The largest picture that is put together, in bytes of its pixels.
const PICTURE_BYTES_MAX: u64 = 1 << 30;
const BYTES_PER_PIXEL: u64 = 4;

/// Whether every tile is 4 bytes for each of its pixels, and all of them together are of a size to handle.
pub(crate) fn is_picture(extent: &Extent, tile_bytes: &[u64]) -> bool {
    let Extent::Tiles { width, height, .. } = *extent else { return false };
    let bytes = u64::from(width).checked_mul(u64::from(height)).and_then(|pixels| pixels.checked_mul(BYTES_PER_PIXEL));
    let fits = bytes.is_some_and(|bytes| (1..=PICTURE_BYTES_MAX).contains(&bytes));
    fits && tile_bytes.len() as u64 == extent.count()
        && (0..).zip(tile_bytes).all(|(index, bytes)| {
            let tile = extent.tile(index).expect("the extent has tiles");
            u64::from(tile.width) * u64::from(tile.height) * BYTES_PER_PIXEL == *bytes
        })
}

/// Reads the tiles `0`, `1`, … of `folder` and writes them as one PNG.
pub(crate) fn write(extent: &Extent, folder: &Path, path: &Path) -> Result<(), Error> {
    let Extent::Tiles { width, height, .. } = *extent else { return Ok(()) };
    let row_bytes = width as usize * BYTES_PER_PIXEL as usize;
    let mut pixels = vec![0; row_bytes * height as usize];
    for index in 0..u32::try_from(extent.count()).expect("checked by is_picture") {
        let tile = extent.tile(index).expect("the extent has tiles");
        let file = folder.join(index.to_string());
        let bytes = std::fs::read(&file).map_err(Error::file("read", &file))?;
        let tile_row = tile.width as usize * BYTES_PER_PIXEL as usize;
        for (row, line) in bytes.chunks_exact(tile_row).enumerate().take(tile.height as usize) {
            let start = (tile.y as usize + row) * row_bytes + tile.x as usize * BYTES_PER_PIXEL as usize;
            pixels[start..start + tile_row].copy_from_slice(line);
        }
    }
    let part = part_of(path);
    encode(&part, width, height, &pixels).map_err(Error::file("write", &part))?;
    std::fs::rename(&part, path).map_err(Error::file("write", path))
}

fn encode(path: &Path, width: u32, height: u32, pixels: &[u8]) -> io::Result<()> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    Ok(writer.finish()?)
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
    fn what_is_no_picture_is_left_as_tiles() {
        let extent = Extent::Tiles { width: 3, height: 2, tile_width: 2, tile_height: 2 };
        assert!(!is_picture(&extent, &[16]), "a tile is missing");
        assert!(!is_picture(&extent, &[16, 9]), "a tile of another size");
        assert!(!is_picture(&Extent::Single, &[4]));
        let huge = Extent::Tiles { width: u32::MAX, height: u32::MAX, tile_width: u32::MAX, tile_height: u32::MAX };
        assert!(!is_picture(&huge, &[4]));
    }
}
