//! Why each problem matters, and what cures it here.
use gleaner_wire::DeviceKind;

use super::distribution::{Distribution, Need};
use crate::inventory::Problem;
use crate::probe::system::{Family, System};

/// What has podman answer as an engine.
const PODMAN_SOCKET: &str = "systemctl --user enable --now podman.socket";
/// What has Docker answer as an engine.
const DOCKER_SERVICE: &str =
    "sudo systemctl enable --now docker && sudo usermod -aG docker $USER, then log out and in again";

/// A problem in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cure {
    /// Why something does not work.
    pub why: String,
    /// The command that fixes it.
    pub fix: String,
}

/// What a problem means on this system.
pub fn cure(problem: &Problem, system: Distribution) -> Cure {
    let (why, fix) = match problem {
        Problem::CardWithoutDriver { kind, address } => {
            (format!("no driver holds the {kind} card at {address}"), system.install(driver_for(*kind)))
        }
        Problem::Nouveau { address } => (
            format!("the card at {address} is held by nouveau, which cannot compute"),
            system.install(Need::NvidiaDriver),
        ),
        Problem::ModuleWithoutLibrary { version } => (
            format!("NVIDIA's module{} is loaded, but its libraries are not installed", versioned(version)),
            system.install(Need::NvidiaLibraries),
        ),
        Problem::LibraryWithoutModule => {
            ("NVIDIA's libraries are installed, but its module is not loaded".to_owned(), load_module(system))
        }
        Problem::VersionMismatch { module } => (
            format!("NVIDIA's libraries are of another version than the loaded module{}", versioned(module)),
            "sudo reboot (the driver was updated while its old module was loaded)".to_owned(),
        ),
        Problem::LibraryFailed { why } => {
            (format!("NVIDIA's library does not work: {why}"), "sudo dmesg | grep -i nvrm".to_owned())
        }
        Problem::GpuFault { name, why } => (
            format!("{name} does not answer: {why}"),
            "sudo reboot; if it comes back, check power and cooling, and look at `sudo dmesg | grep -i xid`".to_owned(),
        ),
        Problem::Split { name } => {
            (format!("{name} is split into instances (MIG)"), "sudo nvidia-smi -mig 0, then reboot".to_owned())
        }
        Problem::NoPermission { node } => (format!("{node} may not be opened by this user"), permit(node, system)),
        Problem::ContainerWithoutNodes { container, kind } => (
            format!("this {container} container was given none of the machine's GPUs"),
            give_to_container(container, *kind),
        ),
        Problem::NoInterface { kind, name } => {
            (format!("no Vulkan, Metal or DirectX driver answered for {name}"), system.install(interface_for(*kind)))
        }
        Problem::SoftwareOnly => {
            let fix = "plug in a GPU, or share the processor alone".to_owned();
            ("this machine has no GPU; a software driver computes on the processor".to_owned(), fix)
        }
        Problem::NoAdapter => {
            ("no Vulkan, Metal or DirectX driver answered".to_owned(), system.install(Need::MesaVulkan))
        }
    };
    Cure { why, fix }
}

fn versioned(version: &Option<String>) -> String {
    version.as_ref().map(|version| format!(" {version}")).unwrap_or_default()
}

fn driver_for(kind: DeviceKind) -> Need {
    match kind {
        DeviceKind::Nvidia => Need::NvidiaDriver,
        DeviceKind::Amd
        | DeviceKind::Intel
        | DeviceKind::Apple
        | DeviceKind::Cpu
        | DeviceKind::Software
        | DeviceKind::Other => Need::Firmware,
    }
}

fn interface_for(kind: DeviceKind) -> Need {
    match kind {
        DeviceKind::Nvidia => Need::NvidiaVulkan,
        DeviceKind::Amd
        | DeviceKind::Intel
        | DeviceKind::Apple
        | DeviceKind::Cpu
        | DeviceKind::Software
        | DeviceKind::Other => Need::MesaVulkan,
    }
}

fn load_module(system: Distribution) -> String {
    format!("sudo modprobe nvidia; if that fails, build the module again: {}", system.install(Need::NvidiaDriver))
}

