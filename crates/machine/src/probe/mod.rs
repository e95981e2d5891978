//! Reads the outside into plain records, and decides nothing.
//!
//! Files of sysfs and proc are read below a root folder that the caller names, so that recorded trees can be read like
//! a real machine. The records are serializable: what a machine answered can be kept, and told to `inventory` again.
use std::path::PathBuf;

use gleaner_wire::DeviceKind;
use serde::{Deserialize, Serialize};

pub mod apple;
pub mod command;
pub mod drm;
pub mod fdinfo;
pub mod nvml;
pub mod pci;
pub mod rocm;
pub mod system;
pub mod tree;

pub use pci::PciAddress;
pub use tree::Tree;

/// An adapter of Vulkan, Metal or DirectX, as the caller found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adapter {
    /// The name its driver gives.
    pub name: String,
    /// What kind of device.
    pub kind: DeviceKind,
    /// The interface, such as `vulkan`.
    pub backend: String,
    /// The driver and its version.
    #[serde(default)]
    pub driver: String,
    /// The numbers of vendor and device.
    #[serde(default)]
    pub ids: (u32, u32),
    /// Where it is, if its driver says so.
    #[serde(default)]
    pub address: Option<PciAddress>,
    /// Whether it has memory of its own.
    #[serde(default)]
    pub discrete: bool,
}

/// Everything that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Probes {
    /// The system.
    pub system: system::System,
    /// Display devices on the bus.
    pub pci: Vec<pci::PciDevice>,
    /// Cards that have a driver of the kernel.
    pub cards: Vec<drm::Card>,
    /// NVIDIA's library.
    pub nvml: nvml::NvmlProbe,
    /// AMD's library.
    pub rocm: rocm::RocmProbe,
    /// Apple's GPUs.
    pub apple: Vec<apple::AppleGpu>,
    /// Adapters of graphics interfaces; `None` if nobody asked for them.
    pub adapters: Option<Vec<Adapter>>,
}

/// Where to look.
#[derive(Clone, Debug)]
pub struct Places {
    /// The root of the file system.
    pub tree: Tree,
    /// Folders of programs, separated by colons.
    pub search_path: String,
    /// Where the worker keeps its files.
    pub dir: PathBuf,
}

/// Looks at the machine. Adapters are handed in; vendors' libraries are loaded if they are there.
pub fn probe(places: &Places, adapters: Option<Vec<Adapter>>) -> Probes {
    Probes { nvml: nvml::read(), rocm: rocm::read(), apple: apple::read(), adapters, ..probe_tree(places) }
}

/// Looks at the file system alone.
pub fn probe_tree(places: &Places) -> Probes {
    Probes {
        system: system::read(&places.tree, &places.search_path, &places.dir),
        pci: pci::devices(&places.tree),
        cards: drm::cards(&places.tree),
        ..Probes::default()
    }
}
