//! The list of capabilities that `gleaner doctor` shows.
use gleaner_wire::{ByteSize, DeviceKind};

use super::Finding;
use super::cure::{cure, start_engine};
use super::distribution::{Distribution, Need};
use crate::inventory::{Device, Display, Inventory, Memory, Problem};
use crate::probe::system::{Family, System};

/// Every capability of a machine.
pub fn findings(inventory: &Inventory, system: &System) -> Vec<Finding> {
    let here = Distribution::of(system);
    let mut found = vec![processor(system)];
    let real = inventory.devices.iter().filter(|device| device.kind != DeviceKind::Software && device.is_usable());
    found.extend(real.map(|device| Finding::works(format!("gpu {}", device.name), describe(device))));
    found.extend(inventory.problems.iter().map(|problem| {
        let cure = cure(problem, here);
        Finding::missing(subject(problem), cure.why, cure.fix)
    }));
    // That a program is there is no news: whether containers run and Blender renders is found out by the self-test, and said there.
    if system.family == Family::Linux {
        found.extend(lacks(system, "sandbox for programs", "bwrap", Need::Bubblewrap));
    }
    let cuda = inventory.computes_with_cuda();
    if cuda {
        found.extend(lacks(system, "gpu in containers", "nvidia-ctk", Need::NvidiaContainers));
    }
    if !["podman", "docker"].iter().any(|engine| system.tools.contains_key(*engine)) {
        let fix = if cuda { start_engine(system, cuda) } else { here.install(Need::Podman) };
        found.push(Finding::missing("container", "neither podman nor docker is installed", fix));
    }
    found.extend(lacks(system, "blender", "blender", Need::Blender));
    found.extend(lacks(system, "videos", "ffmpeg", Need::Ffmpeg));
    found
}

fn processor(system: &System) -> Finding {
    let name = if system.processor.is_empty() { "unnamed" } else { &system.processor };
    let disk = system.disk_free.map_or_else(String::new, |free| format!(", {} of disk free", size(free)));
    let detail = format!("{name}, {} threads, {} of memory{disk}", system.threads, size(system.memory));
    Finding::works("processor", detail)
}

/// The name under which a problem is listed.
fn subject(problem: &Problem) -> String {
    match problem {
        Problem::CardWithoutDriver { kind, .. } => format!("gpu {kind}"),
        Problem::Nouveau { .. }
        | Problem::ModuleWithoutLibrary { .. }
        | Problem::LibraryWithoutModule
        | Problem::VersionMismatch { .. }
        | Problem::LibraryFailed { .. } => "gpu nvidia".to_owned(),
        Problem::GpuFault { name, .. } | Problem::Split { name } => format!("gpu {name}"),
        Problem::NoPermission { .. }
        | Problem::ContainerWithoutNodes { .. }
        | Problem::SoftwareOnly
        | Problem::NoAdapter => "gpu".to_owned(),
        Problem::NoInterface { name, .. } => format!("kernels on {name}"),
    }
}

fn describe(device: &Device) -> String {
    let mut parts = vec![device.kind.to_string()];
    parts.push(match device.memory {
        Memory::Own(Some(bytes)) => format!("{} of its own", size(bytes)),
        Memory::Own(None) => "memory of its own".to_owned(),
        Memory::Shared => "shares the machine's memory".to_owned(),
    });
    parts.extend(device.address.map(|address| format!("at {address}")));
    parts.extend(device.driver.clone().map(|driver| format!("driver {driver}")));
    parts.extend(device.ways.cuda.clone().map(|version| format!("CUDA {version}")));
    if device.ways.rocm {
        parts.push("ROCm".to_owned());
    }
    match device.display {
        Display::Driven => parts.push("drives a display".to_owned()),
        Display::None => parts.push("no display".to_owned()),
        Display::Unknown => {}
    }
    parts.join(", ")
}

fn size(bytes: ByteSize) -> String {
    if bytes.0 >= 10 << 30 { format!("{} GiB", bytes.0 >> 30) } else { format!("{} MiB", bytes.0 >> 20) }
}

/// A program that is not there.
fn lacks(system: &System, capability: &str, program: &str, need: Need) -> Option<Finding> {
    let fix = || Distribution::of(system).install(need);
    let missing = || Finding::missing(capability, format!("{program} is not installed"), fix());
    (!system.tools.contains_key(program)).then(missing)
}
