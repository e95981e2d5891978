//! Merging the pieces of a frame, which come from strangers: in a cell of its own, within the task's limits, by this very
//! program.
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use gleaner_blender::Fault;
use gleaner_blender::work::{self, Prepared};
use gleaner_sandbox::{self as sandbox, Bubblewrap, Job, Line, Network};
use gleaner_wire::render::Merge;
use gleaner_wire::{Cause, Stage};

use super::Cells;
use super::blender::{blame, furnish};
use super::container::start_fault;
use super::folder::{CellFolder, disk};
use super::supervise::{failure, supervise};
use super::task::{Task, failed, micros};
use crate::failure::{End, Failure, Run};

/// What this program is called with, after what makes it a helper.
const ROLE: &str = "merge";
/// What is to be merged, among the inputs.
const ORDER: &str = "merge.json";
/// Its codes: pieces that do not go together, and everything else.
const MISMATCH: u8 = 65;
const BROKEN: u8 = 74;
/// Last lines that explain a failure.
const LAST_LINES: usize = 4;

/// What came of a merge.
pub(super) enum Merged {
    /// The frame's light is among the inputs of the step that finishes it.
    Done {
        /// What that step has to know.
        prepared: Prepared,
        /// How long it took.
        took: Duration,
    },
    /// The attempt ended with it.
    Ended(Run),
}

impl Cells {
    /// Merges the pieces of a frame into a file among the inputs of `cell`.
    pub(super) async fn merge(
        &self,
        bubblewrap: &Bubblewrap,
        merging: &Merge,
        stage: &Stage,
        cell: &CellFolder,
        task: &mut Task<'_>,
    ) -> Result<Merged, Failure> {
        let home = CellFolder::new(&self.scratch)?;
        furnish(&home, stage, task)?;
        let order = serde_json::to_vec(merging).unwrap_or_default();
        std::fs::write(home.folder.inputs().join(ORDER), order).map_err(|error| disk(&error))?;
        let job = Job {
            attempt: format!("a{}-merge", task.attempt().0),
            command: bubblewrap.own_program(ROLE),
            environment: std::collections::BTreeMap::new(),
            folder: home.folder.clone(),
            limits: self.limits(task),
            network: Network::None,
            devices: Vec::new(),
        };
        let (running, lines) = bubblewrap.start(job).await.map_err(|error| start_fault(&error))?;
        let mut last = Vec::new();
        let mut keep = |line: &Line| {
            last.push(line.text.clone());
            let excess = last.len().saturating_sub(LAST_LINES);
            last.drain(..excess);
        };
        // The device is not free yet: Blender comes next.
        let ending = supervise(running, lines, task, self.grace, None, &mut keep, &|| {}).await;
        let took = ending.usage.time;
        if task.watch.is_cancelled() {
            return Ok(Merged::Ended(Run { ran: micros(took), end: End::Cancelled }));
        }
        let ended = match &ending.cause {
            sandbox::Cause::Finished => {
                let prepared = work::merged(&home.folder.outputs(), &cell.folder.inputs());
                return Ok(Merged::Done { prepared: prepared.map_err(|fault| blame(&fault))?, took });
            }
            sandbox::Cause::ProgramFault { exit_code } if *exit_code == i32::from(MISMATCH) => {
                Failure::new(Cause::BadInput, last.join("\n"))
            }
            sandbox::Cause::ProgramFault { exit_code } if *exit_code == i32::from(BROKEN) => {
                Failure::new(Cause::DeviceFault, last.join("\n"))
            }
            // Whatever the pieces did to it, they did it in there.
            sandbox::Cause::ProgramFault { exit_code } => {
                let text = format!("the pieces of the frame cannot be merged: code {exit_code}: {}", last.join("\n"));
                Failure::new(Cause::BadInput, text)
            }
            sandbox::Cause::OutOfMemory
            | sandbox::Cause::TimeUp
            | sandbox::Cause::DiskFull
            | sandbox::Cause::Stopped
            | sandbox::Cause::SandboxFault { .. } => {
                let unknown = || Failure::new(Cause::DeviceFault, "the sandbox failed");
                failure(&ending, task).unwrap_or_else(unknown)
            }
        };
        Ok(Merged::Ended(failed(took, ended)))
    }
}

/// Becomes the program that merges, if these arguments say so.
pub fn run_merge(arguments: &[String]) -> Option<ExitCode> {
    let [role] = arguments else { return None };
    (role == ROLE).then(|| merge_here(Path::new("/in"), Path::new("/out")))
}

#[expect(clippy::print_stderr, reason = "it is a program of its own, and says why it failed")]
fn merge_here(inputs: &Path, outputs: &Path) -> ExitCode {
    let order = std::fs::read(inputs.join(ORDER)).map_err(|error| error.to_string());
    let order = order.and_then(|text| serde_json::from_slice::<Merge>(&text).map_err(|error| error.to_string()));
    let merging = match order {
        Ok(merging) => merging,
        Err(error) => {
            eprintln!("what to merge cannot be read: {error}");
            return ExitCode::from(BROKEN);
        }
    };
    match work::merge(&merging, inputs, outputs) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{}", blame(&fault).detail);
            ExitCode::from(if matches!(fault, Fault::Pieces(_)) { MISMATCH } else { BROKEN })
        }
    }
}
