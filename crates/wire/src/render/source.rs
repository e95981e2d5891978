//! Where a scene is, and what is changed in it before it is rendered.
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::num::NonZeroU32;
use serde::{Deserialize, Serialize};

/// The longest path or name of a scene, in bytes.
pub const NAME_BYTES_MAX: usize = 1024;

/// What renders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Renderer {
    /// Paths of light; can be split.
    Cycles,
    /// What graphics cards draw; whole frames only.
    Eevee,
}

/// What Cycles computes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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

    proptest! {
        #[test]
        fn what_is_inside_has_no_step_up(path in "[a./\\\\]{0,12}") {
            if is_inside(&path) {
                prop_assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."));
            }
        }
    }
}
