//! A step of a rendering, in a cell.
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gleaner_blender::card::Card;
use gleaner_blender::engine::{Device, Engine};
use gleaner_blender::process::{Ending, Exit, Invocation};
use gleaner_blender::render::Progress;
use gleaner_blender::scene::Scene;
use gleaner_blender::work::{self, Means, Outcome, Places};
use gleaner_blender::{Fault, plan};
use gleaner_sandbox::{self as sandbox, Job, Limits, Line, Network};
use gleaner_wire::render::{
    Cut, DeviceChoice, Facts, Film, Merge, Render, Renderer, Source, Step, picture_file, piece_file,
};
use gleaner_wire::{Cause, Micros, Stage, Work};

use super::container::start_fault;
use super::folder::{CellFolder, disk};
use super::merge::Merged;
use super::supervise::supervise;
use super::task::{Task, failed, micros};
use super::{Cells, once};
use crate::content::Content;
use crate::depot::Opened;
use crate::failure::{End, Failure, Run};
use crate::product::{Body, Product};

/// What Blender calls Cycles.
const CYCLES: &str = "CYCLES";
/// The name under which a step sees what the first one found.
const LOOK: &str = "look";
/// The name under which it sees the scene and what that links to.
const PROJECT: &str = "project";
/// Last lines that explain a failure.
const LAST_LINES: usize = 8;

/// The engine that renders here.
pub struct BlenderEngine {
    /// What it is.
    pub engine: Engine,
    /// What makes films, where that runs.
    pub ffmpeg: Option<PathBuf>,
}

impl Cells {
    /// A program of an engine in a cell.
    pub(super) fn process(
        &self,
        attempt: String,
        invocation: Invocation,
        cell: &CellFolder,
        limits: Limits,
    ) -> Result<Job, Failure> {
        let program = invocation.program.to_str().ok_or_else(|| Failure::new(Cause::DeviceFault, "a strange path"))?;
        Ok(Job {
            attempt,
            command: std::iter::once(program.to_owned()).chain(invocation.arguments).collect(),
            environment: invocation.environment,
            folder: cell.folder.clone(),
            limits,
            network: Network::None,
            devices: once(self.cards.iter().flat_map(|card| &card.processes)),
        })
    }
}

impl BlenderEngine {
    /// By what workers with equal results are known, for the processor or for a card.
    pub fn key(&self, choice: DeviceChoice, card: Option<&Card>) -> Option<String> {
        let device = self.engine.device(choice, card)?;
        let on = match device.kind {
            gleaner_blender::engine::DeviceKind::Cpu => String::new(),
            kind => format!("-{kind:?}").to_lowercase(),
        };
        let mut key = format!("{}{on}", self.engine.key());
        key.truncate(key.floor_char_boundary(KEY_CHARS_MAX));
        Some(key)
    }
}

/// What is left of a task's time after a merge, at least: a sandbox takes no limit of nothing.
const LEFT_TIME_MIN: Duration = Duration::from_millis(100);
/// An offer has no room for more.
const KEY_CHARS_MAX: usize = 64;

impl Cells {
    /// Does a step of a rendering.
    pub fn run_blender(&self, project: &Opened, mut task: Task<'_>) -> Run {
        match self.runtime.block_on(self.rendered(project, &mut task)) {
            Ok(run) => run,
            Err(failure) => failed(Duration::ZERO, failure),
        }
    }

