//! The final file of a frame out of its merged light: denoised, composed and coloured by Blender itself.
use serde::Serialize;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::Launch;
use crate::merge::Pass;
use crate::opening::Opening;
use crate::plan::{Format, Piece, Source};
use crate::process::{Ending, Invocation, run};
use crate::{Fault, render};

const FINISH: &str = include_str!("python/finish.py");

/// What is to be finished. Paths are as the engine sees them.
#[derive(Clone, Debug)]
pub struct Finishing<'a> {
    /// The folder of inputs.
    pub inputs: &'a Path,
    /// The scene in it.
    pub source: &'a Source,
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
    #[serde(flatten)]
    opening: Opening<'a>,
    frame: i32,
    merged: &'a Path,
    passes: &'a [Pass],
    format: Format,
    threads: NonZeroU32,
    out: &'a Path,
    file: String,
}

impl Finishing<'_> {
    /// The name of the picture in the output folder.
    pub fn file(&self) -> String {
        Piece { frame: self.frame, tile: None, samples: None }.file(self.format)
    }

    /// The command.
    pub fn invocation(&self, launch: &Launch) -> Result<Invocation, Fault> {
        let specification = Specification {
            opening: Opening::new(self.inputs, self.source)?,
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
        render::conclude(out, &self.file(), ending)
    }

    /// Finishes without a sandbox: for scenes of one's own.
    pub fn run(&self, launch: &Launch, time_max: Duration) -> Result<PathBuf, Fault> {
        let ending = run(&self.invocation(launch)?, self.out, time_max, &mut |_| {})?;
        self.conclude(self.out, &ending)
    }
}
