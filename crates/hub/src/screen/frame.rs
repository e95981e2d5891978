//! The Blender test: a lamp in the colours of a texture that nobody has seen before, and the floor that it lights. The picture is
//! right if all parts of the floor are as bright as the light that reaches them, which the hub reckons by itself.
//!
//! Whoever knows this page could reckon it as well. So the test says that a machine renders, and how fast only up to what a
//! real Blender may show ([`super::exercise`]); paid work says the rest.
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
const TEXELS: usize = 4;
const SIDE: usize = 128;
/// How high the lamp hangs, where both it and the floor reach from -1 to 1.
const HEIGHT: f64 = 0.5;
/// Parts of the picture on each side whose means are compared: single pixels are noisy.
const PARTS: usize = 8;
/// Points of a part on each side for which the light is reckoned.
const POINTS: usize = 4;
const SAMPLES: u64 = 64;
const CHANNELS: usize = 3;
/// How many steps of the other tests one path of one pixel is worth.
const STEPS_PER_PATH: u64 = 1000;
/// What the mean of a part may differ by, in 255ths. Noise makes about a third of this.
const DIFFERENCE_MAX: f64 = 2.0;
/// What a picture may take in memory, whatever its header says.
const DECODED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The colours of a lamp.
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

    /// Whether a picture shows the light of this lamp.
    pub(super) fn is_right(&self, picture: &[u8]) -> bool {
        let Some((pixels, channels)) = decoded(picture) else { return false };
        let side = SIDE / PARTS;
        let mean = |row: usize, column: usize, channel: usize| {
            let at = |n: usize| ((row * side + n / side) * SIDE + column * side + n % side) * channels + channel;
            (0..side * side).map(|n| f64::from(pixels[at(n)])).sum::<f64>() / (side * side) as f64
        };
        let parts = (0..PARTS * PARTS).map(|part| (part / PARTS, part % PARTS));
        parts.into_iter().all(|(row, column)| {
            let light = self.light(row, column);
            (0..CHANNELS).all(|channel| (mean(row, column, channel) - light[channel]).abs() <= DIFFERENCE_MAX)
        })
    }

    /// The light that reaches a part of the floor, counted from the upper left.
    fn light(&self, row: usize, column: usize) -> [f64; CHANNELS] {
        let step = 2.0 / (PARTS * POINTS) as f64;
        let mut light = [0.0; CHANNELS];
        for point in 0..POINTS * POINTS {
            let x = -1.0 + ((column * POINTS + point % POINTS) as f64 + 0.5) * step;
            let y = -1.0 + ((row * POINTS + point / POINTS) as f64 + 0.5) * step;
            for (texel, colour) in self.texture.chunks_exact(CHANNELS).enumerate() {
                let seen = share(x, y, texel % TEXELS, texel / TEXELS) / (POINTS * POINTS) as f64;
                light.iter_mut().zip(colour).for_each(|(sum, value)| *sum += seen * f64::from(*value));
            }
        }
        light
    }
}

/// How much of what a point of the floor sees is this texel of the lamp: the form factor of a rectangle parallel to it.
fn share(x: f64, y: f64, column: usize, row: usize) -> f64 {
    let edge = |n: usize| -1.0 + 2.0 * n as f64 / TEXELS as f64;
    let corner = |a: f64, b: f64| {
        let (a, b) = (a / HEIGHT, b / HEIGHT);
        let part = |a: f64, b: f64| a / a.hypot(1.0) * (b / a.hypot(1.0)).atan();
        (part(a, b) + part(b, a)) / std::f64::consts::TAU
    };
    let (left, right) = (edge(column) - x, edge(column + 1) - x);
    let (upper, lower) = (edge(row) - y, edge(row + 1) - y);
    corner(right, lower) - corner(left, lower) - corner(right, upper) + corner(left, upper)
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

    /// The picture of a lamp, without noise: all pixels of a part are alike.
    fn lit(frame: &Frame, brighter: f64) -> Vec<u8> {
        let part = |at: usize| frame.light(at / SIDE / (SIDE / PARTS), at % SIDE / (SIDE / PARTS));
        (0..SIDE * SIDE).flat_map(|at| part(at).map(|value| (value + brighter).round() as u8)).collect()
    }

    #[test]
    fn all_that_a_point_in_the_middle_sees_of_a_wide_lamp_adds_up() {
        let sum = |x, y| (0..TEXELS * TEXELS).map(|at| share(x, y, at % TEXELS, at / TEXELS)).sum::<f64>();
        // As a table of form factors has it for a square of four times its distance.
        assert!((sum(0.0, 0.0) - 0.831).abs() < 0.001, "{}", sum(0.0, 0.0));
        assert!(sum(1.0, 1.0) < sum(0.0, 0.0) / 2.0, "a corner sees less");
        assert!((sum(0.3, -0.7) - sum(-0.7, 0.3)).abs() < 1e-12);
    }

    #[test]
    fn a_picture_is_right_if_it_is_lit_by_the_lamp() {
        let frame = Frame::new(5);
        assert!(frame.is_right(&encoded(SIDE, &lit(&frame, 0.0))));
        assert!(frame.is_right(&encoded(SIDE, &lit(&frame, 1.4))), "a little brighter");
        assert!(!frame.is_right(&encoded(SIDE, &lit(&frame, 3.0))), "too bright");
        assert!(!Frame::new(6).is_right(&encoded(SIDE, &lit(&frame, 0.0))), "another lamp");
        let mut pixels = lit(&frame, 0.0);
        pixels[..SIDE * CHANNELS * 4].fill(0);
        assert!(!frame.is_right(&encoded(SIDE, &pixels)), "rows are missing");
        assert!(!frame.is_right(b"no picture"));
    }

    /// What is sent is not the answer.
    #[test]
    fn the_texture_itself_is_not_the_light_of_the_lamp() {
        let frame = Frame::new(5);
        let texel = |at: usize| (at / SIDE * TEXELS / SIDE * TEXELS + at % SIDE * TEXELS / SIDE) * CHANNELS;
        let enlarged: Vec<u8> =
            (0..SIDE * SIDE).flat_map(|at| frame.texture[texel(at)..][..CHANNELS].to_vec()).collect();
        assert!(!frame.is_right(&encoded(SIDE, &enlarged)));
        assert!(!frame.is_right(&encoded(TEXELS, &frame.texture)), "another size");
    }

    /// Real Blender shows the light that the hub reckons.
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
        assert!(frame.is_right(&picture), "the scene is not lit as the hub reckons: run make_scene.py again");
        assert!(!Frame::new(78).is_right(&picture));
    }
}
