//! OpenEXR pictures: light without an upper end, in any number of channels. Every value may differ by what is tolerated of full
//! brightness, or of itself where it is brighter.
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gleaner_blender::merge::Picture;
use gleaner_wire::check::Compared;

use super::Trouble;
use super::image::Tolerances;
use super::numeric::Tolerated;
use super::structure::Structure;
use crate::content::Content;
use crate::watch::Watch;

/// The most bytes that one picture may take in memory.
const BYTES_MAX: u64 = 1024 * 1024 * 1024;
const FULL: u32 = 65_535;

/// Compares two files.
pub fn compare(pair: &[Content; 2], tolerances: Tolerances, watch: &Watch) -> Result<Compared, Trouble> {
    let [one, other] = pair.each_ref().map(read);
    match (one, other) {
        (Found::Picture(one), Found::Picture(other)) => compare_pictures(&one, &other, tolerances, watch),
        (Found::TooLarge, Found::TooLarge) => Err(Trouble::TooLarge),
        (Found::Picture(_) | Found::TooLarge | Found::Broken, _) => Ok(Compared::APART),
    }
}

enum Found {
    Picture(Box<Picture>),
    TooLarge,
    Broken,
}

fn read(content: &Content) -> Found {
    let Content::File(file) = content else { return Found::Broken };
    // Whatever a file from another machine does to its decoder, it is that file which is broken.
    match catch_unwind(AssertUnwindSafe(|| Picture::read_within(file.path(), BYTES_MAX))) {
        Ok(Ok(picture)) => Found::Picture(Box::new(picture)),
        Ok(Err(gleaner_blender::merge::Error::TooLarge { .. })) => Found::TooLarge,
        Ok(Err(_)) | Err(_) => Found::Broken,
    }
}

fn compare_pictures(
    one: &Picture,
    other: &Picture,
    tolerances: Tolerances,
    watch: &Watch,
) -> Result<Compared, Trouble> {
    let sizes_differ = (one.width(), one.height()) != (other.width(), other.height());
    if sizes_differ || !one.channels().keys().eq(other.channels().keys()) {
        return Ok(Compared::APART);
    }
    let tolerated = Tolerated::fraction(tolerances.pixel.into(), FULL);
    let mut distance = 0;
    for (ours, theirs) in one.channels().values().zip(other.channels().values()) {
        watch.check()?;
        let values = ours.iter().zip(theirs);
        let worst = values.map(|(one, other)| tolerated.real((*one).into(), (*other).into())).max();
        distance = distance.max(worst.unwrap_or(0));
    }
    let mut structure = 0;
    for colors in colors(one.channels()) {
        watch.check()?;
        structure = structure.max(structure_of(one, other, &colors));
    }
    Ok(Compared::at(distance).and(tolerances.judge(0, structure)))
}

/// The names of the channels that are a color together: red, green and blue of one pass.
fn colors(channels: &BTreeMap<String, Vec<f32>>) -> Vec<[String; 3]> {
    let names = channels.keys().filter_map(|name| {
        let pass = name.strip_suffix('R').filter(|pass| pass.is_empty() || pass.ends_with('.'))?;
        let names = ["R", "G", "B"].map(|letter| format!("{pass}{letter}"));
        names.iter().all(|name| channels.contains_key(name)).then_some(names)
    });
    names.collect()
}

fn structure_of(one: &Picture, other: &Picture, colors: &[String; 3]) -> u32 {
    let width = one.width() as usize;
    let mut structure = Structure::new(width);
    for row in 0..one.height() as usize {
        let range = row * width..(row + 1) * width;
        let bright = |picture: &Picture| {
            let [red, green, blue] = colors.each_ref().map(|name| &picture.channels()[name][range.clone()]);
            let pixels = red.iter().zip(green).zip(blue);
            pixels.map(|((red, green), blue)| brightness(*red, *green, *blue)).collect::<Vec<_>>()
        };
        structure.row(bright(one).into_iter(), bright(other).into_iter());
    }
    structure.mean()
}

/// How bright a pixel looks. Light has no upper end and the eye sees its ratios, so it is bent into what a screen can show.
fn brightness(red: f32, green: f32, blue: f32) -> u16 {
    let light = 0.2126 * f64::from(red) + 0.7152 * f64::from(green) + 0.0722 * f64::from(blue);
    // What is no number becomes dark, and is told apart by its value.
    let light = light.clamp(0.0, 1e12);
    ((light / (1.0 + light)).sqrt() * f64::from(FULL)) as u16
}

#[cfg(test)]
mod tests {
    use super::super::image::tests::TOLERANCES;
    use super::super::tests::{file, watch};
    use super::*;

    /// A picture of 16 × 16 pixels with a channel that is no color.
    fn exr(change: impl Fn(usize, f32) -> f32) -> Content {
        let channel = || (0..256).map(|at| change(at, at as f32 / 64.0)).collect::<Vec<_>>();
        let names = ["V.Combined.R", "V.Combined.G", "V.Combined.B", "V.Depth.Z"];
        let picture = Picture::new(16, 16, names.map(|name| (name.to_owned(), channel())).into());
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("picture.exr");
        picture.write(&path).expect("writes");
        file(&std::fs::read(path).expect("reads"))
    }

    fn compared(one: Content, other: Content) -> Compared {
        compare(&[one, other], TOLERANCES, &watch()).expect("compares")
    }

    #[test]
    fn light_may_differ_by_its_own_size() {
        let plain = || exr(|_, value| value);
        assert_eq!(compared(plain(), plain()), Compared::SAME);
        assert!(compared(plain(), exr(|_, value| value * 1.005)).agrees, "half a percent of itself");
        assert!(!compared(plain(), exr(|_, value| value * 1.02)).agrees);
        assert!(!compared(plain(), exr(|at, value| if at == 77 { value + 0.1 } else { value })).agrees);
    }

    #[test]
    fn what_is_no_number_agrees_with_its_like_only() {
        let holed = || exr(|at, value| if at == 9 { f32::NAN } else { value });
        assert!(compared(holed(), holed()).agrees);
        assert_eq!(compared(holed(), exr(|_, value| value)), Compared::APART);
    }

    #[test]
    fn broken_files_are_apart() {
        let whole = exr(|_, value| value).read().expect("reads");
        assert_eq!(compared(file(&whole), file(&whole[..whole.len() / 2])), Compared::APART);
        assert_eq!(compared(file(&whole[..20]), file(&whole[..30])), Compared::APART);
    }

    #[test]
    fn colors_are_found_by_their_names() {
        let names = ["R", "G", "B", "A.R", "A.G", "Under.R", "Under.G", "Under.B", "FooR", "FooG", "FooB"];
        let channels = names.map(|name| (name.to_owned(), Vec::new())).into();
        assert_eq!(
            colors(&channels),
            [["R", "G", "B"], ["Under.R", "Under.G", "Under.B"]].map(|names| names.map(str::to_owned))
        );
    }
}
