//! Reading recorded trees of sysfs and proc as if they were the machine.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use gleaner_machine::inventory::{Display, Inventory, Memory};
use gleaner_machine::probe::{Places, Tree, fdinfo, probe_tree};
use gleaner_machine::watch::power;
use gleaner_wire::{ByteSize, DeviceKind};

/// Writes a tree: `path = text` is a file, `path -> target` a link.
fn plant(recording: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for line in recording.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (path, content) = line.split_once(" = ").or_else(|| line.split_once(" -> ")).expect("a file or a link");
        let place = folder.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent().expect("a folder above")).expect("folders can be made");
        if line.contains(" -> ") {
            symlink(content, &place).expect("links can be made");
        } else {
            fs::write(&place, content.replace("\\n", "\n")).expect("files can be written");
        }
    }
    folder
}

fn places(root: &Path) -> Places {
    Places { tree: Tree::at(root), search_path: "/usr/bin:/bin".to_owned(), dir: root.to_path_buf() }
}

fn recording(name: &str) -> tempfile::TempDir {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/trees/{name}.txt"));
    plant(&fs::read_to_string(path).expect("the recording is there"))
}

#[test]
fn an_amd_laptop_is_read_from_the_kernel_alone() {
    let root = recording("amd_laptop");
    let probes = probe_tree(&places(root.path()));
    assert_eq!(probes.system.id, "arch");
    assert_eq!(probes.system.kernel, "6.11.6-arch1-1");
    assert_eq!(probes.system.modules.as_ref().map(|modules| modules.len()), Some(1));
    assert_eq!(probes.system.container, None);
    assert!(probes.system.nodes.contains_key("/dev/dri/renderD128"));
    let card = &probes.cards[0];
    assert_eq!((card.name.as_str(), card.driver.as_str()), ("card1", "amdgpu"));
    assert_eq!(card.displays, ["eDP-1"]);
    assert_eq!(card.memory, Some(ByteSize(536_870_912)));
    assert_eq!((card.busy_percent, card.celsius, card.power_mw), (Some(7), Some(46), Some(11_034)));
    let devices = Inventory::from(&probes).devices;
    assert_eq!(devices.len(), 1);
    assert_eq!((devices[0].kind, devices[0].memory), (DeviceKind::Amd, Memory::Shared));
    assert_eq!(devices[0].display, Display::Driven);
}

#[test]
fn processes_on_a_card_are_found_by_their_open_files() {
    let root = recording("amd_laptop");
    let clients = fdinfo::clients(&Tree::at(root.path()));
    assert_eq!(clients.hidden, 2, "the first process and somebody else's may not be looked at");
    let [client] = clients.clients.as_slice() else { panic!("{clients:?}") };
    assert_eq!((client.pid, client.name.as_str()), (1412, "blender"));
    assert_eq!(client.memory, ByteSize::mib(300), "two files of one client are one use");
    assert_eq!(client.engines_ns["gfx"], 7_000_000_000);
}

#[test]
fn a_laptop_is_on_its_battery_when_nothing_is_plugged_in() {
    let root = recording("amd_laptop");
    assert!(power::on_battery(&Tree::at(root.path())));
    fs::write(root.path().join("sys/class/power_supply/ADP1/online"), "1").expect("written");
    assert!(!power::on_battery(&Tree::at(root.path())));
}

#[test]
fn the_battery_of_a_mouse_is_not_the_machine_s() {
    let root = plant(
        "/sys/class/power_supply/hidpp_battery_0/type = Battery\n/sys/class/power_supply/hidpp_battery_0/scope = Device\n\
         /sys/class/power_supply/hidpp_battery_0/status = Discharging",
    );
    assert!(!power::on_battery(&Tree::at(root.path())));
}

#[test]
fn containers_are_known_by_their_marks() {
    for (mark, kind) in [
        ("/.dockerenv = mark", "docker"),
        ("/run/.containerenv = engine", "podman"),
        ("/run/systemd/container = systemd-nspawn", "systemd-nspawn"),
        ("/proc/1/cgroup = 0::/kubepods/besteffort/pod1/abc", "kubernetes"),
        ("/proc/1/cgroup = 0::/lxc/box", "lxc"),
    ] {
        let root = plant(&format!("{mark}\n"));
        assert_eq!(probe_tree(&places(root.path())).system.container.as_deref(), Some(kind), "{mark}");
    }
}

#[test]
fn an_empty_tree_is_a_machine_without_anything() {
    let root = tempfile::tempdir().expect("a folder");
    let probes = probe_tree(&places(root.path()));
    assert_eq!((probes.pci.len(), probes.cards.len(), probes.system.modules), (0, 0, None));
    assert!(probes.system.tools.is_empty());
}

#[test]
fn files_with_nonsense_do_not_stop_the_reading() {
    let root = plant(
        "/sys/class/drm/card0/device/mem_info_vram_total = a lot\n/sys/class/drm/card0/device/gpu_busy_percent = 900\n\
         /sys/bus/pci/devices/nowhere/class = 0x030000\n/sys/bus/pci/devices/0000:01:00.0/class = pretty\n\
         /sys/class/drm/cardX/status = connected",
    );
    let probes = probe_tree(&places(root.path()));
    assert_eq!(probes.pci, []);
    assert_eq!((probes.cards.len(), probes.cards[0].memory, probes.cards[0].busy_percent), (1, None, None));
}
