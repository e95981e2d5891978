//! The job file: what a requester writes, as TOML on disk and as JSON through the API.
//!
//! This module reads it into types and finds the line of a mistake; whether the job makes sense is for `core::plan`.
use alloc::collections::BTreeMap;
use alloc::string::String;
#[cfg(feature = "std")]
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::check::CheckFile;
use crate::market::Market;
use crate::render::{DeviceChoice, Format, Frames, Renderer, Split, Video};
use crate::{Amount, ByteSize, DataRef, DeviceNeed, Runtime};

/// The longest job file that is read.
pub const JOB_FILE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobFile {
    /// What people call it.
    pub name: String,
    /// What matters more, time or money.
    #[serde(default)]
    pub prefer: Prefer,
    /// The most it may cost and last.
    #[serde(default)]
    pub budget: Budget,
    /// How its workers are found and how firmly they are held.
    #[serde(default)]
    pub market: Market,
    /// What every task needs unless it says otherwise.
    #[serde(default)]
    pub needs: NeedsFile,
    /// The tasks; each may stand for many.
    #[serde(default, rename = "task")]
    pub tasks: Vec<TaskFile>,
}

/// What matters more when a worker is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Prefer {
    /// The earliest finish.
    Fast,
    /// The lowest price.
    Cheap,
    /// Half and half.
    #[default]
    Balanced,
}

/// The most that a job may cost and last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The price cap; without one, 1 GLN.
    pub price_max: Option<Amount>,
    /// The time limit of the whole job; without one, a day.
    pub time_max: Option<String>,
}

/// Needs as written; what is missing comes from the job or a default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NeedsFile {
    /// The kind of device.
    pub device: Option<DeviceNeed>,
    /// Memory of the device; also the task's memory limit.
    pub memory: Option<ByteSize>,
    /// The region.
    pub region: Option<String>,
    /// The least benchmark score.
    pub score_min: Option<u32>,
}

/// A `[[task]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TaskFile {
    /// The name, unique in the job.
    pub name: String,
    /// What runs it.
    pub runtime: Runtime,
    /// The program: a file beside the job file, or for a container its image as a folder in OCI layout or an archive.
    pub program: Option<Source>,
    /// One task for each number of a range.
    pub each: Option<String>,
    /// One task for each tile of a picture.
    pub tiles: Option<TilesFile>,
    /// One task for each combination of values; `{name}` stands for them in arguments.
    #[serde(default)]
    pub sweep: BTreeMap<String, Vec<String>>,
    /// What it reads.
    #[serde(default, rename = "input")]
    pub inputs: Vec<InputFile>,
    /// What it needs, over the job's needs.
    #[serde(default)]
    pub needs: NeedsFile,
    /// The time limit of one task; without one, 10 minutes.
    pub time_max: Option<String>,
    /// The most output of one task; without one, 64 MiB.
    pub output_max: Option<ByteSize>,
    /// Whether a known result of the same work may be used instead of running it.
    #[serde(default = "yes")]
    pub memo: bool,
    /// wasm: the arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// wgsl: what the kernel is and how it is dispatched.
    #[serde(default)]
    pub kernel: KernelFile,
    /// container: what runs in it and what it may use.
    #[serde(default)]
    pub container: ContainerFile,
    /// blender: what of the scene is rendered, and how.
    #[serde(default)]
    pub blender: BlenderFile,
    /// How two results of one task are compared; without it, as its runtime allows.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::described::CheckWritten>))]
    pub check: Option<CheckFile>,
}

/// What of a scene is rendered, and how. The program of the task is the scene's file, or a folder that has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BlenderFile {
    /// The path of the scene in the folder; needed if the program is one.
    pub scene: Option<String>,
    /// Which scene of the file; without a name, the one it was saved with.
    pub scene_name: Option<String>,
    /// The frames: `"1-250"`, `"1-250x5"`, `"3,7,9-12"`.
    pub frames: Option<Frames>,
    /// How each frame is split.
    #[serde(default)]
    pub split: Split,
    /// What the pictures are.
    #[serde(default)]
    pub format: Format,
    /// A film of all frames.
    pub video: Option<Video>,
    /// What renders; without it, what the scene says.
    pub engine: Option<Renderer>,
    /// What computes.
    #[serde(default)]
    pub device: DeviceChoice,
    /// Samples of each pixel; without a number, as the scene says.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>, minimum = 1))]
    pub samples: Option<NonZeroU32>,
    /// Width and height in pixels; without them, as the scene says.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<u32>>, min_items = 2, max_items = 2))]
    pub resolution: Option<[NonZeroU32; 2]>,
    /// Exactly this build of Blender; without one, the one that most owners have.
    pub build: Option<String>,
    /// What this task does for another one; job files leave it out.
    pub stage: Option<StageFile>,
}

/// A step of a rendering; see [`crate::Stage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StageFile {
    /// Looks at the scene.
    Look,
    /// Renders pieces.
    Pieces,
    /// Puts pieces together.
    Frames,
    /// Makes a film.
    Film,
}

/// What runs in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ContainerFile {
    /// The image in a registry, with its digest: `docker.io/library/python@sha256:…`.
    pub image: Option<String>,
    /// The command; without one, the image's own.
    #[serde(default)]
    pub command: Vec<String>,
    /// Environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How many graphics cards it uses; without a number, none.
    pub gpus: Option<u16>,
    /// Whether it needs the network.
    #[serde(default)]
    pub network: bool,
    /// How often `/checkpoint` is saved while it runs; without a time, every minute.
    pub checkpoint: Option<String>,
}

