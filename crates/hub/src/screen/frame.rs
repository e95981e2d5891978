//! The Blender test: a scene that shows a texture, and a texture that nobody has seen before. The picture is right if it
//! is that texture.
use super::exercise::Files;
use gleaner_wire::render::{DeviceChoice, Format, Frames, Source, Split};
use gleaner_wire::{DataRef, Stage, Work};
use std::io::Cursor;

/// The scene, as `blender/make_scene.py` makes it.
const SCENE: &[u8] = include_bytes!("blender/scene.blend");
const SCENE_NAME: &str = "scene.blend";
/// The name that the scene has for its texture.
const TEXTURE_NAME: &str = "texture.png";
/// Pixels of the texture on each side, and of the picture.
const TEXELS: usize = 32;
const SIDE: usize = 128;
const SAMPLES: u64 = 64;
const CHANNELS: usize = 3;
/// How many steps of the other tests one path of one pixel is worth.
const STEPS_PER_PATH: u64 = 1000;
/// What a channel may differ by, in 255ths, and how many pixels of a thousand may differ by more.
const DIFFERENCE_MAX: u8 = 2;
const WRONG_PER_THOUSAND_MAX: usize = 5;
/// What a picture may take in memory, whatever its header says.
const DECODED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A texture to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Row by row from the top, three channels each.
    texture: Vec<u8>,
}

impl Frame {
    /// Draws a texture.
    pub(super) fn new(seed: u64) -> Self {
        let mut drawn = super::walk::Walk { first: seed, steps: 1 }.end();
        let texel = |_| {
            drawn = super::walk::Walk { first: drawn, steps: 1 }.end();
            (drawn >> 40) as u8
        };
        Self { texture: (0..TEXELS * TEXELS * CHANNELS).map(texel).collect() }
    }

    /// What the picture is worth.
    pub(super) fn steps() -> u64 {
        (SIDE * SIDE) as u64 * SAMPLES * STEPS_PER_PATH
    }

    /// The scene and all that it needs.
    pub(super) fn project(&self) -> Result<Files, png::EncodingError> {
        let mut picture = Vec::new();
        let mut encoder = png::Encoder::new(&mut picture, TEXELS as u32, TEXELS as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header()?.write_image_data(&self.texture)?;
        Ok(vec![(SCENE_NAME.to_owned(), SCENE.to_vec()), (TEXTURE_NAME.to_owned(), picture)])
    }

    /// As a task.
    pub(super) fn work(project: DataRef) -> Work {
        let stage = Stage::Pieces { frames: Frames::one(1), split: Split::default(), format: Format::Png };
        Work::Blender { project, source: Source::plain(SCENE_NAME), device: DeviceChoice::Any, stage }
    }

    /// Whether a picture shows the texture.
    pub(super) fn is_right(&self, picture: &[u8]) -> bool {
        let Some((pixels, channels)) = decoded(picture) else { return false };
        let is_wrong = |at: &usize| {
            let texel = (at / SIDE * TEXELS / SIDE * TEXELS + at % SIDE * TEXELS / SIDE) * CHANNELS;
            let shown = &pixels[at * channels..][..CHANNELS];
            shown.iter().zip(&self.texture[texel..]).any(|(one, other)| one.abs_diff(*other) > DIFFERENCE_MAX)
        };
        let wrong = (0..SIDE * SIDE).filter(is_wrong).count();
        wrong * 1000 <= WRONG_PER_THOUSAND_MAX * SIDE * SIDE
    }
}

/// The pixels of a picture of the right size, and how many bytes each has.
fn decoded(picture: &[u8]) -> Option<(Vec<u8>, usize)> {
    let limits = png::Limits { bytes: DECODED_BYTES_MAX };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(picture), limits);
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let info = reader.info();
    let channels = match reader.output_color_type() {
        (png::ColorType::Rgb, png::BitDepth::Eight) => CHANNELS,
        (png::ColorType::Rgba, png::BitDepth::Eight) => CHANNELS + 1,
        (_, _) => return None,
    };
    if (info.width as usize, info.height as usize) != (SIDE, SIDE) {
        return None;
    }
    let mut pixels = vec![0; SIDE * SIDE * channels];
    reader.next_frame(&mut pixels).ok()?;
    Some((pixels, channels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn encoded(side: usize, pixels: &[u8]) -> Vec<u8> {
        let mut picture = Vec::new();
        let mut encoder = png::Encoder::new(&mut picture, side as u32, side as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels)).expect("encoded");
        picture
    }

    fn shown(frame: &Frame) -> Vec<u8> {
        let texel = |at: usize| (at / SIDE * TEXELS / SIDE * TEXELS + at % SIDE * TEXELS / SIDE) * CHANNELS;
        (0..SIDE * SIDE).flat_map(|at| frame.texture[texel(at)..][..CHANNELS].to_vec()).collect()
    }

    #[test]
    fn a_picture_is_right_if_it_shows_the_texture() {
        let frame = Frame::new(5);
        let mut pixels = shown(&frame);
        assert!(frame.is_right(&encoded(SIDE, &pixels)));
        assert!(!Frame::new(6).is_right(&encoded(SIDE, &pixels)), "another texture");
        pixels.iter_mut().for_each(|value| *value = value.saturating_add(2));
        assert!(frame.is_right(&encoded(SIDE, &pixels)), "a little brighter");
        pixels.iter_mut().for_each(|value| *value = value.saturating_add(1));
        assert!(!frame.is_right(&encoded(SIDE, &pixels)), "too bright");
        let mut pixels = shown(&frame);
        pixels[..SIDE * CHANNELS].fill(0);
        assert!(!frame.is_right(&encoded(SIDE, &pixels)), "a row is missing");
        assert!(!frame.is_right(&encoded(TEXELS, &frame.texture)), "another size");
        assert!(!frame.is_right(b"no picture"));
    }

    /// Real Blender shows the texture.
    #[test]
    fn blender_renders_what_the_hub_expects() {
        let version = Command::new("blender").arg("--version").output();
        if !version.is_ok_and(|ran| ran.status.success()) {
            return crate::screen::skipped("there is no blender here (Debian: apt install blender)");
        }
        let (frame, dir) = (Frame::new(77), tempfile::tempdir().expect("a folder"));
        for (name, content) in frame.project().expect("encoded") {
            std::fs::write(dir.path().join(name), content).expect("written");
        }
        let mut command = Command::new("blender");
        command.args(["--background", "--factory-startup", "--disable-autoexec"]).arg(dir.path().join(SCENE_NAME));
        command.arg("-o").arg(dir.path().join("frame-####")).args(["-F", "PNG", "-f", "1"]);
        let ran = command.output().expect("it runs");
        let picture = std::fs::read(dir.path().join("frame-0001.png"));
        let picture = picture.unwrap_or_else(|_| panic!("no picture; make the scene again: {ran:?}"));
        assert!(frame.is_right(&picture), "the scene does not show its texture: run make_scene.py again");
        assert!(!Frame::new(78).is_right(&picture));
    }
}
