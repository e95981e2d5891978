//! The final file of a frame out of its merged light: denoised, composed and coloured by Blender itself.
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::Launch;
use crate::merge::Pass;
use crate::plan::Format;
use crate::process::{Ending, Invocation, run};
use crate::render::{frame_name, picture};
use crate::{Fault, answer};

const FINISH: &str = include_str!("python/finish.py");

/// What is to be finished. Paths are as the engine sees them.
#[derive(Clone, Debug)]
pub struct Finishing<'a> {
    /// The scene.
    pub scene: &'a Path,
    /// Which scene of the file; without a name, the one it was saved with.
    pub name: Option<&'a str>,
    /// The frame.
    pub frame: i32,
    /// The merged picture.
    pub merged: &'a Path,
    /// The passes of the merged picture.
    pub passes: &'a [Pass],
    /// What the final picture is.
    pub format: Format,
    /// Threads on the processor.
    pub threads: NonZeroU32,
    /// Where it goes.
    pub out: &'a Path,
}

#[derive(Serialize)]
struct Specification<'a> {
    scene: &'a Path,
    name: Option<&'a str>,
    frame: i32,
    merged: &'a Path,
    passes: &'a [Pass],
    format: Format,
    threads: NonZeroU32,
    out: &'a Path,
    file: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Finished {
    file: String,
}

impl Finishing<'_> {
    /// The name of the picture in the output folder.
    pub fn file(&self) -> String {
        format!("{}.{}", frame_name(self.frame), self.format.extension())
    }

    /// The command.
    pub fn invocation(&self, launch: &Launch) -> Invocation {
        let specification = Specification {
            scene: self.scene,
            name: self.name,
            frame: self.frame,
            merged: self.merged,
            passes: self.passes,
            format: self.format,
            threads: self.threads,
            out: self.out,
            file: self.file(),
        };
        launch.invocation(&[FINISH], &specification)
    }

    /// Judges an ended command: where the picture is, or why there is none. `out` is the output folder as we see it.
    pub fn conclude(&self, out: &Path, ending: &Ending) -> Result<PathBuf, Fault> {
        let finished: Finished = answer::read(out, ending)?;
        picture(out, &finished.file, &self.file())
    }

    /// Finishes without a sandbox: for scenes of one's own.
    pub fn run(&self, launch: &Launch, time_max: Duration) -> Result<PathBuf, Fault> {
        let ending = run(&self.invocation(launch), self.out, time_max, &mut |_| {})?;
        self.conclude(self.out, &ending)
    }
}
