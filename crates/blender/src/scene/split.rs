//! Whether a scene can be rendered in pieces, and how near the result is to the unsplit frame.
use super::Scene;
use crate::plan::Split;

/// How near a merged frame is to the unsplit one, both on processors by engines with equal keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// Equal in every bit.
    Exact,
    /// Within [`crate::merge::SAMPLES_TOLERANCE`].
    Samples,
    /// Within the noise that the scene allows: where pixels may stop early or paths are guided, what is on the other side
    /// of an edge is not asked.
    Noise,
}

/// Why a scene cannot be rendered in pieces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitRefusal {
    /// Another renderer than Cycles.
    #[error("the scene is rendered by {0}, and only frames of Cycles can be split: render whole frames")]
    Engine(String),
    /// The scene renders a region.
    #[error("the scene renders only a region, which cannot be split: turn off Output > Render Region, or do not split")]
    Region,
    /// Two eyes.
    #[error("stereoscopic frames cannot be split: render whole frames")]
    Stereo,
    /// Strips.
    #[error("the scene is a film of strips (Post Processing > Sequencer), which cannot be split: render whole frames")]
    Strips,
    /// Lines.
    #[error("Freestyle draws lines over whole frames only: render whole frames")]
    Lines,
    /// Layers with samples of their own.
    #[error("a layer has its own number of samples (View Layer > Override), which cannot be split: split into tiles")]
    LayerSamples,
    /// A pass that has no mean.
    #[error("the pass {0} of a part of the samples says nothing about the whole: split into tiles, not samples")]
    Pass(String),
}

/// Passes whose mean over samples is the pass itself.
const MEAN_PASSES: [&str; 20] = [
    "use_pass_ambient_occlusion",
    "use_pass_diffuse_color",
    "use_pass_diffuse_direct",
    "use_pass_diffuse_indirect",
    "use_pass_emit",
    "use_pass_environment",
    "use_pass_glossy_color",
    "use_pass_glossy_direct",
    "use_pass_glossy_indirect",
    "use_pass_mist",
    "use_pass_normal",
    "use_pass_shadow",
    "use_pass_subsurface_color",
    "use_pass_subsurface_direct",
    "use_pass_subsurface_indirect",
    "use_pass_transmission_color",
    "use_pass_transmission_direct",
    "use_pass_transmission_indirect",
    "use_pass_volume_direct",
    "use_pass_volume_indirect",
];

/// What Blender switches on beside passes that are asked for; no pass of its own.
const SWITCHES: [&str; 1] = ["use_pass_cryptomatte_accurate"];

impl Scene {
    /// Whether it can be split like this, and how near the result will be.
    pub fn split(&self, split: Split) -> Result<Exactness, SplitRefusal> {
        if split == Split::default() {
            return Ok(Exactness::Exact);
        }
        if self.engine != "CYCLES" {
            return Err(SplitRefusal::Engine(self.engine.clone()));
        }
        for (is_so, refusal) in [
            (self.region, SplitRefusal::Region),
            (self.stereo, SplitRefusal::Stereo),
            (self.strips, SplitRefusal::Strips),
            (self.lines, SplitRefusal::Lines),
            (self.layer_samples && split.samples.get() > 1, SplitRefusal::LayerSamples),
        ] {
            if is_so {
                return Err(refusal);
            }
        }
        let ranges = split.samples.get() > 1;
        if let Some(odd) = self.passes.iter().find(|name| ranges && !has_mean(name)) {
            return Err(SplitRefusal::Pass(odd.clone()));
        }
        // Ranges of samples have no early stops: they are off for them.
        Ok(match (self.guiding, ranges, self.adaptive) {
            (true, _, _) | (false, false, true) => Exactness::Noise,
            (false, true, _) => Exactness::Samples,
            (false, false, false) => Exactness::Exact,
        })
    }
}

fn has_mean(pass: &str) -> bool {
    MEAN_PASSES.contains(&pass) || SWITCHES.contains(&pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    fn scene() -> Scene {
        let text = r#"{"name":"Scene","frame_first":1,"frame_last":10,"frame_step":1,"frame_now":1,
            "frames_per_second":[24,1.0],"width":96,"height":64,"engine":"CYCLES","samples":4,"adaptive":false,
            "layer_samples":false,"guiding":false,"denoise":false,"camera":"Camera","output":"PNG","region":false,
            "stereo":false,"lines":false,"compositing":false,
            "strips":false,"passes":[],"unbaked":[],"scripts":[],"files":[]}"#;
        serde_json::from_str(text).expect("a scene")
    }

    fn split(columns: u32, samples: u32) -> Split {
        let number = |n| NonZeroU32::new(n).expect("not zero");
        Split { tiles: [number(columns), number(1)], samples: number(samples) }
    }

    #[test]
    fn a_description_reads_back_and_nonsense_does_not() {
        assert_eq!(Scene::from_json(&scene().to_json()).expect("reads"), scene());
        assert!(Scene::from_json(b"{}").is_err());
        assert!(Scene::from_json(&vec![b' '; 17 << 20]).is_err());
    }

    #[test]
    fn how_near_depends_on_the_split_and_on_early_stops() {
        let adaptive = Scene { adaptive: true, ..scene() };
        assert_eq!(scene().split(split(2, 1)), Ok(Exactness::Exact));
        assert_eq!(scene().split(split(2, 2)), Ok(Exactness::Samples));
        assert_eq!(adaptive.split(split(2, 1)), Ok(Exactness::Noise));
        assert_eq!(adaptive.split(split(1, 2)), Ok(Exactness::Samples));
        assert_eq!(adaptive.split(Split::default()), Ok(Exactness::Exact));
        let guided = Scene { guiding: true, ..scene() };
        assert_eq!(
            (guided.split(split(2, 1)), guided.split(split(1, 2))),
            (Ok(Exactness::Noise), Ok(Exactness::Noise))
        );
    }

    #[test]
    fn what_would_be_wrong_in_pieces_is_refused_and_whole_frames_never_are() {
        let eevee = Scene { engine: "BLENDER_EEVEE".into(), ..scene() };
        assert_eq!(eevee.split(split(2, 1)), Err(SplitRefusal::Engine("BLENDER_EEVEE".into())));
        assert_eq!(eevee.split(Split::default()), Ok(Exactness::Exact));
        assert_eq!(Scene { region: true, ..scene() }.split(split(2, 1)), Err(SplitRefusal::Region));
        assert_eq!(Scene { stereo: true, ..scene() }.split(split(2, 1)), Err(SplitRefusal::Stereo));
        assert_eq!(Scene { strips: true, ..scene() }.split(split(2, 1)), Err(SplitRefusal::Strips));
        assert_eq!(Scene { lines: true, ..scene() }.split(split(2, 1)), Err(SplitRefusal::Lines));
        let layered = Scene { layer_samples: true, ..scene() };
        assert_eq!(layered.split(split(1, 2)), Err(SplitRefusal::LayerSamples));
        assert_eq!(layered.split(split(2, 1)), Ok(Exactness::Exact));
        let depth = Scene { passes: vec!["use_pass_emit".into(), "use_pass_z".into()], ..scene() };
        assert_eq!(depth.split(split(1, 2)), Err(SplitRefusal::Pass("use_pass_z".into())));
        assert_eq!(depth.split(split(2, 1)), Ok(Exactness::Exact));
    }
}
