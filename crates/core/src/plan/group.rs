//! One `[[task]]`: its extent, program, inputs, limits and needs.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::job_file::{BlenderFile, ContainerFile, InputFile, JobFile, KernelFile, NeedsFile, Source, TaskFile};
use gleaner_wire::{
    ByteSize, DataRef, DeviceNeed, Each, Extent, InputSpec, Limits, Millis, Needs, Runtime, TaskSpec, Work,
};

use super::{Error, Group, Reason, is_name, is_printable, span};

const TASK_TIME_DEFAULT: Millis = Millis(600_000);
const OUTPUT_DEFAULT: ByteSize = ByteSize::mib(64);
const OUTPUT_MAX: ByteSize = ByteSize::mib(16 * 1024);
const WASM_MEMORY_DEFAULT: ByteSize = ByteSize::mib(256);
const WASM_MEMORY_MAX: ByteSize = ByteSize::mib(4096);
const PROCESS_MEMORY_DEFAULT: ByteSize = ByteSize::mib(1024);
const KERNEL_MEMORY_SPARE: ByteSize = ByteSize::mib(64);
const BUFFERS_MAX: ByteSize = ByteSize::mib(64 * 1024);
const SIDE_MAX: u32 = 65_536;
const INPUTS_MAX: usize = 256;
const ARGS_MAX: usize = 256;
const ARGS_BYTES_MAX: usize = 64 * 1024;
const VALUES_MAX: usize = 48;
const PASSES_MAX: u32 = 1_000_000;

pub(super) fn extent(task: &TaskFile, at: usize) -> Result<Extent, Error> {
    if task.runtime == Runtime::Blender {
        return super::blender::extent(task, at);
    }
    let combinations = super::container::combinations(task, at)?;
    match (&task.each, &task.tiles) {
        (Some(_), _) | (_, Some(_)) if combinations > 1 => {
            Err(Error::new(format!("task[{at}].sweep"), Reason::TwoExtents))
        }
        (None, None) if combinations > 1 => Ok(Extent::Array(Each::first(combinations))),
        (None, None) => Ok(Extent::Single),
        (Some(each), None) => {
            let each = each.parse().map_err(|error| Error::new(format!("task[{at}].each"), Reason::Each(error)))?;
            Ok(Extent::Array(each))
        }
        (None, Some(tiles)) => {
            let sides = [(tiles.tile_width, tiles.width), (tiles.tile_height, tiles.height)];
            if sides.iter().any(|(tile, whole)| *tile == 0 || tile > whole || *whole > SIDE_MAX) {
                return Err(Error::new(format!("task[{at}].tiles"), Reason::Tiles));
            }
            let (width, height) = (tiles.width, tiles.height);
            Ok(Extent::Tiles { width, height, tile_width: tiles.tile_width, tile_height: tiles.tile_height })
        }
        (Some(_), Some(_)) => Err(Error::new(format!("task[{at}].tiles"), Reason::TwoExtents)),
    }
}

pub(super) fn plan_group(
    file: &JobFile,
    at: usize,
    names: &BTreeMap<&str, u16>,
    extents: &[Extent],
) -> Result<Group, Error> {
    let task = &file.tasks[at];
    let extent = extents[at];
    let inputs = inputs(task, at, names, extents)?;
    let work = work(task, at)?;
    let needs = needs(&file.needs, task, at, &work, &extent)?;
    let output = task.output_max.unwrap_or(OUTPUT_DEFAULT);
    if output > OUTPUT_MAX {
        return Err(Error::new(format!("task[{at}].output_max"), Reason::Range("output_max", "at most 16GiB")));
    }
    let time_ms = span(&format!("task[{at}].time_max"), task.time_max.as_deref(), TASK_TIME_DEFAULT)?;
    let limits = Limits { time_ms, memory: needs.memory.0, output: output.0 };
    let check = super::check::check(task, at, &work, &extent, &inputs)?;
    let spec = TaskSpec { name: task.name.clone(), work, extent, inputs, limits, check };
    Ok(Group { spec, needs, memo: task.memo })
}

fn inputs(
    task: &TaskFile,
    at: usize,
    names: &BTreeMap<&str, u16>,
    extents: &[Extent],
) -> Result<Vec<InputSpec>, Error> {
    if task.inputs.len() > INPUTS_MAX {
        return Err(Error::new(format!("task[{at}].input"), Reason::Range("the number of inputs", "at most 256")));
    }
    let mut inputs: Vec<InputSpec> = Vec::with_capacity(task.inputs.len());
    for (position, input) in task.inputs.iter().enumerate() {
        let place = |field: &str| format!("task[{at}].input[{position}]{field}");
        if !is_name(&input.name) {
            return Err(Error::new(place(".name"), Reason::Name(input.name.clone())));
        }
        if inputs.iter().any(|seen| seen.name() == input.name) {
            return Err(Error::new(place(".name"), Reason::NameTwice(input.name.clone())));
        }
        inputs.push(input_spec(input, extents[at].count(), names, extents, place)?);
    }
    Ok(inputs)
}

