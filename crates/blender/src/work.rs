//! A step of a plan on the machine that does it: what to prepare, what to run, and what came of it.
//!
//! The three are apart, so that a worker can run the command in its own sandbox, which shows it the folder of inputs
//! (read-only), the folder of outputs, [`crate::engine::Engine::readable`] and the system's programs, and nothing else.
//! [`run`] does all three without a sandbox, for scenes of one's own.
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::{Device, Launch};
use crate::finish::Finishing;
use crate::merge::{self, Pass};
use crate::plan::{Film, Merge, PICTURES_FOLDER, Render, Step, picture_file, piece_file};
use crate::process::{self, Ending, Invocation};
use crate::render::{Progress, Rendering};
use crate::scene::{self, Scene};
use crate::{Fault, video};

/// Where the merged light of a frame is put, inside the folder of inputs.
pub const MERGED: &str = "merged.exr";
/// Where a merge that runs by itself leaves what the merged file holds.
const PASSES: &str = "passes.json";
/// What that may be in bytes: a picture has so many channels at most, and their names are short.
const PASSES_BYTES_MAX: u64 = 1 << 20;

/// What a machine does steps with.
#[derive(Clone, Debug)]
pub struct Means {
    /// The engine.
    pub launch: Launch,
    /// What computes.
    pub device: Device,
    /// Threads on the processor.
    pub threads: NonZeroU32,
    /// What makes films.
    pub ffmpeg: PathBuf,
}

/// The folders of a task as its command sees them.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The inputs: the sent folder, [`piece_file`]s, [`picture_file`]s.
    pub inputs: &'a Path,
    /// The outputs, empty at first.
    pub outputs: &'a Path,
}

/// What has to be known from preparing until the command is made.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    passes: Vec<Pass>,
}

/// What a step has made. The file is [`Step::output`] in the folder of outputs, and alone there.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// What the scene is; the file holds it as well.
    Scene(Box<Scene>),
    /// A picture, a piece or a film.
    File(PathBuf),
}

/// Makes the inputs ready, before the sandbox is: merges pieces into one file beside them, and looks whether all pictures of
/// a film are there. `inputs` is the folder as we see it. Pieces come from strangers, and are read here in this very process:
/// whoever does not trust them has [`merge()`] run in a sandbox instead.
pub fn prepare(step: &Step, inputs: &Path) -> Result<Prepared, Fault> {
    match step {
        Step::Inspect(_) | Step::Render(_) => Ok(Prepared::default()),
        Step::Merge(merging) => merge_pieces(merging, inputs),
        Step::Film(film) => look_for_pictures(film, inputs),
    }
}

/// A gap would be the end of the film, and nobody would be told.
fn look_for_pictures(film: &Film, inputs: &Path) -> Result<Prepared, Fault> {
    let is_there = |position| inputs.join(picture_file(position)).is_file();
    match (0..film.pictures as usize).find(|position| !is_there(*position)) {
        Some(position) => Err(Fault::Unreadable(format!("picture {position} of the film is missing"))),
        None => Ok(Prepared::default()),
    }
}

fn merge_pieces(merging: &Merge, inputs: &Path) -> Result<Prepared, Fault> {
    Ok(Prepared { passes: merge_into(merging, inputs, inputs)? })
}

/// Merges the pieces among `inputs` into a file of another folder.
fn merge_into(merging: &Merge, inputs: &Path, outputs: &Path) -> Result<Vec<Pass>, Fault> {
    let files: Vec<PathBuf> = (0..merging.pieces.len()).map(|position| inputs.join(piece_file(position))).collect();
    let light = merge::pieces(merging.size, &merging.pieces, &files)?;
    light.write(&outputs.join(MERGED)).map_err(merge::Mismatch::from)?;
    Ok(light.passes())
}

/// What [`prepare`] does for a merge, as a program of its own that may run in a sandbox: pieces come from strangers. What it
/// leaves among the outputs is taken up by [`merged`].
pub fn merge(merging: &Merge, inputs: &Path, outputs: &Path) -> Result<(), Fault> {
    let passes = serde_json::to_vec(&merge_into(merging, inputs, outputs)?).unwrap_or_default();
    std::fs::write(outputs.join(PASSES), passes).map_err(Fault::system("writing what was merged"))
}

