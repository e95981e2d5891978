//! A task in a container.
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gleaner_sandbox::{self as sandbox, Engine, ImageSource, Job, Limits, Network, Stream};
use gleaner_wire::{Cause, Image, Millis, Sweep, Work};

use super::folder::CellFolder;
use super::save::Saver;
use super::supervise::{failure, supervise};
use super::task::{Task, failed, micros};
use super::{Cells, once};
use crate::arguments;
use crate::depot::Opened;
use crate::failure::{End, Failure, Run};
use crate::product::{Body, Product};

/// How long an image may take to arrive; that is nobody's running time.
const IMAGE_TIME_MAX: Duration = Duration::from_secs(3600);
/// Processes and threads of one attempt.
const PROCESSES_MAX: u32 = 1024;
/// Files and folders that one attempt may leave.
const FILES_MAX: u64 = 100_000;
/// The private `/tmp` of an attempt, at most; it counts as memory.
const TMP_BYTES_MAX: u64 = 1 << 30;
/// Standard output that is delivered where a program leaves no files.
const STDOUT_BYTES_MAX: usize = 1024 * 1024;

/// An image that the engine has.
pub struct ReadyImage {
    image: sandbox::Image,
    /// The dataset that it came from, so that it is there for others meanwhile.
    _data: Option<Arc<Opened>>,
}

impl ReadyImage {
    /// Has the engine get an image; `opened` is its dataset, if that is where it comes from.
    pub async fn get(
        engine: &Engine,
        image: &Image,
        opened: Option<Arc<Opened>>,
        progress: &mut (dyn FnMut(sandbox::PullProgress) + Send),
    ) -> Result<Self, Failure> {
        let source = match (image, &opened) {
            (Image::Registry { name, digest }, _) => ImageSource::Registry(format!("{name}@sha256:{digest}")),
            (Image::Data(_), Some(opened)) => in_dataset(opened.path())?,
            (Image::Data(_), None) => return Err(Failure::new(Cause::HubFault, "the image was not fetched")),
        };
        let image = engine.image(&source, IMAGE_TIME_MAX, progress).await.map_err(|error| image_fault(&error))?;
        Ok(Self { image, _data: opened })
    }
}

/// A dataset is an image as a folder in OCI layout, or as the one file of an archive.
fn in_dataset(folder: &Path) -> Result<ImageSource, Failure> {
    if folder.join("oci-layout").is_file() {
        return Ok(ImageSource::Layout(folder.to_owned()));
    }
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    match (entries.next(), entries.next()) {
        (Some(only), None) if only.is_file() => Ok(ImageSource::Archive(only)),
        (Some(only), None) if only.join("oci-layout").is_file() => Ok(ImageSource::Layout(only)),
        _ => Err(Failure::new(Cause::BadInput, "the image is neither a folder in OCI layout nor one archive of it")),
    }
}

fn image_fault(error: &sandbox::Error) -> Failure {
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    let cause = match error {
        sandbox::Error::Refused(_) | sandbox::Error::Image(_) => Cause::BadInput,
        sandbox::Error::Unavailable { .. } | sandbox::Error::PullTimeUp { .. } => Cause::RefusedByOwner,
        sandbox::Error::System { .. } | sandbox::Error::Engine { .. } => Cause::DeviceFault,
    };
    Failure::new(cause, format!("the image cannot be had: {error}{source}"))
}

/// What a job says of its container.
struct Ask<'a> {
    command: &'a [String],
    env: &'a [(String, String)],
    sweep: &'a [Sweep],
    cards: u16,
    network: bool,
    checkpoint_ms: Millis,
}

impl Cells {
    /// Runs an attempt in a container.
    pub fn run_container(&self, image: &ReadyImage, task: Task<'_>) -> Run {
        let Work::Container { command, env, sweep, cards, network, checkpoint_ms, .. } = &task.spec().work else {
            return failed(Duration::ZERO, Failure::new(Cause::HubFault, "this is no task for a container"));
        };
        let (cards, network, checkpoint_ms) = (*cards, *network, *checkpoint_ms);
        let ask = Ask { command, env, sweep, cards, network, checkpoint_ms };
        let Some(engine) = &self.containers else {
            return failed(Duration::ZERO, Failure::new(Cause::HubFault, "this worker does not offer containers"));
        };
        self.runtime.block_on(self.contained(engine, image, &ask, task))
    }

