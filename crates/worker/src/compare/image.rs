//! As pictures: every channel of every pixel within what is tolerated, and the structure as a whole.
//!
//! The first rule finds what was altered in one place, the second what is wrong a little everywhere. Files that are no pictures
//! are compared byte for byte.
use std::io;

use gleaner_wire::check::Compared;

use super::pairs::{Input, fill, open};
use super::png_rows::PngRows;
use super::structure::Structure;
use super::{Trouble, exact, light};
use crate::content::Content;
use crate::watch::Watch;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const EXR: &[u8] = b"\x76\x2f\x31\x01";
/// Bytes of a pixel of a tile: red, green, blue and how much they cover.
const RAW_PIXEL_BYTES: usize = 4;
/// Rows between two looks at the time.
const ROWS_AT_A_TIME: u32 = 64;

/// What pictures may differ by.
#[derive(Clone, Copy, Debug)]
pub struct Tolerances {
    /// A channel of a pixel, in parts of 65,535 of full brightness.
    pub pixel: u16,
    /// The structure in the mean, in millionths.
    pub perceptual: u32,
}

impl Tolerances {
    /// What pictures are whose worst channel and structure differ by this much.
    pub fn judge(self, pixel: u16, perceptual: u32) -> Compared {
        let pixel = part(pixel.into(), self.pixel.into());
        Compared::at(pixel.max(part(perceptual.into(), self.perceptual.into())))
    }
}

/// In millionths of what is tolerated, rounded up.
fn part(apart: u64, tolerated: u64) -> u64 {
    match (apart, tolerated) {
        (0, _) => 0,
        (_, 0) => u64::MAX,
        (apart, tolerated) => (apart * Compared::TOLERATED).div_ceil(tolerated),
    }
}

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Png,
    Exr,
    Raw,
    Other,
}

/// A picture that comes row by row, four channels a pixel.
pub trait Rows {
    /// Width and height.
    fn size(&self) -> (u32, u32);
    /// The next row into the buffer; an error if it is broken.
    fn next(&mut self, row: &mut Vec<u16>) -> Result<(), Unreadable>;
}

/// Why a picture cannot be read.
#[derive(Debug)]
pub enum Unreadable {
    /// It is none, or not whole: whoever made it is to blame.
    Broken,
    /// The disk does not do what it should.
    Disk(io::Error),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        // Where a file ends too early, that is how it was made.
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Broken } else { Self::Disk(error) }
    }
}

/// Compares two files.
pub fn compare(
    pair: &[Content; 2],
    tile: Option<(u32, u32)>,
    is_raw: bool,
    tolerances: Tolerances,
    watch: &Watch,
) -> Result<Compared, Trouble> {
    let same = exact::compare(pair, watch)?;
    if same.agrees {
        return Ok(same);
    }
    let kinds = [kind(&pair[0], tile, is_raw)?, kind(&pair[1], tile, is_raw)?];
    match kinds {
        [Kind::Exr, Kind::Exr] => light::compare(pair, tolerances, watch),
        [Kind::Png, Kind::Png] => both(pair.each_ref().map(PngRows::open), tolerances, watch, same),
        [Kind::Raw, Kind::Raw] => {
            let size = tile.unwrap_or_default();
            both(pair.each_ref().map(|file| Ok(Some(RawRows::open(file, size)?))), tolerances, watch, same)
        }
        [Kind::Png | Kind::Exr | Kind::Raw | Kind::Other, _] => Ok(same),
    }
}

/// Kernels make nothing but pixels; of other programs the first bytes say what they made.
fn kind(content: &Content, tile: Option<(u32, u32)>, is_raw: bool) -> io::Result<Kind> {
    let bytes = |(width, height): (u32, u32)| u64::from(width) * u64::from(height) * RAW_PIXEL_BYTES as u64;
    let fits = tile.is_some_and(|tile| bytes(tile) == content.bytes());
    let mut start = [0; 8];
    let count = fill(&mut *open(content)?, &mut start)?;
    Ok(match &start[..count] {
        _ if is_raw && fits => Kind::Raw,
        _ if is_raw => Kind::Other,
        start if start.starts_with(PNG) => Kind::Png,
        start if start.starts_with(EXR) => Kind::Exr,
        _ if fits => Kind::Raw,
        _ => Kind::Other,
    })
}