fn permit(node: &str, system: Distribution) -> String {
    if node.starts_with("/dev/nvidia") {
        return "sudo chmod a+rw /dev/nvidia* (and see ModifyDeviceFiles in /proc/driver/nvidia/params)".to_owned();
    }
    match system {
        Distribution::Nixos => {
            "add \"render\" to users.users.NAME.extraGroups in /etc/nixos/configuration.nix, then sudo nixos-rebuild switch"
                .to_owned()
        }
        Distribution::Debian
        | Distribution::Ubuntu
        | Distribution::Fedora
        | Distribution::Arch
        | Distribution::Suse
        | Distribution::Alpine
        | Distribution::Macos
        | Distribution::Windows
        | Distribution::Unknown => "sudo usermod -aG render $USER, then log out and in again".to_owned(),
    }
}

/// How to get a container engine that answers: the one that is installed is started, otherwise one is installed first. Where
/// CUDA works it has to be Docker: podman hands on no NVIDIA cards through its socket.
pub fn start_engine(system: &System, cuda: bool) -> String {
    let has = |engine: &str| system.tools.contains_key(engine);
    let install = || Distribution::of(system).install(Need::Podman);
    match system.family {
        Family::Linux if has("podman") && !cuda => PODMAN_SOCKET.to_owned(),
        Family::Linux if has("docker") => DOCKER_SERVICE.to_owned(),
        Family::Linux if cuda => format!("{}, then {DOCKER_SERVICE}", Distribution::of(system).install(Need::Docker)),
        Family::Linux => format!("{}, then {PODMAN_SOCKET}", install()),
        Family::Macos | Family::Windows if has("podman") => "podman machine start".to_owned(),
        Family::Macos | Family::Windows | Family::Other => install(),
    }
}

fn give_to_container(container: &str, kind: DeviceKind) -> String {
    let nvidia = kind == DeviceKind::Nvidia;
    match container {
        "kubernetes" if nvidia => "ask for `nvidia.com/gpu: 1` in the pod's resource limits".to_owned(),
        "kubernetes" => "ask for a GPU of your device plugin in the pod's resource limits".to_owned(),
        "lxc" => "on the host: lxc config device add NAME gpu gpu".to_owned(),
        "docker" if nvidia => "start it again with: docker run --gpus all ...".to_owned(),
        engine if nvidia => format!("start it again with: {engine} run --device nvidia.com/gpu=all ..."),
        engine => format!("start it again with: {engine} run --device /dev/dri --group-add keep-groups ..."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_is_installed_is_started_and_not_installed_again() {
        let with = |id: &str, family, tool: &str| {
            let tools = [(tool.to_owned(), String::new())].into_iter().filter(|(tool, _)| !tool.is_empty()).collect();
            start_engine(&System { id: id.to_owned(), family, tools, ..System::default() }, false)
        };
        assert_eq!(with("fedora", Family::Linux, "podman"), "systemctl --user enable --now podman.socket");
        assert!(with("debian", Family::Linux, "docker").starts_with("sudo systemctl enable --now docker"));
        let both = "sudo dnf install podman, then systemctl --user enable --now podman.socket";
        assert_eq!(with("fedora", Family::Linux, ""), both);
        assert_eq!(with("", Family::Macos, "podman"), "podman machine start");
        assert!(with("", Family::Macos, "").starts_with("brew install podman"));
    }

    #[test]
    fn where_cuda_works_the_engine_is_one_that_hands_the_card_on() {
        let with = |id: &str, tool: &str| {
            let tools = [(tool.to_owned(), String::new())].into_iter().filter(|(tool, _)| !tool.is_empty()).collect();
            start_engine(&System { id: id.to_owned(), family: Family::Linux, tools, ..System::default() }, true)
        };
        for tool in ["", "podman"] {
            let fix = with("debian", tool);
            assert!(fix.starts_with("curl -fsSL https://get.docker.com | sudo sh, then sudo systemctl"), "{fix}");
        }
        assert!(with("fedora", "").starts_with("sudo dnf install moby-engine, then sudo systemctl"));
        assert!(with("debian", "docker").starts_with("sudo systemctl enable --now docker"));
    }
}
