//! What a requester asks for: the `[task.blender]` table of a job file.
use alloc::string::String;
use core::num::NonZeroU32;
use serde::{Deserialize, Serialize};

use super::{Format, Frames, Split, Video};

/// The longest path or name of a scene, in bytes.
pub const NAME_BYTES_MAX: usize = 1024;

/// The `[task.blender]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The `.blend` file, as a path inside the folder that is sent.
    pub scene: String,
    /// Which scene of the file; without a name, the one it was saved with.
    #[serde(default)]
    pub scene_name: Option<String>,
    /// Which frames.
    pub frames: Frames,
    /// How each frame is split; without it, not at all.
    #[serde(default)]
    pub split: Split,
    /// What the pictures are; without it, PNG.
    #[serde(default)]
    pub format: Format,
    /// A film of all pictures; without it, none.
    #[serde(default)]
    pub video: Option<Video>,
    /// What renders; without it, what the scene says.
    #[serde(default)]
    pub engine: Option<Renderer>,
    /// What computes.
    #[serde(default)]
    pub device: DeviceChoice,
    /// Samples of each pixel; without a number, as the scene says.
    #[serde(default)]
    pub samples: Option<NonZeroU32>,
    /// Width and height in pixels; without them, as the scene says.
    #[serde(default)]
    pub resolution: Option<[NonZeroU32; 2]>,
}

/// What renders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Renderer {
    /// Paths of light; can be split.
    Cycles,
    /// What graphics cards draw; whole frames only.
    Eevee,
}

/// What Cycles computes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceChoice {
    /// A graphics card where there is one, otherwise the processor.
    #[default]
    Any,
    /// The processor: equal bits between equal engines.
    Cpu,
    /// A graphics card.
    Gpu,
}

/// Where a scene is and what is changed in it before it is rendered. The same for every step of a job, so that all of them
/// see the same scene.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The `.blend` file, as a path inside the folder of inputs.
    pub scene: String,
    /// Which scene of the file; without a name, the one it was saved with.
    pub name: Option<String>,
    /// What renders, if not what the scene says.
    pub engine: Option<Renderer>,
    /// Samples of each pixel, if not as many as the scene says.
    pub samples: Option<NonZeroU32>,
    /// Width and height in pixels, if not as the scene says.
    pub resolution: Option<[NonZeroU32; 2]>,
}

impl Source {
    /// A scene as it was saved.
    pub fn plain(scene: impl Into<String>) -> Self {
        Self { scene: scene.into(), name: None, engine: None, samples: None, resolution: None }
    }

    /// Whether its path stays inside the folder of inputs, and nothing is too long.
    pub fn is_sound(&self) -> bool {
        is_inside(&self.scene) && self.name.as_ref().is_none_or(|name| name.len() <= NAME_BYTES_MAX)
    }
}

impl Request {
    /// The scene as tasks see it. `folder` is the name of the input that holds the sent folder.
    pub fn source(&self, folder: &str) -> Source {
        Source {
            scene: alloc::format!("{folder}/{}", self.scene),
            name: self.scene_name.clone(),
            engine: self.engine,
            samples: self.samples,
            resolution: self.resolution,
        }
    }
}

/// Whether a path with forward slashes is relative and goes nowhere but down.
pub fn is_inside(path: &str) -> bool {
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    path.len() <= NAME_BYTES_MAX && !path.contains(['\0', '\\']) && path.split('/').all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_paths_that_go_down_are_inside() {
        for path in ["a.blend", "scenes/shot 1.blend", "..a/b"] {
            assert!(is_inside(path), "{path}");
        }
        for path in ["", "/a", "a/", "../a", "a/../b", "a//b", "./a", "a\0b", "a\\..\\b"] {
            assert!(!is_inside(path), "{path}");
        }
    }

    #[cfg(feature = "engine")]
    #[test]
    fn a_table_reads_with_its_defaults_and_refuses_what_it_does_not_know() {
        let read = |text| serde_json::from_str::<Request>(text);
        let plain = read(r#"{"scene":"a.blend","frames":"1-3"}"#).expect("a request");
        assert_eq!((plain.format, plain.video, plain.device), (Format::Png, None, DeviceChoice::Any));
        assert_eq!(plain.source("files"), Source::plain("files/a.blend"));
        let full = r#"{"scene":"a.blend","scene_name":"Shot","frames":"1-3","split":{"samples":2},"format":"exr",
            "engine":"cycles","device":"cpu","samples":16,"resolution":[640,480]}"#;
        let source = read(full).expect("a request").source("files");
        assert_eq!((source.engine, source.samples), (Some(Renderer::Cycles), NonZeroU32::new(16)));
        assert!(read(r#"{"scene":"a.blend","frames":"1-3","frame":1}"#).is_err());
        assert!(read(r#"{"scene":"a.blend","frames":"1-3","samples":0}"#).is_err());
        assert!(read(r#"{"scene":"a.blend"}"#).is_err());
    }

    proptest! {
        #[test]
        fn what_is_inside_has_no_step_up(path in "[a./\\\\]{0,12}") {
            if is_inside(&path) {
                prop_assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."));
            }
        }
    }
}