/// Compares two pictures of a kind; those that are readable, but not row by row, have been found not to be the same.
fn both<R: Rows>(
    pictures: [Result<Option<R>, Unreadable>; 2],
    tolerances: Tolerances,
    watch: &Watch,
    same: Compared,
) -> Result<Compared, Trouble> {
    let pictures = match pictures {
        [Err(Unreadable::Disk(error)), _] | [_, Err(Unreadable::Disk(error))] => return Err(error.into()),
        [Err(Unreadable::Broken), _] | [_, Err(Unreadable::Broken)] => return Ok(Compared::APART),
        [Ok(Some(one)), Ok(Some(other))] => [one, other],
        [Ok(None), Ok(_)] | [Ok(_), Ok(None)] => return Ok(same),
    };
    match by_rows(pictures, watch) {
        Ok(Some((pixel, structure))) => Ok(tolerances.judge(pixel, structure)),
        Ok(None) | Err(Broken::Picture) => Ok(Compared::APART),
        Err(Broken::Trouble(trouble)) => Err(trouble),
    }
}

enum Broken {
    Picture,
    Trouble(Trouble),
}

impl From<Unreadable> for Broken {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::Broken => Self::Picture,
            Unreadable::Disk(error) => Self::Trouble(error.into()),
        }
    }
}

/// The worst channel and the distance of the structure; `None` if the pictures differ in size.
fn by_rows<R: Rows>([mut one, mut other]: [R; 2], watch: &Watch) -> Result<Option<(u16, u32)>, Broken> {
    let (width, height) = one.size();
    if (width, height) != other.size() {
        return Ok(None);
    }
    let mut structure = Structure::new(width as usize);
    let (mut ours, mut theirs, mut worst) = (Vec::new(), Vec::new(), 0);
    for row in 0..height {
        if row % ROWS_AT_A_TIME == 0 {
            watch.check().map_err(|interruption| Broken::Trouble(interruption.into()))?;
        }
        one.next(&mut ours)?;
        other.next(&mut theirs)?;
        let apart = ours.iter().zip(&theirs).map(|(one, other)| one.abs_diff(*other));
        worst = apart.fold(worst, u16::max);
        structure.row(brightness(&ours), brightness(&theirs));
    }
    Ok(Some((worst, structure.mean())))
}

/// How bright each pixel of a row is.
fn brightness(row: &[u16]) -> impl Iterator<Item = u16> {
    row.chunks_exact(4).map(|pixel| {
        let [red, green, blue] = [pixel[0], pixel[1], pixel[2]].map(u32::from);
        ((2126 * red + 7152 * green + 722 * blue) / 10_000) as u16
    })
}

/// The bytes of a tile's pixels.
struct RawRows<'a> {
    input: Box<dyn Input + 'a>,
    size: (u32, u32),
    bytes: Vec<u8>,
}

impl<'a> RawRows<'a> {
    fn open(content: &'a Content, size: (u32, u32)) -> io::Result<Self> {
        Ok(Self { input: open(content)?, size, bytes: vec![0; size.0 as usize * RAW_PIXEL_BYTES] })
    }
}