/// Takes up what [`merge()`] has left, as a file that the step's command finds among its inputs.
pub fn merged(outputs: &Path, inputs: &Path) -> Result<Prepared, Fault> {
    let is_plain = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_file());
    let (picture, passes) = (outputs.join(MERGED), outputs.join(PASSES));
    let small = passes.symlink_metadata().is_ok_and(|found| found.len() <= PASSES_BYTES_MAX);
    if !is_plain(&picture) || !is_plain(&passes) || !small {
        return Err(Fault::Failed("the merge left no picture".into()));
    }
    let text = std::fs::read(&passes).map_err(Fault::system("reading what was merged"))?;
    let passes = serde_json::from_slice(&text).map_err(|_| Fault::Failed("the merge left no list of passes".into()))?;
    std::fs::rename(&picture, inputs.join(MERGED)).map_err(Fault::system("moving what was merged"))?;
    Ok(Prepared { passes })
}

/// The command.
pub fn invocation(step: &Step, prepared: &Prepared, means: &Means, places: Places<'_>) -> Result<Invocation, Fault> {
    let Places { inputs, outputs } = places;
    match step {
        Step::Inspect(source) => scene::invocation(&means.launch, inputs, source, outputs),
        Step::Render(render) => rendering(render, means, places).invocation(&means.launch),
        Step::Merge(merging) => {
            let finishing = Finishing {
                inputs,
                source: &merging.source,
                frame: merging.frame,
                merged: &inputs.join(MERGED),
                passes: &prepared.passes,
                format: merging.format,
                threads: means.threads,
                out: outputs,
            };
            finishing.invocation(&means.launch)
        }
        Step::Film(film) => {
            let pictures = inputs.join(PICTURES_FOLDER);
            Ok(video::invocation(&means.ffmpeg, &pictures, film.rate, film.video, &outputs.join(step.output()))?)
        }
    }
}

fn rendering<'a>(render: &'a Render, means: &'a Means, places: Places<'a>) -> Rendering<'a> {
    Rendering {
        inputs: places.inputs,
        source: &render.source,
        piece: render.piece,
        format: render.format,
        device: &means.device,
        threads: means.threads,
        out: places.outputs,
    }
}

/// Judges an ended command. `outputs` is the folder as we see it; the command must be gone for good.
pub fn conclude(step: &Step, outputs: &Path, ending: &Ending) -> Result<Outcome, Fault> {
    let file = outputs.join(step.output());
    match step {
        Step::Inspect(_) => {
            let scene = scene::conclude(outputs, ending)?;
            std::fs::write(&file, scene.to_json()).map_err(Fault::system(format!("writing {}", file.display())))?;
            Ok(Outcome::Scene(Box::new(scene)))
        }
        Step::Render(_) | Step::Merge(_) => crate::render::conclude(outputs, &step.output(), ending).map(Outcome::File),
        Step::Film(_) => Ok(Outcome::File(video::conclude(&file, ending).map(|()| file)?)),
    }
}

/// Does a step without a sandbox: for scenes of one's own.
pub fn run(
    step: &Step,
    means: &Means,
    places: Places<'_>,
    time_max: Duration,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, Fault> {
    let prepared = prepare(step, places.inputs)?;
    let invocation = invocation(step, &prepared, means, places)?;
    let mut on_line = |line: &str| Progress::of(line).into_iter().for_each(&mut *on_progress);
    let ending = process::run(&invocation, places.outputs, time_max, &mut on_line)?;
    conclude(step, places.outputs, &ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{DeviceChoice, Format, Piece, Rate, Source, Video};
    use gleaner_wire::Cause;

    #[test]
    fn a_film_with_a_gap_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(PICTURES_FOLDER)).expect("a folder");
        let film = |pictures| Step::Film(Film { pictures, rate: Rate { frames: 24, seconds: 1 }, video: Video::Mp4 });
        for position in [0, 1, 3] {
            std::fs::write(folder.path().join(picture_file(position)), "").expect("writes");
        }
        assert!(prepare(&film(2), folder.path()).is_ok());
        let fault = prepare(&film(4), folder.path()).expect_err("refused");
        assert!(fault.to_string().contains("picture 2"), "{fault}");
    }

    #[test]
    fn a_scene_outside_the_inputs_is_refused_before_anything_runs() {
        let means = Means {
            launch: Launch::Blender("/usr/bin/blender".into()),
            device: Device::processor(),
            threads: NonZeroU32::MIN,
            ffmpeg: "/usr/bin/ffmpeg".into(),
        };
        let piece = Piece { frame: 1, tile: None, samples: None };
        let source = Source::plain("../etc/scene.blend");
        let (format, device) = (Format::Png, DeviceChoice::Any);
        let places = Places { inputs: Path::new("/in"), outputs: Path::new("/out") };
        for step in [Step::Inspect(source.clone()), Step::Render(Render { source, piece, format, device })] {
            let fault = invocation(&step, &Prepared::default(), &means, places).expect_err("refused");
            assert_eq!(fault.cause(), Cause::BadInput, "{fault}");
        }
    }
}
