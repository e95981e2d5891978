//! How a program in a cell reaches a card.
use std::path::{Path, PathBuf};

use gleaner_blender::card::{Card, Slot};
use gleaner_machine::Device;
use gleaner_machine::advice::{Distribution, Need};
use gleaner_sandbox::{Device as Node, DeviceNames};
use gleaner_wire::DeviceKind;

/// Where descriptions of the Container Device Interface are.
const CDI: [&str; 2] = ["/etc/cdi", "/var/run/cdi"];

/// How programs reach a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Which one it is, by which programs know it among those that they see.
    pub card: Card,
    /// Programs of this machine, which find the driver's libraries where they are.
    pub processes: Vec<Node>,
    /// Containers; empty if they cannot.
    pub containers: Vec<Node>,
}

/// How programs reach a card; `number` is its place among the cards of its maker. NVIDIA's libraries belong to the driver of the
/// machine and are in no image: its cards go to containers by a name that stands for the libraries too, with an engine that
/// takes names.
pub fn access(root: &Path, device: &Device, number: usize, takes_names: bool) -> Access {
    let processes = nodes(root, device, number);
    let containers = match device.kind {
        DeviceKind::Nvidia if takes_names && describes(root, "nvidia") => {
            vec![Node::Cdi(format!("nvidia.com/gpu={number}"))]
        }
        DeviceKind::Nvidia => Vec::new(),
        DeviceKind::Amd
        | DeviceKind::Intel
        | DeviceKind::Cpu
        | DeviceKind::Software
        | DeviceKind::Apple
        | DeviceKind::Other => processes.clone(),
    };
    let slot = device.address.and_then(|address| Slot::of(&address.to_string()));
    Access { card: Card { maker: device.kind, slot }, processes, containers }
}

/// Why containers of this engine cannot have a card, and what to do about it.
pub fn no_containers(kind: DeviceKind, engine: &str, names: DeviceNames, system: Distribution) -> (String, String) {
    match kind {
        DeviceKind::Nvidia => no_names(engine, names, &system.install(Need::Docker)),
        DeviceKind::Amd
        | DeviceKind::Intel
        | DeviceKind::Cpu
        | DeviceKind::Software
        | DeviceKind::Apple
        | DeviceKind::Other => {
            ("it has no node that could be handed on".to_owned(), "update the graphics driver".to_owned())
        }
    }
}

fn no_names(engine: &str, names: DeviceNames, docker: &str) -> (String, String) {
    match names {
        DeviceNames::Taken => (
            "NVIDIA's description for containers is not there".to_owned(),
            "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml".to_owned(),
        ),
        DeviceNames::NotByPodman => (
            "podman hands on no NVIDIA GPUs through its socket".to_owned(),
            format!("{docker}, then share with DOCKER_HOST=unix:///run/docker.sock"),
        ),
        DeviceNames::TooOld => {
            (format!("{engine} hands on no NVIDIA GPUs by their names; Docker does from 25 on"), docker.to_owned())
        }
        DeviceNames::SwitchedOff => (
            format!("{engine} does not look for NVIDIA's description of its GPUs"),
            "write \"features\": { \"cdi\": true } into /etc/docker/daemon.json, then sudo systemctl restart docker"
                .to_owned(),
        ),
    }
}

fn nodes(root: &Path, device: &Device, number: usize) -> Vec<Node> {
    let at = |path: &str| root.join(path.trim_start_matches('/'));
    let node = |path: &str| at(path).exists().then(|| Node::Node(path.into()));
    match device.kind {
        DeviceKind::Nvidia => {
            let own = format!("/dev/nvidia{}", minor(root, device).unwrap_or(number));
            [own.as_str(), "/dev/nvidiactl", "/dev/nvidia-uvm"].into_iter().filter_map(node).collect()
        }
        DeviceKind::Amd => render_node(root, device).into_iter().chain(node("/dev/kfd")).collect(),
        DeviceKind::Intel => render_node(root, device).into_iter().collect(),
        DeviceKind::Cpu | DeviceKind::Software | DeviceKind::Apple | DeviceKind::Other => Vec::new(),
    }
}

