//! What the machine has: a pure function of what the probes returned.
//!
//! The bus, the kernel's drivers, the vendors' libraries and the graphics interfaces each know a part of a GPU. The parts
//! are put together by PCI address where there is one, and by the numbers of vendor and device where there is none.
use gleaner_wire::{ByteSize, DeviceKind};
use serde::{Deserialize, Serialize};

use crate::probe::{Adapter, PciAddress, Probes};

mod assemble;
mod problem;

pub use problem::Problem;

/// Everything that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// GPUs, with a working driver or without, in the order of the bus.
    pub devices: Vec<Device>,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// A GPU, or a driver that acts as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Who made it.
    pub kind: DeviceKind,
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: Option<PciAddress>,
    /// The memory it works in.
    pub memory: Memory,
    /// The kernel's driver for it.
    pub module: Option<String>,
    /// The version of its driver.
    pub driver: Option<String>,
    /// Whether it drives a display.
    pub display: Display,
    /// How programs can compute on it.
    pub ways: Ways,
    /// What it may draw at most.
    pub power_mw_max: Option<u64>,
}

/// The memory a device works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// Its own; the size if it is known.
    Own(Option<ByteSize>),
    /// The machine's.
    Shared,
}

/// Whether a device drives a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Display {
    /// It does.
    Driven,
    /// It does not.
    None,
    /// Nothing says so.
    Unknown,
}

/// How programs can compute on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ways {
    /// The position of its adapter among those that were handed in.
    pub adapter: Option<usize>,
    /// The newest CUDA that works on it.
    pub cuda: Option<String>,
    /// Whether ROCm can use it.
    pub rocm: bool,
}

impl Device {
    /// Whether anything can compute on it.
    pub fn is_usable(&self) -> bool {
        self.ways.adapter.is_some() || self.ways.cuda.is_some() || self.ways.rocm
    }

    /// Whether it has memory of its own.
    pub fn is_discrete(&self) -> bool {
        matches!(self.memory, Memory::Own(_))
    }
}

impl Inventory {
    /// Whether there is an NVIDIA card that works.
    pub fn computes_with_cuda(&self) -> bool {
        self.devices.iter().any(|device| device.ways.cuda.is_some())
    }
}

impl From<&Probes> for Inventory {
    fn from(probes: &Probes) -> Self {
        let devices = assemble::devices(probes);
        let problems = problem::find(probes, &devices);
        Self { devices, problems }
    }
}

/// Who made a device, by its vendor's number in the PCI registry.
fn kind_of(vendor: u32) -> DeviceKind {
    match vendor {
        0x10de => DeviceKind::Nvidia,
        0x1002 | 0x1022 => DeviceKind::Amd,
        0x8086 => DeviceKind::Intel,
        0x106b => DeviceKind::Apple,
        _ => DeviceKind::Other,
    }
}

fn adapters(probes: &Probes) -> &[Adapter] {
    probes.adapters.as_deref().unwrap_or_default()
}