    async fn rendered(&self, project: &Opened, task: &mut Task<'_>) -> Result<Run, Failure> {
        let missing = || Failure::new(Cause::HubFault, "this worker does not offer Blender");
        let (Some(blender), Some(bubblewrap)) = (&self.blender, &self.bubblewrap) else { return Err(missing()) };
        let Work::Blender { source, device, stage, .. } = &task.spec().work else { return Err(missing()) };
        let choice = if self.cards.is_empty() { DeviceChoice::Cpu } else { *device };
        let device = blender.engine.device(choice, self.card()).cloned().ok_or_else(missing)?;
        let cell = CellFolder::new(&self.scratch)?;
        link_folder(project.path(), &cell.folder.inputs().join(PROJECT)).map_err(|error| disk(&error))?;
        let source = Source { scene: scene_path(&cell, &source.scene)?, ..source.clone() };
        let step = step(stage, source, choice, task)?;
        if matches!(step, Step::Film(_)) && blender.ffmpeg.is_none() {
            return Err(Failure::new(Cause::RefusedByOwner, "this machine makes no films: it has no ffmpeg that runs"));
        }
        let means = Means {
            launch: blender.engine.launch.clone(),
            device: if matches!(step, Step::Render(_)) { device } else { Device::processor() },
            threads: self.threads(),
            // Never used where there is none.
            ffmpeg: blender.ffmpeg.clone().unwrap_or_default(),
        };
        let (prepared, before) = match &step {
            Step::Merge(merging) => match self.merge(bubblewrap, merging, stage, &cell, task).await? {
                Merged::Done { prepared, took } => (prepared, took),
                Merged::Ended(run) => return Ok(run),
            },
            Step::Inspect(_) | Step::Render(_) | Step::Film(_) => {
                furnish(&cell, stage, task)?;
                (work::prepare(&step, &cell.folder.inputs()).map_err(|fault| blame(&fault))?, Duration::ZERO)
            }
        };
        let places = Places { inputs: Path::new("/in"), outputs: Path::new("/out") };
        let invocation = work::invocation(&step, &prepared, &means, places).map_err(|fault| blame(&fault))?;
        // What the merge took is a part of the task's time.
        let limits = self.limits(task);
        let limits = Limits { time: limits.time.saturating_sub(before).max(LEFT_TIME_MIN), ..limits };
        let job = self.process(format!("a{}", task.attempt().0), invocation, &cell, limits)?;
        let (running, lines) = bubblewrap.start(job).await.map_err(|error| start_fault(&error))?;
        let mut last = Vec::new();
        let mut keep = |line: &Line| {
            if Progress::of(&line.text).is_none() {
                last.push(line.text.clone());
                let excess = last.len().saturating_sub(LAST_LINES);
                last.drain(..excess);
            }
        };
        let freed = task.freed;
        let ending = supervise(running, lines, task, self.grace, None, &mut keep, freed).await;
        let ran = micros(before + ending.usage.time);
        if task.watch.is_cancelled() {
            return Ok(Run { ran, end: End::Cancelled });
        }
        Ok(self.conclude(blender, &step, stage, &cell, &ending, last, ran, task))
    }

    #[expect(clippy::too_many_arguments, reason = "all of it is what came of one run")]
    fn conclude(
        &self,
        engine: &BlenderEngine,
        step: &Step,
        stage: &Stage,
        cell: &CellFolder,
        ending: &sandbox::Ending,
        last: Vec<String>,
        ran: Micros,
        task: &mut Task<'_>,
    ) -> Run {
        let failed = |failure| Run { ran, end: End::Failed(failure) };
        let exit = match &ending.cause {
            sandbox::Cause::Finished => Exit::Code(0),
            sandbox::Cause::ProgramFault { exit_code } => Exit::of_code(*exit_code),
            sandbox::Cause::OutOfMemory => Exit::OutOfMemory,
            sandbox::Cause::TimeUp => Exit::TimeUp(task.time()),
            sandbox::Cause::DiskFull | sandbox::Cause::Stopped | sandbox::Cause::SandboxFault { .. } => {
                let failure = super::supervise::failure(ending, task);
                return failed(failure.unwrap_or_else(|| Failure::new(Cause::DeviceFault, "the sandbox failed")));
            }
        };
        let outcome = work::conclude(step, &cell.folder.outputs(), &Ending { exit, last });
        match outcome.map_err(|fault| blame(&fault)) {
            Err(failure) => failed(failure),
            Ok(Outcome::Scene(scene)) => {
                tell_notes(&scene, task);
                match facts(&scene, stage, renderer(task), &engine.engine) {
                    Ok(facts) => Run { ran, end: End::Done(Product { stdout: Body::from(facts), files: Vec::new() }) },
                    Err(failure) => failed(failure),
                }
            }
            Ok(Outcome::File(_)) => match cell.take_outputs(task.spec().limits.output) {
                Ok(product) => Run { ran, end: End::Done(product) },
                Err(failure) => failed(failure),
            },
        }
    }