/// The number of an NVIDIA card's node, which need not be its place on the bus.
fn minor(root: &Path, device: &Device) -> Option<usize> {
    let folder = root.join("proc/driver/nvidia/gpus").join(device.address?.to_string());
    let text = std::fs::read_to_string(folder.join("information")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Device Minor:")?.trim().parse().ok())
}

fn describes(root: &Path, maker: &str) -> bool {
    let folders = CDI.iter().map(|folder| root.join(folder.trim_start_matches('/')));
    let names = folders.flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    names.into_iter().any(|entry| entry.file_name().to_string_lossy().contains(maker))
}

/// The render node of the card at its place on the bus.
fn render_node(root: &Path, device: &Device) -> Option<Node> {
    let link = root.join("dev/dri/by-path").join(format!("pci-{}-render", device.address?));
    let target = std::fs::read_link(link).ok()?;
    Some(Node::Node(PathBuf::from("/dev/dri").join(target.file_name()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_machine::inventory::{Display, Memory, Ways};

    fn card(kind: DeviceKind, address: &str) -> Device {
        Device {
            kind,
            name: "card".to_owned(),
            address: address.parse().ok(),
            memory: Memory::Own(None),
            module: None,
            driver: None,
            display: Display::Unknown,
            ways: Ways::default(),
            power_mw_max: None,
        }
    }

    #[test]
    fn an_engine_that_hands_on_no_nvidia_card_is_told_of_with_what_to_update() {
        let told = |names| no_containers(DeviceKind::Nvidia, "Docker 20.10.24", names, Distribution::Debian);
        let (why, fix) = told(DeviceNames::TooOld);
        assert!(why.contains("Docker 20.10.24") && why.contains("from 25 on"), "{why}");
        assert_eq!(fix, "curl -fsSL https://get.docker.com | sudo sh");
        let (_, fix) = told(DeviceNames::NotByPodman);
        assert!(fix.contains("get.docker.com") && fix.contains("DOCKER_HOST=unix:///run/docker.sock"), "{fix}");
        assert!(told(DeviceNames::SwitchedOff).1.contains("daemon.json"));
        assert!(told(DeviceNames::Taken).1.starts_with("sudo nvidia-ctk cdi generate"));
    }

    #[test]
    fn each_maker_s_cards_are_reached_in_its_own_way() {
        let root = tempfile::tempdir().expect("a folder");
        let by_path = root.path().join("dev/dri/by-path");
        std::fs::create_dir_all(&by_path).expect("a folder");
        std::os::unix::fs::symlink("../renderD129", by_path.join("pci-0000:03:00.0-render")).expect("a link");
        for name in ["nvidia1", "nvidiactl", "nvidia-uvm", "kfd"] {
            std::fs::write(root.path().join("dev").join(name), "").expect("a file");
        }
        let of = |kind, names| access(root.path(), &card(kind, "0000:03:00.0"), 1, names);
        let node = |path: &str| Node::Node(path.into());
        let of_maker = |maker| Card { maker, slot: Slot::of("0000:03:00.0") };
        let alike =
            |maker, nodes: Vec<Node>| Access { card: of_maker(maker), processes: nodes.clone(), containers: nodes };
        for names in [false, true] {
            let render = node("/dev/dri/renderD129");
            assert_eq!(of(DeviceKind::Intel, names), alike(DeviceKind::Intel, vec![render.clone()]));
            assert_eq!(of(DeviceKind::Amd, names), alike(DeviceKind::Amd, vec![render, node("/dev/kfd")]));
        }
        let processes = ["/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"].map(node).to_vec();
        let nvidia = |containers: Vec<Node>| {
            let card = of_maker(DeviceKind::Nvidia);
            Access { card, processes: processes.clone(), containers }
        };
        assert_eq!(of(DeviceKind::Nvidia, true), nvidia(vec![]), "nobody has described it");
        std::fs::create_dir_all(root.path().join("etc/cdi")).expect("a folder");
        std::fs::write(root.path().join("etc/cdi/nvidia.yaml"), "").expect("a file");
        assert_eq!(of(DeviceKind::Nvidia, true), nvidia(vec![Node::Cdi("nvidia.com/gpu=1".to_owned())]));
        assert_eq!(of(DeviceKind::Nvidia, false), nvidia(vec![]), "the engine takes no names");
        let told = root.path().join("proc/driver/nvidia/gpus/0000:03:00.0");
        std::fs::create_dir_all(&told).expect("a folder");
        std::fs::write(told.join("information"), "Model: \t card\nDevice Minor: \t 7\n").expect("a file");
        std::fs::write(root.path().join("dev/nvidia7"), "").expect("a file");
        assert_eq!(
            of(DeviceKind::Nvidia, false).processes[0],
            node("/dev/nvidia7"),
            "its driver says which node it is"
        );
    }
}
