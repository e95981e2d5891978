//! What a worker is told about a `[[task]]`: once for all of its elements.
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::render::{DeviceChoice, Format, Frames, Source, Split, Video};
use crate::{Check, DataRef, Extent, Hash, Millis, Runtime};

/// The image of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Image {
    /// One that a registry has.
    Registry {
        /// Registry and name, such as `docker.io/library/python`.
        name: String,
        /// The SHA-256 of its manifest, which fixes every byte of it.
        digest: Hash,
    },
    /// A dataset: a folder in OCI layout, or an archive of one.
    Data(DataRef),
}

/// One of several values that elements of a task differ in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// What stands in braces in arguments.
    pub name: String,
    /// What it stands for, one after the other.
    pub values: Vec<String>,
}

impl Sweep {
    /// The value of each name for one element: the last name changes quickest.
    pub fn values_of(sweeps: &[Self], index: u32) -> Vec<(&str, &str)> {
        let mut rest = index as usize;
        let mut values: Vec<(&str, &str)> = Vec::with_capacity(sweeps.len());
        for sweep in sweeps.iter().rev() {
            let count = sweep.values.len().max(1);
            values.push((&sweep.name, sweep.values.get(rest % count).map_or("", String::as_str)));
            rest /= count;
        }
        values.reverse();
        values
    }
}

/// What a task in Blender does. Elements are numbered as [`crate::render::Cut`] does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Looks at the scene: what it needs, and how large its pictures are. Everything that follows reads its answer.
    Look {
        /// The frames that are to be rendered.
        frames: Frames,
        /// How each is to be split.
        split: Split,
        /// The film that is to be made of them.
        video: Option<Video>,
    },
    /// Renders pieces of frames; whole frames if they are not split.
    Pieces {
        /// Which.
        frames: Frames,
        /// How each is split.
        split: Split,
        /// What whole frames are.
        format: Format,
    },
    /// Puts the pieces of each frame together.
    Frames {
        /// Which.
        frames: Frames,
        /// How each was split.
        split: Split,
        /// What they are.
        format: Format,
    },
    /// Makes a film of all frames.
    Film {
        /// What it is.
        video: Video,
    },
}

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
    /// A program in a container. Its inputs are folders and files under `/in`, what it leaves under `/out` is its output,
    /// and what it writes to `/checkpoint` comes with it to another machine.
    Container {
        /// The image.
        image: Image,
        /// The command, in place of the image's own; braces are filled in as in arguments.
        command: Vec<String>,
        /// Environment, with the same.
        env: Vec<(String, String)>,
        /// What elements differ in.
        sweep: Vec<Sweep>,
        /// How many graphics cards it uses.
        cards: u16,
        /// Whether it may reach the network; only machines whose owner allows that take it.
        network: bool,
        /// How often `/checkpoint` is saved while it runs.
        checkpoint_ms: Millis,
    },
    /// A scene in Blender.
    Blender {
        /// The scene with everything that it links to.
        project: DataRef,
        /// Which scene, and what is changed in it. Without a path, the project is the one file of the scene.
        source: Source,
        /// What computes it.
        device: DeviceChoice,
        /// What is done with it.
        stage: Stage,
    },
}

impl Work {
    /// The runtime that can do it.
    pub fn runtime(&self) -> Runtime {
        match self {
            Self::Wasm { .. } => Runtime::Wasm,
            Self::Wgsl { .. } => Runtime::Wgsl,
            Self::Container { .. } => Runtime::Container,
            Self::Blender { .. } => Runtime::Blender,
        }
    }

    /// The digest of the image, if it comes from a registry.
    pub fn registry_image(&self) -> Option<Hash> {
        match self {
            Self::Container { image: Image::Registry { digest, .. }, .. } => Some(*digest),
            Self::Container { image: Image::Data(_), .. }
            | Self::Wasm { .. }
            | Self::Wgsl { .. }
            | Self::Blender { .. } => None,
        }
    }

    /// The program, if it came with the job: a dataset.
    pub fn program(&self) -> Option<DataRef> {
        match self {
            Self::Wasm { module, .. } => Some(*module),
            Self::Wgsl { kernel, .. } => Some(*kernel),
            Self::Container { image: Image::Data(data), .. } => Some(*data),
            Self::Blender { project, .. } => Some(*project),
            Self::Container { image: Image::Registry { .. }, .. } => None,
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
        /// What its elements are.
        extent: Extent,
    },
    /// The outputs of all elements of group `group`, as a folder of files named by index.
    Gather {
        /// The name the task sees.
        name: String,
        /// The group.
        group: u16,
        /// What its elements are.
        extent: Extent,
    },
    /// Of the outputs of group `group`, as many as each element's turn has, as a folder of files named by index.
    Share {
        /// The name the task sees.
        name: String,
        /// The group.
        group: u16,
        /// What its elements are.
        extent: Extent,
        /// How many: the first element reads the first so many, the second the next.
        per: u32,
    },
}

impl InputSpec {
    /// The name the task sees.
    pub fn name(&self) -> &str {
        match self {
            Self::File { name, .. }
            | Self::Folder { name, .. }
            | Self::Output { name, .. }
            | Self::Gather { name, .. }
            | Self::Share { name, .. } => name,
        }
    }

    /// The group whose output it is.
    pub fn group(&self) -> Option<u16> {
        match self {
            Self::File { .. } | Self::Folder { .. } => None,
            Self::Output { group, .. } | Self::Gather { group, .. } | Self::Share { group, .. } => Some(*group),
        }
    }

    /// What came with the job.
    pub fn data(&self) -> Option<DataRef> {
        match self {
            Self::File { data, .. } | Self::Folder { data, .. } => Some(*data),
            Self::Output { .. } | Self::Gather { .. } | Self::Share { .. } => None,
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
    /// How two results of one element are compared.
    pub check: Check,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::format;
    use alloc::vec;
    use proptest::prelude::*;

    fn sweep(name: &str, count: usize) -> Sweep {
        Sweep { name: name.into(), values: (0..count).map(|value| format!("{name}{value}")).collect() }
    }

    #[test]
    fn the_last_name_of_a_sweep_changes_quickest() {
        let sweeps = [sweep("a", 2), sweep("b", 3)];
        assert_eq!(Sweep::values_of(&sweeps, 0), [("a", "a0"), ("b", "b0")]);
        assert_eq!(Sweep::values_of(&sweeps, 2), [("a", "a0"), ("b", "b2")]);
        assert_eq!(Sweep::values_of(&sweeps, 3), [("a", "a1"), ("b", "b0")]);
        assert!(Sweep::values_of(&[], 7).is_empty());
        assert_eq!(Sweep::values_of(&[Sweep { name: "none".into(), values: vec![] }], 7), [("none", "")]);
    }

    proptest! {
        #[test]
        fn a_sweep_has_every_combination_once(counts in prop::collection::vec(1..5_usize, 0..4)) {
            let sweeps: Vec<Sweep> = (0..).zip(&counts).map(|(at, count): (u8, _)| sweep(&format!("n{at}-"), *count)).collect();
            let all = counts.iter().product::<usize>();
            let seen: BTreeSet<_> = (0..all as u32).map(|index| Sweep::values_of(&sweeps, index)).collect();
            prop_assert_eq!(seen.len(), all);
            prop_assert!(seen.iter().all(|values| values.len() == counts.len()));
        }
    }
}