/// How a WGSL kernel is dispatched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct KernelFile {
    /// The entry point; without one, `main`.
    pub entry: Option<String>,
    /// An entry point dispatched once at the end.
    pub finish: Option<String>,
    /// How often the entry point is dispatched; without a number, once.
    pub passes: Option<u32>,
    /// Output bytes for each pixel or item; without a number, 4.
    pub output_bytes_per_item: Option<u32>,
    /// Scratch bytes for each pixel or item, kept between passes.
    pub scratch_bytes_per_item: Option<u32>,
    /// Items of an element that is not a tile; without a number, 1.
    pub items: Option<u32>,
    /// Numbers handed to the kernel.
    #[serde(default)]
    pub values: Vec<u32>,
    /// The most loop iterations an invocation makes in one pass; some devices need to know.
    pub loops_max: Option<u64>,
}

/// The tiles of a picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TilesFile {
    /// Width of the picture.
    pub width: u32,
    /// Height of the picture.
    pub height: u32,
    /// Width of a tile.
    pub tile_width: u32,
    /// Height of a tile.
    pub tile_height: u32,
}

/// An input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct InputFile {
    /// The name under which the task sees it.
    pub name: String,
    /// A file beside the job file.
    pub file: Option<Source>,
    /// A folder beside the job file.
    pub folder: Option<Source>,
    /// A dataset that was pushed before, by its name or reference.
    pub dataset: Option<String>,
    /// The task whose output it is.
    pub from: Option<String>,
    /// Whether each element reads only the output with its own index.
    #[serde(default)]
    pub same_index: bool,
    /// How many outputs each element reads: the first element the first so many, the second the next.
    pub per: Option<u32>,
}

/// Where data comes from: a path until the client has sealed and pushed it, a reference afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file or folder beside the job file.
    Path(String),
    /// A dataset, written `data:ROOT:BYTES:BYTES`.
    Data(DataRef),
}

fn yes() -> bool {
    true
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.write_str(path),
            Self::Data(data) => data.fmt(f),
        }
    }
}

impl FromStr for Source {
    type Err = crate::HashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("data:") { text.parse().map(Self::Data) } else { Ok(Self::Path(text.into())) }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Why a text is not a job file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobFileError {
    /// Too long.
    #[error("a job file of {0} bytes is over the limit of {JOB_FILE_BYTES_MAX}")]
    TooLarge(usize),
    /// A mistake on a line.
    #[error("line {line}: {reason}")]
    Toml {
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A mistake in JSON.
    #[error("{0}")]
    Json(String),
}

#[cfg(feature = "std")]
impl JobFile {
    /// Reads TOML.
    pub fn from_toml(text: &str) -> Result<Self, JobFileError> {
        if text.len() > JOB_FILE_BYTES_MAX {
            return Err(JobFileError::TooLarge(text.len()));
        }
        toml::from_str(text).map_err(|error| JobFileError::Toml {
            line: error.span().map_or(1, |span| line_at(text, span.start)),
            reason: error.message().to_string(),
        })
    }

    /// Reads JSON.
    pub fn from_json(text: &[u8]) -> Result<Self, JobFileError> {
        if text.len() > JOB_FILE_BYTES_MAX {
            return Err(JobFileError::TooLarge(text.len()));
        }
        serde_json::from_slice(text).map_err(|error| JobFileError::Json(error.to_string()))
    }
}

/// The line on which the thing at `path` stands (such as `task[2].input[0].from`), or the nearest thing around it.
#[cfg(feature = "std")]
pub fn line_of(text: &str, path: &str) -> Option<usize> {
    let document = toml::de::DeTable::parse(text).ok()?;
    let mut span = document.span();
    let mut steps = path.split(['.', '[']).map(|step| step.trim_end_matches(']'));
    let mut at = document.get_ref().get(steps.next()?);
    while let Some(value) = at {
        span = value.span();
        at = steps.next().and_then(|step| {
            let inner = value.get_ref();
            inner.as_table().map_or_else(|| inner.as_array()?.get(step.parse::<usize>().ok()?), |table| table.get(step))
        });
    }
    Some(line_at(text, span.start))
}

#[cfg(feature = "std")]
fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    const GRAPH: &str = r#"
name = "sum"
[budget]
price_max = "2 GLN"
[[task]]
name = "fork"
runtime = "wasm"
program = "fork.wasm"
each = "1..8"
[[task]]
name = "join"
runtime = "wasm"
program = "join.wasm"
[[task.input]]
name = "parts"
from = "fork"
"#;

    #[test]
    fn a_job_file_is_the_same_in_toml_and_json() {
        let job = JobFile::from_toml(GRAPH).expect("reads");
        let json = serde_json::to_vec(&job).expect("encodes");
        assert_eq!(JobFile::from_json(&json), Ok(job));
    }

    #[test]
    fn a_mistake_is_reported_with_its_line() {
        let wrong = GRAPH.replace("price_max = \"2 GLN\"", "price_max = \"two\"");
        let Err(JobFileError::Toml { line, reason }) = JobFile::from_toml(&wrong) else { panic!("accepted") };
        assert_eq!(line, 4);
        assert!(reason.contains("not an amount"), "{reason}");
        let unknown = GRAPH.replace("each", "eech");
        assert!(matches!(JobFile::from_toml(&unknown), Err(JobFileError::Toml { line: 9, .. })));
    }

    #[test]
    fn a_path_is_found_on_its_line() {
        assert_eq!(line_of(GRAPH, "task[1].input[0].from"), Some(16));
        assert_eq!(line_of(GRAPH, "task[0].each"), Some(9));
        assert_eq!(line_of(GRAPH, "task[1].input[7].from"), Some(14), "the nearest thing around it");
    }
}