fn input_spec(
    input: &InputFile,
    ours: u64,
    names: &BTreeMap<&str, u16>,
    extents: &[Extent],
    place: impl Fn(&str) -> String,
) -> Result<InputSpec, Error> {
    let name = input.name.clone();
    if let Some(dataset) = &input.dataset {
        return Err(Error::new(place(".dataset"), Reason::NotStored(dataset.clone())));
    }
    match (&input.file, &input.folder, &input.from) {
        (Some(file), None, None) => Ok(InputSpec::File { name, data: stored(file, place(".file"))? }),
        (None, Some(folder), None) => Ok(InputSpec::Folder { name, data: stored(folder, place(".folder"))? }),
        (None, None, Some(from)) => {
            let unknown = || Error::new(place(".from"), Reason::UnknownTask(from.clone()));
            let group = *names.get(from.as_str()).ok_or_else(unknown)?;
            let extent = extents[usize::from(group)];
            let theirs = extent.count();
            if let Some(per) = input.per {
                if per == 0 || ours.checked_mul(u64::from(per)) != Some(theirs) {
                    return Err(Error::new(place(".per"), Reason::Per { from: from.clone(), theirs, ours, per }));
                }
                return Ok(InputSpec::Share { name, group, extent, per });
            }
            if input.same_index && theirs != ours {
                let reason = Reason::SameIndex { from: from.clone(), theirs, ours };
                return Err(Error::new(place(".same_index"), reason));
            }
            let single = input.same_index || theirs == 1;
            Ok(if single {
                InputSpec::Output { name, group, extent }
            } else {
                InputSpec::Gather { name, group, extent }
            })
        }
        (None, None, None) | (Some(_), Some(_), _) | (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
            Err(Error::new(place(""), Reason::InputForm))
        }
    }
}

pub(super) fn stored(source: &Source, at: String) -> Result<DataRef, Error> {
    match source {
        Source::Data(data) => Ok(*data),
        Source::Path(path) => Err(Error::new(at, Reason::NotStored(path.clone()))),
    }
}

fn work(task: &TaskFile, at: usize) -> Result<Work, Error> {
    let foreign = |field: &str, is_set: bool, of| match is_set {
        true => Err(Error::new(format!("task[{at}].{field}"), Reason::WrongRuntime(of, of_runtime(of)))),
        false => Ok(()),
    };
    let runtime = task.runtime;
    foreign("kernel", runtime != Runtime::Wgsl && task.kernel != KernelFile::default(), "kernel")?;
    foreign("args", runtime != Runtime::Wasm && !task.args.is_empty(), "args")?;
    foreign("container", runtime != Runtime::Container && task.container != ContainerFile::default(), "container")?;
    foreign("blender", runtime != Runtime::Blender && task.blender != BlenderFile::default(), "blender")?;
    foreign("sweep", runtime != Runtime::Container && !task.sweep.is_empty(), "sweep")?;
    let program = || {
        let at = format!("task[{at}].program");
        let program = task.program.as_ref().ok_or_else(|| Error::new(&*at, Reason::NoProgram(runtime)))?;
        stored(program, at)
    };
    match runtime {
        Runtime::Wasm => {
            let bytes: usize = task.args.iter().map(String::len).sum();
            if task.args.len() > ARGS_MAX || bytes > ARGS_BYTES_MAX || task.args.iter().any(|arg| arg.contains('\0')) {
                let reason = Reason::Range("args", "at most 256 texts of 64 KiB in all, without zero bytes");
                return Err(Error::new(format!("task[{at}].args"), reason));
            }
            Ok(Work::Wasm { module: program()?, args: task.args.clone() })
        }
        Runtime::Wgsl => kernel(&task.kernel, at, program()?),
        Runtime::Container => super::container::work(task, at),
        Runtime::Blender => super::blender::work(task, at),
    }
}

/// The runtime that a setting belongs to.
fn of_runtime(field: &str) -> &'static str {
    match field {
        "kernel" => "wgsl",
        "args" => "wasm",
        "blender" => "blender",
        _ => "container",
    }
}

fn kernel(file: &KernelFile, at: usize, kernel: DataRef) -> Result<Work, Error> {
    let refuse =
        |field: &str, what, rule| Err(Error::new(format!("task[{at}].kernel.{field}"), Reason::Range(what, rule)));
    let passes = file.passes.unwrap_or(1);
    if !(1..=PASSES_MAX).contains(&passes) {
        return refuse("passes", "passes", "1 to 1,000,000");
    }
    let output_bytes_per_item = file.output_bytes_per_item.unwrap_or(4);
    if !(4..=65_536).contains(&output_bytes_per_item) || !output_bytes_per_item.is_multiple_of(4) {
        return refuse("output_bytes_per_item", "output_bytes_per_item", "a multiple of 4 up to 65,536");
    }
    let scratch_bytes_per_item = file.scratch_bytes_per_item.unwrap_or(0);
    if scratch_bytes_per_item > 65_536 || !scratch_bytes_per_item.is_multiple_of(4) {
        return refuse("scratch_bytes_per_item", "scratch_bytes_per_item", "a multiple of 4 up to 65,536");
    }
    let items = file.items.unwrap_or(1);
    if items == 0 {
        return refuse("items", "items", "at least 1");
    }
    if file.values.len() > VALUES_MAX {
        return refuse("values", "values", "at most 48 numbers");
    }
    let entry = file.entry.clone().unwrap_or_else(|| "main".into());
    if !is_printable(&entry, 64) || file.finish.as_ref().is_some_and(|finish| !is_printable(finish, 64)) {
        return refuse("entry", "entry and finish", "names of at most 64 characters");
    }
    let (finish, values) = (file.finish.clone(), file.values.clone());
    Ok(Work::Wgsl { kernel, entry, finish, passes, output_bytes_per_item, scratch_bytes_per_item, items, values })
}

