//! The nodes by which a program in a cell reaches a card.
use std::path::{Path, PathBuf};

use gleaner_machine::Device;
use gleaner_sandbox::Device as Node;
use gleaner_wire::DeviceKind;

/// Where descriptions of the Container Device Interface are.
const CDI: [&str; 2] = ["/etc/cdi", "/var/run/cdi"];

/// The nodes of a card; `number` is its place among the cards of its maker.
pub fn nodes(root: &Path, device: &Device, number: usize) -> Vec<Node> {
    let at = |path: &str| root.join(path.trim_start_matches('/'));
    let node = |path: &str| at(path).exists().then(|| Node::Node(path.into()));
    match device.kind {
        DeviceKind::Nvidia if describes(root, "nvidia") => vec![Node::Cdi(format!("nvidia.com/gpu={number}"))],
        DeviceKind::Nvidia => {
            let own = format!("/dev/nvidia{number}");
            [own.as_str(), "/dev/nvidiactl", "/dev/nvidia-uvm"].into_iter().filter_map(node).collect()
        }
        DeviceKind::Amd => render_node(root, device).into_iter().chain(node("/dev/kfd")).collect(),
        DeviceKind::Intel => render_node(root, device).into_iter().collect(),
        DeviceKind::Cpu | DeviceKind::Software | DeviceKind::Apple | DeviceKind::Other => Vec::new(),
    }
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
    fn each_maker_s_cards_are_reached_in_its_own_way() {
        let root = tempfile::tempdir().expect("a folder");
        let by_path = root.path().join("dev/dri/by-path");
        std::fs::create_dir_all(&by_path).expect("a folder");
        std::os::unix::fs::symlink("../renderD129", by_path.join("pci-0000:03:00.0-render")).expect("a link");
        for name in ["nvidia1", "nvidiactl", "nvidia-uvm", "kfd"] {
            std::fs::write(root.path().join("dev").join(name), "").expect("a file");
        }
        let of = |kind, number| nodes(root.path(), &card(kind, "0000:03:00.0"), number);
        let node = |path: &str| Node::Node(path.into());
        assert_eq!(of(DeviceKind::Intel, 0), [node("/dev/dri/renderD129")]);
        assert_eq!(of(DeviceKind::Amd, 0), [node("/dev/dri/renderD129"), node("/dev/kfd")]);
        let nvidia = ["/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"].map(node);
        assert_eq!(of(DeviceKind::Nvidia, 1), nvidia);
        std::fs::create_dir_all(root.path().join("etc/cdi")).expect("a folder");
        std::fs::write(root.path().join("etc/cdi/nvidia.yaml"), "").expect("a file");
        assert_eq!(of(DeviceKind::Nvidia, 1), [Node::Cdi("nvidia.com/gpu=1".to_owned())]);
    }
}
