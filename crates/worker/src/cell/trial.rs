//! Whether programs run in cells of this machine, found out by running some. Only what passed is offered.
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use gleaner_blender::engine::{Engine, Launch};
use gleaner_blender::process::{Ending, Exit, Invocation};
use gleaner_sandbox::{self as sandbox, Limits};
use gleaner_wire::Cause;
use gleaner_wire::render::DeviceChoice;

use super::blender::blame;
use super::container::start_fault;
use super::folder::CellFolder;
use super::found::{CONTAINER_TRIAL_TIME_MAX, in_words};
use super::{Cells, once};
use crate::failure::Failure;

/// What a few pixels may take. EEVEE compiles its shaders first, and Cycles what it runs on a card.
const PIXELS_TIME_MAX: Duration = Duration::from_secs(120);
const FFMPEG_TIME_MAX: Duration = Duration::from_secs(20);
const MEMORY: u64 = 2 << 30;
/// Last lines that explain a failure.
const LAST_LINES: usize = 8;

/// The command that renders a frame outside of any sandbox, which says more.
fn by_hand(launch: &Launch) -> String {
    match launch {
        Launch::Blender(program) => {
            let program = program.display();
            format!(
                "see what it says by hand: {program} --background --engine CYCLES --render-output /tmp/ --render-frame 1"
            )
        }
        Launch::Python(program) => {
            format!("see what it says by hand: {} -c 'import bpy; bpy.ops.render.render()'", program.display())
        }
    }
}

/// Why something does not run, and what to do about it.
pub(crate) type Why = (String, String);

impl Cells {
    /// Whether a container runs with the cards of this device.
    pub fn try_container(&self) -> Result<(), Why> {
        let missing = || ("there is no container engine".to_owned(), "start one".to_owned());
        let engine = self.containers.as_ref().ok_or_else(missing)?;
        let devices = once(self.cards.iter().flat_map(|card| &card.containers));
        let tried = self.runtime.block_on(engine.trial(&devices, &self.scratch, CONTAINER_TRIAL_TIME_MAX));
        tried.map_err(|error| {
            let (why, fix) = in_words(&error);
            (why, fix.unwrap_or_else(|| engine.restart()))
        })
    }

    /// Whether Cycles renders a few pixels in a cell of this device.
    pub fn try_cycles(&self, choice: DeviceChoice) -> Result<(), Why> {
        let missing = || ("there is no Blender here".to_owned(), "install one".to_owned());
        let engine = &self.blender.as_ref().ok_or_else(missing)?.engine;
        // Such as Debian's build, which computes on processors alone.
        let unknown = || {
            let why = format!("Cycles of Blender {} does not know this card", engine.version);
            (why, "unpack blender.org's program, and name it with --blender FOLDER/blender".to_owned())
        };
        let device = engine.device(choice, self.card()).ok_or_else(unknown)?;
        let trial = |engine: &Engine| engine.cycles_trial(device, Path::new("/out")).map_err(|fault| blame(&fault));
        self.draw("cycles-trial", trial).map_err(|failure| (failure.detail, by_hand(&engine.launch)))
    }

    /// Whether EEVEE draws in a cell of this device, found out by drawing a few pixels.
    pub fn draws(&self) -> bool {
        let drawn =
            self.draw("eevee-trial", |engine| engine.eevee_trial(Path::new("/out")).map_err(|fault| blame(&fault)));
        if let Err(failure) = &drawn {
            tracing::debug!(failure.detail, "EEVEE does not draw here");
        }
        drawn.is_ok()
    }

    /// Whether what makes films runs in a cell.
    pub(super) fn try_ffmpeg(&self, ffmpeg: &Path) -> Result<(), Why> {
        let invocation = Invocation {
            program: ffmpeg.to_owned(),
            arguments: vec!["-version".to_owned()],
            environment: BTreeMap::new(),
        };
        let tried = self.runtime.block_on(self.tried("ffmpeg-trial", invocation, FFMPEG_TIME_MAX));
        let why = match tried {
            Ok((_, Ending { exit: Exit::Code(0), .. })) => return Ok(()),
            Ok((_, Ending { exit, last })) => format!("{exit:?}: {}", last.join(" ")),
            Err(failure) => failure.detail,
        };
        let fix = "put an ffmpeg onto PATH that needs no libraries outside /usr".to_owned();
        Err((format!("{} does not run in a sandbox: {why}", ffmpeg.display()), fix))
    }

    fn draw(&self, name: &str, trial: impl FnOnce(&Engine) -> Result<Invocation, Failure>) -> Result<(), Failure> {
        let missing = || Failure::new(Cause::DeviceFault, "there is no Blender here");
        let invocation = trial(&self.blender.as_ref().ok_or_else(missing)?.engine)?;
        let (cell, ending) = self.runtime.block_on(self.tried(name, invocation, PIXELS_TIME_MAX))?;
        Engine::drew(&cell.folder.outputs(), &ending).map_err(|fault| blame(&fault))
    }

    /// Runs a program in an empty cell, to its end.
    async fn tried(&self, name: &str, invocation: Invocation, time: Duration) -> Result<(CellFolder, Ending), Failure> {
        let missing = || Failure::new(Cause::DeviceFault, "there is no sandbox here");
        let bubblewrap = self.bubblewrap.as_ref().ok_or_else(missing)?;
        let cell = CellFolder::new(&self.scratch)?;
        let limits = Limits { time, ..self.limits_of(MEMORY, MEMORY) };
        let job = self.process(name.to_owned(), invocation, &cell, limits)?;
        let (running, mut lines) = bubblewrap.start(job).await.map_err(|error| start_fault(&error))?;
        let mut last = Vec::new();
        let listen = async {
            while let Some(line) = lines.next().await {
                last.push(line.text);
                let excess = last.len().saturating_sub(LAST_LINES);
                last.drain(..excess);
            }
        };
        let (ending, ()) = tokio::join!(running.ending(), listen);
        let exit = match ending.cause {
            sandbox::Cause::Finished => Exit::Code(0),
            sandbox::Cause::ProgramFault { exit_code } => Exit::of_code(exit_code),
            sandbox::Cause::OutOfMemory => Exit::OutOfMemory,
            sandbox::Cause::TimeUp => Exit::TimeUp(time),
            sandbox::Cause::SandboxFault { what, remedy } => {
                return Err(Failure::new(Cause::DeviceFault, format!("{what}. {remedy}")));
            }
            sandbox::Cause::DiskFull | sandbox::Cause::Stopped => {
                return Err(Failure::new(Cause::DeviceFault, "the disk is full"));
            }
        };
        Ok((cell, Ending { exit, last }))
    }
}