    fn threads(&self) -> NonZeroU32 {
        NonZeroU32::new(self.cpu_milli.div_ceil(1000)).unwrap_or(NonZeroU32::MIN)
    }
}

/// Everything of an opened dataset, by second names of its files; links stay links, since they stay within it.
fn link_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            link_folder(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, target)?;
        } else {
            std::fs::hard_link(entry.path(), &target).or_else(|_| std::fs::copy(entry.path(), &target).map(drop))?;
        }
    }
    Ok(())
}

/// Where the scene is, inside the folder of inputs.
fn scene_path(cell: &CellFolder, scene: &str) -> Result<String, Failure> {
    if !scene.is_empty() {
        return Ok(format!("{PROJECT}/{scene}"));
    }
    let folder = cell.folder.inputs().join(PROJECT);
    let mut entries = std::fs::read_dir(folder).map_err(|error| disk(&error))?.flatten();
    match (entries.next(), entries.next()) {
        (Some(only), None) => Ok(format!("{PROJECT}/{}", only.file_name().to_string_lossy())),
        _ => Err(Failure::new(Cause::BadInput, "the program is a folder: name the scene in it with blender.scene")),
    }
}

/// What this element is.
fn step(stage: &Stage, source: Source, device: DeviceChoice, task: &Task<'_>) -> Result<Step, Failure> {
    let index = task.ready.index;
    let missing = || Failure::new(Cause::HubFault, "the rendering has no such element");
    match stage {
        Stage::Look { .. } => Ok(Step::Inspect(source)),
        Stage::Pieces { frames, split, format } => {
            let piece = if split.pieces() == 1 {
                let frame = frames.at(index as usize).ok_or_else(missing)?;
                plan::Piece { frame, tile: None, samples: None }
            } else {
                let cut = cut(frames, split, task)?;
                cut.piece(u64::from(index)).ok_or_else(missing)?
            };
            Ok(Step::Render(Render { source, piece, format: *format, device }))
        }
        Stage::Frames { frames, split, format } => {
            let cut = cut(frames, split, task)?;
            let frame = frames.at(index as usize).ok_or_else(missing)?;
            let pieces = cut.pieces_at(index as usize).collect();
            Ok(Step::Merge(Merge { source, frame, size: cut.size(), pieces, format: *format }))
        }
        Stage::Film { video } => {
            let Some(Content::Gather(pictures)) = input(task, "frames") else {
                return Err(missing());
            };
            let rate = looked(task)?.rate.ok_or_else(missing)?;
            let pictures = u32::try_from(pictures.len()).map_err(|_| missing())?;
            Ok(Step::Film(Film { pictures, rate, video: *video }))
        }
    }
}

fn cut(frames: &plan::Frames, split: &plan::Split, task: &Task<'_>) -> Result<Cut, Failure> {
    let facts = looked(task)?;
    Cut::new(frames.clone(), *split, facts.size).map_err(|refusal| Failure::new(Cause::BadInput, refusal.to_string()))
}

fn input(task: &Task<'_>, name: &str) -> Option<Content> {
    task.ready.inputs.folder.child(name)
}

/// What the first step found.
fn looked(task: &Task<'_>) -> Result<Facts, Failure> {
    let unreadable = || Failure::new(Cause::BadInput, "what was found about the scene cannot be read");
    let bytes = input(task, LOOK).and_then(|look| look.read().ok()).ok_or_else(unreadable)?;
    serde_json::from_slice(&bytes).map_err(|_| unreadable())
}