fn needs(job: &NeedsFile, task: &TaskFile, at: usize, work: &Work, extent: &Extent) -> Result<Needs, Error> {
    let place = |field: &str| format!("task[{at}].needs.{field}");
    let device = task.needs.device.or(job.device).unwrap_or_default();
    let region = task.needs.region.clone().or_else(|| job.region.clone());
    if region.as_ref().is_some_and(|region| !is_printable(region, 64)) {
        return Err(Error::new(place("region"), Reason::Text(64)));
    }
    let asked = task.needs.memory.or(job.memory);
    let memory = match work {
        Work::Wasm { .. } => wasm_memory(device, asked, place)?,
        Work::Wgsl { .. } => kernel_memory(device, asked, buffers(work, extent), place)?,
        Work::Container { .. } | Work::Blender { .. } => asked.unwrap_or(PROCESS_MEMORY_DEFAULT),
    };
    let eevee = super::blender::draws(work);
    let (device, cards, network) = match work {
        Work::Container { cards, network, .. } => (container_device(device, *cards, place)?, (*cards).max(1), *network),
        Work::Blender { device: choice, .. } => (super::blender::device(device, *choice), 1, false),
        Work::Wasm { .. } | Work::Wgsl { .. } => (device, 1, false),
    };
    let score_min = task.needs.score_min.or(job.score_min).unwrap_or(0);
    let (runtime, loops_max, engine) = (task.runtime, task.kernel.loops_max, task.blender.build.clone());
    Ok(Needs { runtime, device, memory, region, score_min, loops_max, engine, cards, network, eevee })
}

/// A container that uses cards runs on a device that has them, any other on the processor.
fn container_device(device: DeviceNeed, cards: u16, place: impl Fn(&str) -> String) -> Result<DeviceNeed, Error> {
    match (device, cards) {
        (DeviceNeed::Any | DeviceNeed::Cpu, 0) => Ok(DeviceNeed::Cpu),
        (DeviceNeed::Any, _) => Ok(DeviceNeed::Gpu),
        (DeviceNeed::Cpu | DeviceNeed::Software, _) => {
            Err(Error::new(place("device"), Reason::Range("the device of a container with gpus", "a kind of GPU")))
        }
        (_, 0) => {
            Err(Error::new(place("device"), Reason::Range("container.gpus", "at least 1 where needs.device is a GPU")))
        }
        (device, _) => Ok(device),
    }
}

fn wasm_memory(device: DeviceNeed, asked: Option<ByteSize>, place: impl Fn(&str) -> String) -> Result<ByteSize, Error> {
    if !matches!(device, DeviceNeed::Any | DeviceNeed::Cpu) {
        return Err(Error::new(place("device"), Reason::ImpossibleDevice("GPU", "wasm")));
    }
    let memory = asked.unwrap_or(WASM_MEMORY_DEFAULT);
    if memory > WASM_MEMORY_MAX {
        return Err(Error::new(place("memory"), Reason::Range("the memory of a wasm task", "at most 4GiB")));
    }
    Ok(memory)
}

fn kernel_memory(
    device: DeviceNeed,
    asked: Option<ByteSize>,
    buffers: ByteSize,
    place: impl Fn(&str) -> String,
) -> Result<ByteSize, Error> {
    if device == DeviceNeed::Cpu {
        return Err(Error::new(place("device"), Reason::ImpossibleDevice("cpu", "wgsl")));
    }
    if buffers > BUFFERS_MAX {
        return Err(Error::new(place("memory"), Reason::Range("the buffers of a kernel", "at most 64GiB")));
    }
    let memory = asked.unwrap_or(ByteSize(buffers.0 + KERNEL_MEMORY_SPARE.0));
    if memory < buffers {
        return Err(Error::new(place("memory"), Reason::BuffersOverMemory { buffers, memory }));
    }
    Ok(memory)
}

/// Output, scratch and files; outputs of other tasks are not known yet and count when they are bound.
fn buffers(work: &Work, extent: &Extent) -> ByteSize {
    let Work::Wgsl { output_bytes_per_item, scratch_bytes_per_item, items, .. } = work else { return ByteSize(0) };
    let items = extent.tile(0).map_or(u64::from(*items), |tile| u64::from(tile.width) * u64::from(tile.height));
    ByteSize(items.saturating_mul(u64::from(*output_bytes_per_item) + u64::from(*scratch_bytes_per_item)))
}