impl Rows for RawRows<'_> {
    fn size(&self) -> (u32, u32) {
        self.size
    }

    fn next(&mut self, row: &mut Vec<u16>) -> Result<(), Unreadable> {
        if fill(&mut *self.input, &mut self.bytes)? < self.bytes.len() {
            return Err(Unreadable::Broken);
        }
        row.clear();
        row.extend(self.bytes.iter().map(|byte| u16::from(*byte) * 257));
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::{file, watch};
    use super::*;
    use proptest::prelude::*;

    pub(in super::super) const TOLERANCES: Tolerances = Tolerances { pixel: 2 * 257, perceptual: 10_000 };

    /// A picture of 24 × 16 pixels.
    fn gradient() -> Vec<u8> {
        (0..24 * 16).flat_map(|at: u32| [(at % 24 * 10) as u8, (at / 24 * 15) as u8, 128, 255]).collect()
    }

    fn png(pixels: &[u8], color: png::ColorType, size: (u32, u32)) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, size.0, size.1);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().expect("writes");
        writer.write_image_data(pixels).expect("writes");
        writer.finish().expect("ends");
        bytes
    }

    fn compared(one: &[u8], other: &[u8], tile: Option<(u32, u32)>) -> Compared {
        compare(&[file(one), file(other)], tile, false, TOLERANCES, &watch()).expect("compares")
    }

    fn altered(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
        let mut pixels = gradient();
        change(&mut pixels);
        pixels
    }

    #[test]
    fn a_little_noise_agrees_and_one_altered_pixel_does_not() {
        let one = gradient();
        let noisy = altered(|pixels| pixels.iter_mut().step_by(7).for_each(|byte| *byte ^= 1));
        let pixel = altered(|pixels| pixels[200] = pixels[200].wrapping_add(40));
        let edge = altered(|pixels| pixels[200] += 2);
        let over = altered(|pixels| pixels[200] += 3);
        for encode in [|pixels: &[u8]| pixels.to_vec(), |pixels: &[u8]| png(pixels, png::ColorType::Rgba, (24, 16))] {
            let compared = |other: &[u8]| compared(&encode(&one), &encode(other), Some((24, 16)));
            assert_eq!(compared(&one), Compared::SAME);
            assert!(compared(&noisy).agrees);
            assert_eq!(compared(&edge), Compared::at(1_000_000));
            assert_eq!(compared(&over), Compared::at(1_500_000));
            assert!(!compared(&pixel).agrees);
        }
    }

    #[test]
    fn the_same_picture_in_another_encoding_is_the_same() {
        let grey: Vec<u8> = (0..24 * 16).map(|at: u32| at as u8).collect();
        let rgba: Vec<u8> = grey.iter().flat_map(|value| [*value, *value, *value, 255]).collect();
        let one = png(&grey, png::ColorType::Grayscale, (24, 16));
        let other = png(&rgba, png::ColorType::Rgba, (24, 16));
        assert_eq!(compared(&one, &other, None), Compared::SAME);
    }

    #[test]
    fn what_is_wrong_a_little_everywhere_is_told_by_its_structure() {
        let flat = vec![128; 24 * 16 * 4];
        let grain: Vec<u8> = (0..24 * 16 * 4).map(|at| if at / 4 % 2 == 0 { 126 } else { 130 }).collect();
        let tolerances = Tolerances { pixel: 257 * 4, perceptual: 1_000 };
        let pair = [file(&flat), file(&grain)];
        let found = compare(&pair, Some((24, 16)), true, tolerances, &watch()).expect("compares");
        assert!(!found.agrees, "{found:?}");
        let blind = Tolerances { perceptual: 1_000_000, ..tolerances };
        assert!(compare(&pair, Some((24, 16)), true, blind, &watch()).expect("compares").agrees);
    }

    #[test]
    fn other_sizes_kinds_and_broken_files_are_apart() {
        let one = png(&gradient(), png::ColorType::Rgba, (24, 16));
        let turned = png(&gradient(), png::ColorType::Rgba, (16, 24));
        assert_eq!(compared(&one, &turned, None), Compared::APART);
        assert_eq!(compared(&one, &gradient(), Some((24, 16))), Compared::APART);
        assert_eq!(compared(&one, &one[..one.len() / 2], None), Compared::APART);
        assert_eq!(compared(&one[..40], &one[..30], None), Compared::APART);
        assert_eq!(compared(b"notes", b"Notes", None), Compared::APART);
        assert_eq!(compared(b"notes", b"notes", None), Compared::SAME);
    }

    #[test]
    fn a_tile_of_another_length_is_apart() {
        let pair = [file(&gradient()), file(&gradient()[4..])];
        let found = compare(&pair, Some((24, 16)), true, TOLERANCES, &watch()).expect("compares");
        assert_eq!(found, Compared::APART);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn broken_pictures_compare_alike_in_both_orders(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
            let one = png(&gradient(), png::ColorType::Rgba, (24, 16));
            let mut other = one.clone();
            for (at, to) in edits {
                let at = at.index(other.len());
                other[at] = to;
            }
            prop_assert_eq!(compared(&one, &other, None), compared(&other, &one, None));
        }

        #[test]
        fn any_bytes_after_a_signature_are_compared(one in prop::collection::vec(any::<u8>(), 0..80), other in prop::collection::vec(any::<u8>(), 0..80)) {
            for signature in [PNG, EXR, &[]] {
                let _ = compared(&[signature, &one].concat(), &[signature, &other].concat(), Some((5, 4)));
            }
        }
    }
}
