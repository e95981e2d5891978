//! What is wrong with a machine's graphics, told apart so that each has its own cure.
use gleaner_wire::DeviceKind;
use serde::{Deserialize, Serialize};

use super::{Device, adapters};
use crate::probe::nvml::Answer;
use crate::probe::{PciAddress, Probes};

/// Something that keeps a GPU from being used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// No driver of the kernel holds the card.
    CardWithoutDriver {
        /// Who made it.
        kind: DeviceKind,
        /// Where it is.
        address: PciAddress,
    },
    /// The free driver holds an NVIDIA card, and cannot compute on it.
    Nouveau {
        /// Where the card is.
        address: PciAddress,
    },
    /// NVIDIA's module is loaded, its library is not installed.
    ModuleWithoutLibrary {
        /// The version of the module.
        version: Option<String>,
    },
    /// NVIDIA's library is installed, its module is not loaded.
    LibraryWithoutModule,
    /// NVIDIA's library and module are of different versions, mostly after an update.
    VersionMismatch {
        /// The version of the loaded module.
        module: Option<String>,
    },
    /// NVIDIA's library does not work.
    LibraryFailed {
        /// What it said.
        why: String,
    },
    /// The library lists a GPU and cannot reach it.
    GpuFault {
        /// Which.
        name: String,
        /// What it said.
        why: String,
    },
    /// The GPU is split into instances, which are not shared.
    Split {
        /// Which.
        name: String,
    },
    /// This user may not open a device node.
    NoPermission {
        /// Which node.
        node: String,
    },
    /// A container in which the host's GPUs are seen and cannot be opened.
    ContainerWithoutNodes {
        /// What kind of container.
        container: String,
        /// Who made the GPUs.
        kind: DeviceKind,
    },
    /// The kernel drives the card, and no graphics interface answers for it.
    NoInterface {
        /// Who made it.
        kind: DeviceKind,
        /// Its name.
        name: String,
    },
    /// Only a driver that computes on the processor answered.
    SoftwareOnly,
    /// Nothing answered at all.
    NoAdapter,
}

pub(super) fn find(probes: &Probes, devices: &[Device]) -> Vec<Problem> {
    let mut found = Vec::new();
    let blocked = container(probes, devices, &mut found);
    if !blocked {
        permissions(probes, &mut found);
        devices.iter().for_each(|device| kernel_driver(device, &mut found));
        nvidia(probes, devices, &mut found);
    }
    if found.is_empty() {
        interfaces(probes, devices, &mut found);
    }
    found
}

/// Whether this is a container that has been given no GPU: then everything else is wrong for that one reason.
fn container(probes: &Probes, devices: &[Device], found: &mut Vec<Problem>) -> bool {
    let Some(container) = &probes.system.container else { return false };
    let Some(device) = devices.iter().find(|device| device.address.is_some()) else { return false };
    if !probes.system.nodes.is_empty() || devices.iter().any(|d| d.is_usable() && d.kind != DeviceKind::Software) {
        return false;
    }
    found.push(Problem::ContainerWithoutNodes { container: container.clone(), kind: device.kind });
    true
}

fn permissions(probes: &Probes, found: &mut Vec<Problem>) {
    let closed = probes.system.nodes.iter().filter(|(_, allowed)| !**allowed);
    found.extend(closed.map(|(node, _)| Problem::NoPermission { node: node.clone() }));
}

fn kernel_driver(device: &Device, found: &mut Vec<Problem>) {
    let Some(address) = device.address.filter(|_| !device.is_usable()) else { return };
    match device.module.as_deref() {
        Some("nouveau") => found.push(Problem::Nouveau { address }),
        // A card that is given to a virtual machine is in use on purpose.
        Some(_) => {}
        None => found.push(Problem::CardWithoutDriver { kind: device.kind, address }),
    }
}

fn nvidia(probes: &Probes, devices: &[Device], found: &mut Vec<Problem>) {
    if !devices.iter().any(|device| device.kind == DeviceKind::Nvidia) {
        return;
    }
    let module = probes.system.modules.as_ref().and_then(|modules| modules.get("nvidia")).cloned();
    let held = devices.iter().any(|device| device.module.as_deref() == Some("nvidia"));
    match (&probes.nvml.answer, module) {
        (Answer::Works, _) => gpus(probes, found),
        (Answer::LibraryMissing, Some(version)) => found.push(Problem::ModuleWithoutLibrary { version }),
        (Answer::LibraryMissing, None) if held => found.push(Problem::ModuleWithoutLibrary { version: None }),
        // Told above: the card has no driver.
        (Answer::LibraryMissing, None) => {}
        (Answer::ModuleMissing, _) => {
            found.retain(|problem| !matches!(problem, Problem::CardWithoutDriver { kind: DeviceKind::Nvidia, .. }));
            found.push(Problem::LibraryWithoutModule);
        }
        (Answer::VersionMismatch, module) => found.push(Problem::VersionMismatch { module: module.flatten() }),
        (Answer::NoPermission, _) => {
            if !found.iter().any(|problem| matches!(problem, Problem::NoPermission { .. })) {
                found.push(Problem::NoPermission { node: "/dev/nvidiactl".to_owned() });
            }
        }
        (Answer::Failed(why), _) => found.push(Problem::LibraryFailed { why: why.clone() }),
    }
}

fn gpus(probes: &Probes, found: &mut Vec<Problem>) {
    for gpu in &probes.nvml.gpus {
        if let Some(why) = &gpu.fault {
            found.push(Problem::GpuFault { name: gpu.name.clone(), why: why.clone() });
        }
        if gpu.split == Some(true) {
            found.push(Problem::Split { name: gpu.name.clone() });
        }
    }
}

fn interfaces(probes: &Probes, devices: &[Device], found: &mut Vec<Problem>) {
    if probes.adapters.is_none() {
        return;
    }
    let real = |device: &&Device| device.kind != DeviceKind::Software;
    let silent = devices.iter().filter(real).filter(|device| device.ways.adapter.is_none());
    for device in silent {
        let problem = Problem::NoInterface { kind: device.kind, name: device.name.clone() };
        // Eight cards of a kind have one cure.
        if !found.contains(&problem) {
            found.push(problem);
        }
    }
    if adapters(probes).is_empty() && devices.is_empty() {
        found.push(Problem::NoAdapter);
    } else if devices.iter().all(|device| device.kind == DeviceKind::Software) {
        found.push(Problem::SoftwareOnly);
    }
}
