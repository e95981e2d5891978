//! What an engine says while it renders.

/// How far a picture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Samples done.
    pub done: u32,
    /// Samples in all; never 0.
    pub of: u32,
}

impl Progress {
    /// Reads a line such as `Fra:3 Mem:21.09M | … | Sample 2/16` (Cycles) or `… | Rendering 16 / 64 samples` (EEVEE); lines
    /// about other things are `None`.
    pub fn of(line: &str) -> Option<Self> {
        let (done, of) = match line.rsplit_once("Sample ") {
            Some((_, numbers)) => numbers.trim().split([' ', ',']).next()?.split_once('/')?,
            None => line.rsplit_once("Rendering ")?.1.trim().strip_suffix(" samples")?.split_once(" / ")?,
        };
        let (done, of) = (done.trim().parse().ok()?, of.trim().parse().ok()?);
        (done <= of && of > 0).then_some(Self { done, of })
    }

    /// Between 0 and 1.
    pub fn fraction(&self) -> f32 {
        self.done as f32 / self.of as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sample_counts_are_read_as_blender_prints_them() {
        let line =
            "Fra:3 Mem:21.09M (Peak 22.47M) | Time:00:00.14 | Mem:3.88M, Peak:4.34M | Scene, ViewLayer | Sample 2/16";
        assert_eq!(Progress::of(line), Some(Progress { done: 2, of: 16 }));
        let eevee = "Fra:1 Mem:40.61M (Peak 56.39M) | Time:00:00.40 | Rendering 16 / 64 samples";
        assert_eq!(Progress::of(eevee), Some(Progress { done: 16, of: 64 }));
    }

    #[test]
    fn other_lines_and_nonsense_are_no_progress() {
        for line in ["", "Sample", "Sample 5/0", "Sample 7/3", "Sample x/y", "Saved: '/out/000003.exr'", "Sample 1"] {
            assert_eq!(Progress::of(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in ".{0,8}(Sample |Rendering ).{0,16}") {
            if let Some(progress) = Progress::of(&line) {
                prop_assert!((0.0..=1.0).contains(&progress.fraction()));
            }
        }
    }
}
