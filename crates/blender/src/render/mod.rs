//! One frame, or one piece of it: the command that renders it, what it says while it does, and how it ended.
mod progress;
mod stamps;

pub use progress::Progress;

use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::{Device, DeviceKind, Launch};
use crate::opening::Opening;
use crate::plan::{Format, Piece, SampleRange, Source};
use crate::process::{Ending, Invocation, run};
use crate::{Fault, answer};
use gleaner_wire::Rect;

const RENDER: &str = include_str!("../python/render.py");

/// What is to be rendered, and with what. Paths are as the engine sees them.
#[derive(Clone, Debug)]
pub struct Rendering<'a> {
    /// The folder of inputs.
    pub inputs: &'a Path,
    /// The scene in it.
    pub source: &'a Source,
    /// What of it.
    pub piece: Piece,
    /// The format of a whole frame; pieces are 32-bit OpenEXR with all layers, before denoising and compositing.
    pub format: Format,
    /// What computes it.
    pub device: &'a Device,
    /// Threads on the processor.
    pub threads: NonZeroU32,
    /// Where the picture goes.
    pub out: &'a Path,
}

#[derive(Serialize)]
struct Specification<'a> {
    #[serde(flatten)]
    opening: Opening<'a>,
    frame: i32,
    tile: Option<Rect>,
    samples: Option<SampleRange>,
    format: Format,
    device: DeviceKind,
    device_id: Option<&'a str>,
    threads: NonZeroU32,
    out: &'a Path,
    file: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rendered {
    file: String,
}

impl Rendering<'_> {
    /// The name of the picture in the output folder.
    pub fn file(&self) -> String {
        self.piece.file(self.format)
    }

    /// The command.
    pub fn invocation(&self, launch: &Launch) -> Result<Invocation, Fault> {
        let specification = Specification {
            opening: Opening::new(self.inputs, self.source)?,
            frame: self.piece.frame,
            tile: self.piece.tile,
            samples: self.piece.samples,
            format: self.format,
            device: self.device.kind,
            device_id: (self.device.kind != DeviceKind::Cpu).then_some(self.device.id.as_str()),
            threads: self.threads,
            out: self.out,
            file: self.file(),
        };
        launch.invocation(&[RENDER], &specification)
    }

    /// Judges an ended command: where the picture is, or why there is none. `out` is the output folder as we see it.
    pub fn conclude(&self, out: &Path, ending: &Ending) -> Result<PathBuf, Fault> {
        conclude(out, &self.file(), ending)
    }

    /// Renders without a sandbox: for scenes of one's own.
    pub fn run(
        &self,
        launch: &Launch,
        time_max: Duration,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<PathBuf, Fault> {
        let mut on_line = |line: &str| {
            if let Some(progress) = Progress::of(line) {
                on_progress(progress);
            }
        };
        let ending = run(&self.invocation(launch)?, self.out, time_max, &mut on_line)?;
        self.conclude(self.out, &ending)
    }
}

/// The file that was asked for, if it is what the engine says it wrote, without what differs from run to run.
pub(crate) fn conclude(out: &Path, wanted: &str, ending: &Ending) -> Result<PathBuf, Fault> {
    let rendered: Rendered = answer::read(out, ending)?;
    let path = out.join(wanted);
    let plain = path.symlink_metadata().is_ok_and(|data| data.is_file());
    if rendered.file != wanted || !plain {
        return Err(Fault::Failed("the engine wrote no picture".into()));
    }
    stamps::remove(&path)?;
    Ok(path)
}
