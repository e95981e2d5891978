//! What a worker is told about a `[[task]]`: once for all of its elements.
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::{DataRef, Extent, Millis, Runtime};

/// The program of a task and how to call it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// A WASI program. `{index}`, `{x}`, `{y}`, `{width}`, `{height}` in arguments are filled in for each element.
    Wasm {
        /// The module.
        module: DataRef,
        /// Its arguments, after the program name.
        args: Vec<String>,
    },
    /// A compute kernel; `docs/wgsl.md` says what is bound where.
    Wgsl {
        /// The WGSL source.
        kernel: DataRef,
        /// The entry point that is dispatched `passes` times.
        entry: String,
        /// An entry point dispatched once afterwards.
        finish: Option<String>,
        /// How often `entry` is dispatched.
        passes: u32,
        /// Bytes of output for each item (a pixel of a tile, or the one item of an array element).
        output_bytes_per_item: u32,
        /// Bytes of scratch memory for each item, kept between passes.
        scratch_bytes_per_item: u32,
        /// Items of an element that is not a tile.
        items: u32,
        /// Numbers handed to the kernel as they are.
        values: Vec<u32>,
    },
}

impl Work {
    /// The runtime that can do it.
    pub fn runtime(&self) -> Runtime {
        match self {
            Self::Wasm { .. } => Runtime::Wasm,
            Self::Wgsl { .. } => Runtime::Wgsl,
        }
    }

    /// The program: a dataset of one file.
    pub fn program(&self) -> DataRef {
        match self {
            Self::Wasm { module, .. } => *module,
            Self::Wgsl { kernel, .. } => *kernel,
        }
    }
}

/// An input of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputSpec {
    /// A file that came with the job.
    File {
        /// The name the task sees.
        name: String,
        /// A dataset of one file.
        data: DataRef,
    },
    /// A folder that came with the job.
    Folder {
        /// The name the task sees.
        name: String,
        /// Its content.
        data: DataRef,
    },
    /// The output of the one task of group `group`, or of its element with the same index.
    Output {
        /// The name the task sees.
        name: String,
        /// The group.
        group: u16,
    },
    /// The outputs of all elements of group `group`, as a folder of files named by index.
    Gather {
        /// The name the task sees.
        name: String,
        /// The group.
        group: u16,
    },
}

impl InputSpec {
    /// The name the task sees.
    pub fn name(&self) -> &str {
        match self {
            Self::File { name, .. }
            | Self::Folder { name, .. }
            | Self::Output { name, .. }
            | Self::Gather { name, .. } => name,
        }
    }

    /// The group whose output it is.
    pub fn group(&self) -> Option<u16> {
        match self {
            Self::File { .. } | Self::Folder { .. } => None,
            Self::Output { group, .. } | Self::Gather { group, .. } => Some(*group),
        }
    }

    /// What came with the job.
    pub fn data(&self) -> Option<DataRef> {
        match self {
            Self::File { data, .. } | Self::Folder { data, .. } => Some(*data),
            Self::Output { .. } | Self::Gather { .. } => None,
        }
    }
}

/// What a task may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Running time.
    pub time_ms: Millis,
    /// Memory in bytes.
    pub memory: u64,
    /// Output in bytes.
    pub output: u64,
}

/// What a worker is told about a `[[task]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// The name in the job file.
    pub name: String,
    /// The program.
    pub work: Work,
    /// What the elements are.
    pub extent: Extent,
    /// The inputs, in order.
    pub inputs: Vec<InputSpec>,
    /// What each element may use.
    pub limits: Limits,
}
