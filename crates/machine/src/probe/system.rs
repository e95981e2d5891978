//! The system around the devices: which one it is, its modules, device nodes, programs and memory.
use std::collections::BTreeMap;
use std::path::Path;

use gleaner_wire::ByteSize;
use rustix::fs::Access;
use serde::{Deserialize, Serialize};

use super::tree::Tree;

/// Programs that runtimes and sandboxes are made of.
pub const TOOLS: [&str; 7] = ["bwrap", "podman", "docker", "blender", "ffmpeg", "runsc", "nvidia-ctk"];
/// Kernel modules whose presence or version says something about graphics drivers.
const MODULES: [&str; 9] =
    ["nvidia", "nvidia_drm", "nvidia_uvm", "nouveau", "amdgpu", "radeon", "i915", "xe", "simpledrm"];
/// Nodes that programs open to compute.
const NODE_FOLDER: &str = "/dev/dri";
const NODES: [&str; 4] = ["/dev/kfd", "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"];

/// What kind of system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Linux.
    #[default]
    Linux,
    /// macOS.
    Macos,
    /// Windows.
    Windows,
    /// Any other.
    Other,
}

/// The system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct System {
    /// What kind.
    pub family: Family,
    /// `ID` of `/etc/os-release`, such as `debian`.
    pub id: String,
    /// `ID_LIKE`: what it descends from.
    pub like: Vec<String>,
    /// `VERSION_ID`.
    pub version: String,
    /// The version of the kernel.
    pub kernel: String,
    /// The kind of container that this is in, if any.
    pub container: Option<String>,
    /// Its memory.
    pub memory: ByteSize,
    /// Memory that is free for use.
    pub memory_free: ByteSize,
    /// The name of its processor.
    pub processor: String,
    /// How many threads run at a time.
    pub threads: u32,
    /// Space left where the worker keeps its files.
    pub disk_free: Option<ByteSize>,
    /// Loaded modules that matter, with their version where they have one; `None` if the kernel does not tell.
    pub modules: Option<BTreeMap<String, Option<String>>>,
    /// Device nodes, and whether this user may use them.
    pub nodes: BTreeMap<String, bool>,
    /// Programs that were found, with their path.
    pub tools: BTreeMap<String, String>,
}

/// Reads all of it.
pub fn read(tree: &Tree, search_path: &str, dir: &Path) -> System {
    let release = tree.text("/etc/os-release").or_else(|| tree.text("/usr/lib/os-release")).unwrap_or_default();
    let (memory, memory_free, processor, threads) = hardware();
    System {
        family: family(),
        id: release_value(&release, "ID").unwrap_or_default(),
        like: words(&release_value(&release, "ID_LIKE").unwrap_or_default()),
        version: release_value(&release, "VERSION_ID").unwrap_or_default(),
        kernel: tree.text("/proc/sys/kernel/osrelease").unwrap_or_default(),
        container: container(tree),
        memory,
        memory_free,
        processor,
        threads,
        disk_free: disk_free(dir),
        modules: modules(tree),
        nodes: nodes(tree),
        tools: tools(tree, search_path),
    }
}

fn family() -> Family {
    match std::env::consts::OS {
        "linux" => Family::Linux,
        "macos" => Family::Macos,
        "windows" => Family::Windows,
        _ => Family::Other,
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A value of `/etc/os-release`, without its quotes.
fn release_value(release: &str, key: &str) -> Option<String> {
    let value = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

fn hardware() -> (ByteSize, ByteSize, String, u32) {
    use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind};
    let wanted =
        RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram()).with_cpu(CpuRefreshKind::nothing());
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let Ok(system) = sysinfo::System::new_with_specifics(wanted) else {
        return (ByteSize(0), ByteSize(0), String::new(), threads);
    };
    let processor = system.cpus().first().map_or_else(String::new, |cpu| cpu.brand().trim().to_owned());
    (ByteSize(system.total_memory()), ByteSize(system.available_memory()), processor, threads)
}

fn disk_free(dir: &Path) -> Option<ByteSize> {
    // The folder may not be there yet; it will be made below one that is.
    let there = dir.ancestors().find(|folder| folder.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    Some(ByteSize(disk.f_bavail.saturating_mul(disk.f_frsize)))
}

fn container(tree: &Tree) -> Option<String> {
    if tree.has("/.dockerenv") {
        return Some("docker".to_owned());
    }
    if tree.has("/run/.containerenv") {
        return Some("podman".to_owned());
    }
    if let Some(kind) = tree.text("/run/systemd/container").filter(|kind| !kind.is_empty()) {
        return Some(kind);
    }
    let groups = tree.text("/proc/1/cgroup").unwrap_or_default();
    let kinds = [("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc")];
    kinds.iter().find(|(mark, _)| groups.contains(mark)).map(|(_, kind)| (*kind).to_owned())
}

fn modules(tree: &Tree) -> Option<BTreeMap<String, Option<String>>> {
    let loaded = tree.text("/proc/modules")?;
    let loaded: Vec<_> = loaded.lines().filter_map(|line| line.split_whitespace().next()).collect();
    // Drivers that are built into the kernel are not in the list, but have a folder.
    let there = MODULES.iter().filter(|name| loaded.contains(name) || tree.has(format!("/sys/module/{name}/drivers")));
    Some(there.map(|name| ((*name).to_owned(), tree.text(format!("/sys/module/{name}/version")))).collect())
}

fn nodes(tree: &Tree) -> BTreeMap<String, bool> {
    let render = tree.list(NODE_FOLDER).into_iter().filter(|name| name.starts_with("renderD"));
    let all = render.map(|name| format!("{NODE_FOLDER}/{name}")).chain(NODES.map(str::to_owned));
    let there = all.filter(|path| tree.has(path));
    there
        .map(|path| {
            let allowed = rustix::fs::access(tree.path(&path), Access::READ_OK | Access::WRITE_OK).is_ok();
            (path, allowed)
        })
        .collect()
}

fn tools(tree: &Tree, search_path: &str) -> BTreeMap<String, String> {
    let find = |name: &str| {
        let mut places =
            search_path.split(':').filter(|folder| !folder.is_empty()).map(|folder| format!("{folder}/{name}"));
        places.find(|path| rustix::fs::access(tree.path(path), Access::EXEC_OK).is_ok())
    };
    TOOLS.iter().filter_map(|name| Some(((*name).to_owned(), find(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_read_without_its_quotes() {
        let text = "PRETTY_NAME=\"Linux Mint 22\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22\"\n";
        assert_eq!(release_value(text, "ID").as_deref(), Some("linuxmint"));
        assert_eq!(words(&release_value(text, "ID_LIKE").expect("a value")), ["ubuntu", "debian"]);
        assert_eq!(release_value(text, "VARIANT"), None);
    }
}
