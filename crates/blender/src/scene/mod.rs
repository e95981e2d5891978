//! What a scene is and needs, found out before anything is paid.
//!
//! The engine reads the file; what is wrong with it is decided here, from what the engine said.
mod problem;
mod split;

pub use problem::Problem;
pub use split::{Exactness, SplitRefusal};

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::Launch;
use crate::opening::Opening;
use crate::plan::{Facts, Rate, Size, Source};
use crate::process::{Ending, Invocation, run};
use crate::{Fault, answer};

const INSPECT: &str = include_str!("../python/inspect.py");
/// The rules of the add-on, so that it packs what is looked for here.
const FILES: &str = include_str!("../../../../integrations/blender/gleaner_render/files.py");

/// What a scene is, as the engine says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// Its name within the file.
    pub name: String,
    /// The first frame of its range.
    pub frame_first: i32,
    /// The last frame of its range.
    pub frame_last: i32,
    /// The step of its range.
    pub frame_step: i32,
    /// The frame it was saved at.
    pub frame_now: i32,
    /// Frames a second, and what to divide them by.
    pub frames_per_second: (f64, f64),
    /// Width in pixels, with the percentage counted in.
    pub width: u32,
    /// Height in pixels, with the percentage counted in.
    pub height: u32,
    /// `CYCLES`, `BLENDER_EEVEE` or another.
    pub engine: String,
    /// Samples of each pixel.
    pub samples: u32,
    /// Whether pixels may stop early.
    pub adaptive: bool,
    /// Whether a layer has its own number of samples.
    pub layer_samples: bool,
    /// Whether paths are guided by what was learned from others of the frame.
    pub guiding: bool,
    /// Whether it is denoised.
    pub denoise: bool,
    /// The camera.
    pub camera: Option<String>,
    /// The format it writes, in Blender's words.
    pub output: String,
    /// Whether only a region is rendered.
    pub region: bool,
    /// Whether it is rendered for two eyes.
    pub stereo: bool,
    /// Whether Freestyle draws lines over it.
    pub lines: bool,
    /// Whether the compositor works on it.
    pub compositing: bool,
    /// Whether it is a film of strips.
    pub strips: bool,
    /// Passes besides the picture.
    pub passes: Vec<String>,
    /// Simulations that are not baked.
    pub unbaked: Vec<String>,
    /// Scripts in it, which do not run.
    pub scripts: Vec<String>,
    /// The files it needs.
    pub files: Vec<File>,
}

/// A file that a scene needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// `texture`, `library` and so on.
    pub kind: String,
    /// The path as it is written in the scene; `//` is the scene's own folder.
    pub path: String,
    /// The same path on the machine that looked.
    pub resolved: PathBuf,
    /// Whether it is there.
    pub exists: bool,
    /// Whether a library names it, and not the scene itself.
    pub linked: bool,
    /// Who uses it.
    pub users: Vec<String>,
}

#[derive(Serialize)]
struct Specification<'a> {
    #[serde(flatten)]
    opening: Opening<'a>,
    out: &'a Path,
}

/// The command that looks at a scene. Paths are as the engine sees them.
pub fn invocation(launch: &Launch, inputs: &Path, source: &Source, out: &Path) -> Result<Invocation, Fault> {
    launch.invocation(&[FILES, INSPECT], &Specification { opening: Opening::new(inputs, source)?, out })
}

/// Judges an ended command. `out` is the output folder as we see it.
pub fn conclude(out: &Path, ending: &Ending) -> Result<Scene, Fault> {
    answer::read(out, ending)
}

/// Looks at a scene without a sandbox: for scenes of one's own.
pub fn inspect(launch: &Launch, inputs: &Path, source: &Source, time_max: Duration) -> Result<Scene, Fault> {
    let what = || format!("finding {}", inputs.display());
    let inputs = inputs.canonicalize().map_err(Fault::system(what()))?;
    let out = tempfile::tempdir().map_err(Fault::system("making a temporary folder"))?;
    let ending = run(&invocation(launch, &inputs, source, out.path())?, out.path(), time_max, &mut |_| {})?;
    conclude(out.path(), &ending)
}

impl Scene {
    /// What planning needs to know.
    pub fn facts(&self) -> Facts {
        let size = Size { width: self.width, height: self.height, samples: self.samples };
        Facts { size, rate: Rate::new(self.frames_per_second.0, self.frames_per_second.1) }
    }

    /// As the output of a task.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("what was JSON is JSON again")
    }

    /// Reads what a task, perhaps a stranger's, has put out.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Fault> {
        if bytes.len() as u64 > answer::BYTES_MAX {
            return Err(Fault::Failed("the description of the scene is too long".into()));
        }
        let why = |error| Fault::Failed(format!("the description of the scene cannot be read: {error}"));
        serde_json::from_slice(bytes).map_err(why)
    }
}
