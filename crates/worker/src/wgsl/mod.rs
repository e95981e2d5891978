//! The `wgsl` runtime: compute kernels on any device with a Vulkan, Metal or DirectX 12 driver.
//!
//! Kernels run in a process of their own; this module describes the work to it. `docs/wgsl.md` says to users what
//! is bound where.
mod adapter;
mod child;
mod device;
mod kernel;
mod message;
mod supervisor;
mod test;

pub use self::child::wgsl_child;
pub use self::kernel::SOURCE_BYTES_MAX;
pub use self::message::{Adapter, Dispatch, Piece};
pub use self::supervisor::{Launcher, Speed, Supervisor};

use gleaner_wire::{Cause, Millis, TaskSpec, Work};

use crate::content::Content;
use crate::failure::Failure;

/// Numbers that a job may hand to its kernel.
const VALUES_MAX: usize = 48;
/// Where they start among the parameters.
const FIRST_VALUE: usize = 16;

/// Describes the element `index` of a task to a kernel process.
pub fn dispatch(
    spec: &TaskSpec,
    source: &str,
    index: u32,
    inputs: &[Content],
    time: Millis,
) -> Result<Dispatch, Failure> {
    let refuse = |text: &str| Failure::new(Cause::BadInput, text);
    let Work::Wgsl { entry, finish, passes, output_bytes_per_item, scratch_bytes_per_item, items, values, .. } =
        &spec.work
    else {
        return Err(Failure::new(Cause::HubFault, "the task is not a kernel"));
    };
    if values.len() > VALUES_MAX {
        return Err(refuse("a kernel takes at most 48 values"));
    }
    let (mut parameters, invocations) = place(spec, index, *items);
    let items = u64::from(invocations.0) * u64::from(invocations.1);
    parameters.extend(values);
    let output_bytes = items * u64::from(*output_bytes_per_item);
    if output_bytes > spec.limits.output {
        return Err(refuse(&format!("an output of {output_bytes} bytes is over the task's limit output_max")));
    }
    Ok(Dispatch {
        source: source.to_owned(),
        entry: entry.clone(),
        finish: finish.clone(),
        passes: *passes,
        invocations,
        parameters,
        output_bytes,
        scratch_bytes: items * u64::from(*scratch_bytes_per_item),
        inputs: inputs.iter().map(pieces).collect::<Option<_>>().ok_or_else(|| refuse("a kernel reads no folders"))?,
        memory_max: spec.limits.memory,
        time_ms_max: time.0,
    })
}

/// The parameters up to the values, and how many invocations an element needs.
fn place(spec: &TaskSpec, index: u32, items: u32) -> (Vec<u32>, (u32, u32)) {
    let value = spec.extent.value(index);
    let (low, high) = (value as u32, (value >> 32) as u32);
    let (place, whole, invocations) = match (spec.extent.tile(index), spec.extent) {
        (Some(tile), gleaner_wire::Extent::Tiles { width, height, .. }) => {
            ([tile.x, tile.y, tile.width, tile.height], [width, height], (tile.width, tile.height))
        }
        _ => ([low, 0, items, 1], [items, 1], (items, 1)),
    };
    let count = invocations.0.saturating_mul(invocations.1);
    let mut parameters = Vec::with_capacity(FIRST_VALUE + VALUES_MAX);
    parameters.extend(place);
    parameters.extend(whole);
    parameters.extend([0, 0, low, high, count, 0, 0, 0, 0, 0]);
    (parameters, invocations)
}

/// An input as parts of a buffer; gathered outputs follow each other.
fn pieces(content: &Content) -> Option<Vec<Piece>> {
    match content {
        Content::Bytes(output) => Some(vec![Piece::Bytes(output.content().unwrap_or_default().to_vec())]),
        Content::File(file) => Some(vec![Piece::File(file.path().to_str()?.to_owned(), file.bytes())]),
        Content::Folder(_) => None,
        Content::Gather(all) => {
            let parts: Option<Vec<_>> = all.iter().map(pieces).collect();
            parts.map(|parts| parts.into_iter().flatten().collect())
        }
    }
}