    async fn contained(&self, engine: &Engine, image: &ReadyImage, ask: &Ask<'_>, mut task: Task<'_>) -> Run {
        let cell = match self.furnished(&task) {
            Ok(cell) => cell,
            Err(failure) => return failed(Duration::ZERO, failure),
        };
        let job = self.job(ask, &task, &cell);
        let every = Duration::from_millis(ask.checkpoint_ms.0);
        let output_max = task.spec().limits.output;
        let (saving, sealing) = (task.delivery.saving(), task.sealing.clone());
        let mut saver = Saver::new(self.runtime.clone(), saving, sealing, &cell, &self.scratch, output_max, every);
        let (running, lines) = match engine.start(job, &image.image).await {
            Ok(started) => started,
            Err(error) => return failed(Duration::ZERO, start_fault(&error)),
        };
        let mut stdout = Vec::new();
        let mut keep = |line: &sandbox::Line| {
            if line.stream == Stream::Out && stdout.len() + line.text.len() < STDOUT_BYTES_MAX {
                stdout.extend_from_slice(line.text.as_bytes());
                stdout.push(b'\n');
            }
        };
        let freed = task.freed;
        let ending = supervise(running, lines, &mut task, self.grace, Some(&mut saver), &mut keep, freed).await;
        let ran = ending.usage.time;
        if task.delivery.is_recalled(task.attempt()) {
            saver.last().await;
            return Run { ran: micros(ran), end: End::Cancelled };
        }
        if task.watch.is_cancelled() {
            return Run { ran: micros(ran), end: End::Cancelled };
        }
        if let Some(failure) = failure(&ending, &task) {
            return failed(ran, failure);
        }
        match cell.take_outputs(output_max) {
            Ok(Product { files, .. }) if files.is_empty() => {
                let product = Product { stdout: Body::from(stdout), files };
                Run { ran: micros(ran), end: End::Done(product) }
            }
            Ok(product) => Run { ran: micros(ran), end: End::Done(product) },
            Err(failure) => failed(ran, failure),
        }
    }

    /// A folder with what the task reads, and what an earlier attempt has saved.
    pub(super) fn furnished(&self, task: &Task<'_>) -> Result<CellFolder, Failure> {
        let cell = CellFolder::new(&self.scratch)?;
        cell.put_inputs(&task.ready.inputs.folder)?;
        if let Some(saved) = &task.ready.checkpoint {
            cell.put_checkpoint(saved)?;
        }
        Ok(cell)
    }

    fn job(&self, ask: &Ask<'_>, task: &Task<'_>, cell: &CellFolder) -> Job {
        let (spec, index) = (task.spec(), task.ready.index);
        let values = Sweep::values_of(ask.sweep, index);
        let mut environment: BTreeMap<String, String> = values
            .iter()
            .map(|(name, value)| {
                (format!("GLEANER_{}", name.to_uppercase().replace(['-', '.'], "_")), (*value).to_owned())
            })
            .collect();
        environment.insert("GLEANER_INDEX".to_owned(), spec.extent.value(index).to_string());
        environment.insert("GLEANER_TASK".to_owned(), spec.name.clone());
        let filled = |text: &String| arguments::fill_one(text, &spec.extent, &values, index);
        environment.extend(ask.env.iter().map(|(name, value)| (name.clone(), filled(value))));
        Job {
            attempt: format!("a{}", task.attempt().0),
            command: ask.command.iter().map(filled).collect(),
            environment,
            folder: cell.folder.clone(),
            limits: self.limits(task),
            network: if ask.network { Network::Allowed } else { Network::None },
            devices: once(self.cards.iter().take(usize::from(ask.cards)).flat_map(|card| &card.containers)),
        }
    }

    pub(super) fn limits(&self, task: &Task<'_>) -> Limits {
        let limits = task.spec().limits;
        Limits { time: task.time(), ..self.limits_of(limits.memory, limits.output) }
    }

    /// What a program of a cell may take, but for its time.
    pub(super) fn limits_of(&self, memory_bytes: u64, disk_bytes: u64) -> Limits {
        Limits {
            time: Duration::ZERO,
            memory_bytes,
            processes: PROCESSES_MAX,
            cpu_milli: self.cpu_milli,
            disk_bytes,
            files: FILES_MAX,
            tmp_bytes: memory_bytes.min(TMP_BYTES_MAX),
        }
    }
}

pub(super) fn start_fault(error: &sandbox::Error) -> Failure {
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    let cause = match error {
        sandbox::Error::Refused(_) | sandbox::Error::Image(_) => Cause::BadInput,
        sandbox::Error::Unavailable { .. }
        | sandbox::Error::PullTimeUp { .. }
        | sandbox::Error::System { .. }
        | sandbox::Error::Engine { .. } => Cause::DeviceFault,
    };
    Failure::new(cause, format!("the program cannot be started: {error}{source}"))
}