/// Puts pieces and pictures where the step looks for them.
pub(super) fn furnish(cell: &CellFolder, stage: &Stage, task: &Task<'_>) -> Result<(), Failure> {
    let (name, path): (_, fn(usize) -> String) = match stage {
        Stage::Look { .. } | Stage::Pieces { .. } => return Ok(()),
        Stage::Frames { .. } => ("pieces", piece_file),
        Stage::Film { .. } => ("frames", picture_file),
    };
    let missing = || Failure::new(Cause::HubFault, "the rendering lacks pieces");
    let contents = match input(task, name).ok_or_else(missing)? {
        Content::Gather(contents) => contents,
        // A film of one frame.
        only => Arc::new(vec![only]),
    };
    for (position, content) in contents.iter().enumerate() {
        let file = only_file(content).ok_or_else(missing)?;
        let path = path(position);
        let folder = cell.folder.inputs().join(path.split('/').next().unwrap_or_default());
        std::fs::create_dir_all(folder).map_err(|error| disk(&error))?;
        cell.put_input(&path, &file)?;
    }
    Ok(())
}

/// The file of an output that is one, or a folder of one.
fn only_file(content: &Content) -> Option<Content> {
    match content {
        Content::Bytes(_) | Content::File(_) => Some(content.clone()),
        Content::Folder(entries) => {
            let mut entries = entries.values();
            entries.next().filter(|_| entries.next().is_none()).and_then(only_file)
        }
        Content::Gather(_) => None,
    }
}

/// What the job says that renders.
fn renderer(task: &Task<'_>) -> Option<Renderer> {
    match &task.spec().work {
        Work::Blender { source, .. } => source.engine,
        Work::Wasm { .. } | Work::Wgsl { .. } | Work::Container { .. } => None,
    }
}

/// What is wrong with a scene and stops it, or what its owner should know of it, in words.
fn problems(scene: &Scene, fatal: bool) -> Vec<String> {
    // Paths are as the engine saw them, inside its sandbox.
    let all = scene.problems(&Path::new("/in").join(PROJECT));
    all.iter().filter(|problem| problem.is_fatal() == fatal).map(ToString::to_string).collect()
}

/// Tells in the task's log what may be meant, and may not.
fn tell_notes(scene: &Scene, task: &mut Task<'_>) {
    for note in problems(scene, false) {
        task.log.write(format!("note: {note}\n").as_bytes());
    }
    task.log.flush();
}

/// What the other steps have to know of a scene, if nothing is wrong with it.
fn facts(scene: &Scene, stage: &Stage, engine: Option<Renderer>, here: &Engine) -> Result<Vec<u8>, Failure> {
    let Stage::Look { frames, split, video } = stage else { return Ok(Vec::new()) };
    let fatal = problems(scene, true);
    let bad = |text: String| Failure::new(Cause::BadInput, text);
    if !fatal.is_empty() {
        return Err(bad(format!("the scene cannot be rendered elsewhere: {}", fatal.join("; "))));
    }
    if scene.denoise && !here.denoiser {
        let text = "the scene is denoised, which this build of Blender ({}) cannot do: name another one with build in \
                    [task.blender], or switch denoising off in the scene";
        return Err(bad(text.replace("{}", &here.version.to_string())));
    }
    // Only then is the work given to machines that can draw it.
    if scene.engine != CYCLES && engine != Some(Renderer::Eevee) {
        let text =
            "the scene is made for {}: write engine = \"eevee\" in [task.blender], or \"cycles\" to render it so";
        return Err(bad(text.replace("{}", &scene.engine)));
    }
    if split.pieces() > 1 {
        scene.split(*split).map_err(|refusal| bad(refusal.to_string()))?;
        Cut::new(frames.clone(), *split, scene.facts().size).map_err(|refusal| bad(refusal.to_string()))?;
    }
    let facts = scene.facts();
    if video.is_some() && facts.rate.is_none() {
        return Err(bad("the scene's frames per second are no rate, so there can be no film".to_owned()));
    }
    Ok(serde_json::to_vec(&facts).unwrap_or_default())
}

pub(super) fn blame(fault: &Fault) -> Failure {
    let source = std::error::Error::source(fault).map(|source| format!(": {source}")).unwrap_or_default();
    Failure::new(fault.cause(), format!("{fault}{source}"))
}
