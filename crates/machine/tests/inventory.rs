//! What is found on recorded machines, and which advice their owners get.
use std::path::Path;

use gleaner_machine::advice::{Finding, State, findings};
use gleaner_machine::inventory::{Device, Display, Inventory, Memory, Problem};
use gleaner_machine::probe::Probes;
use gleaner_wire::{ByteSize, DeviceKind};

struct Machine {
    probes: Probes,
    inventory: Inventory,
    findings: Vec<Finding>,
}

fn machine(name: &str) -> Machine {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/machines/{name}.json"));
    let text = std::fs::read_to_string(&path).expect("the recording is there");
    let probes: Probes = serde_json::from_str(&text).expect("the recording can be read");
    let inventory = Inventory::from(&probes);
    let findings = findings(&inventory, &probes.system);
    Machine { probes, inventory, findings }
}

impl Machine {
    fn gpus(&self) -> Vec<&Device> {
        self.inventory.devices.iter().filter(|device| device.kind != DeviceKind::Software).collect()
    }

    /// The only problem, with the advice for it.
    fn only_problem(&self) -> (&Problem, String, String) {
        let [problem] = self.inventory.problems.as_slice() else { panic!("{:?}", self.inventory.problems) };
        let told = self.findings.iter().find_map(|finding| match &finding.state {
            State::Missing { why, fix }
                if finding.capability.contains("gpu") || finding.capability.contains("kernels") =>
            {
                Some((why.clone(), fix.clone()))
            }
            State::Missing { .. } | State::Works { .. } => None,
        });
        let (why, fix) = told.expect("every problem is told");
        (problem, why, fix)
    }

    fn fix(&self, capability: &str) -> &str {
        let finding = self.findings.iter().find(|finding| finding.capability == capability).expect("a capability");
        match &finding.state {
            State::Missing { fix, .. } => fix,
            State::Works { detail } => panic!("{capability} works: {detail}"),
        }
    }
}

#[test]
fn two_nvidia_gpus_are_told_apart_by_their_place() {
    let machine = machine("two_nvidia_gpus");
    let gpus = machine.gpus();
    assert_eq!(gpus.len(), 2);
    assert_eq!(gpus[0].name, "NVIDIA GeForce RTX 4090");
    assert_eq!(gpus[0].memory, Memory::Own(Some(ByteSize::mib(24564))));
    assert_eq!((gpus[0].display, gpus[1].display), (Display::Driven, Display::None));
    assert_eq!((gpus[0].ways.adapter, gpus[1].ways.adapter), (Some(0), Some(1)));
    assert_eq!(gpus[1].ways.cuda.as_deref(), Some("12.4"));
    assert_eq!(gpus[1].driver.as_deref(), Some("550.120"));
    assert_eq!(gpus[1].power_mw_max, Some(350_000));
    assert_eq!(machine.inventory.problems, []);
    assert!(machine.findings.iter().all(Finding::is_good), "{:#?}", machine.findings);
}

#[test]
fn twins_that_share_their_numbers_get_an_adapter_each() {
    let mut probes = machine("two_nvidia_gpus").probes;
    for adapter in probes.adapters.iter_mut().flatten() {
        adapter.address = None;
        if adapter.kind == DeviceKind::Nvidia {
            adapter.ids = (0x10de, 0x2684);
        }
    }
    probes.pci.iter_mut().for_each(|device| device.device = 0x2684);
    let devices = Inventory::from(&probes).devices;
    let given: Vec<_> = devices.iter().map(|device| device.ways.adapter).collect();
    assert_eq!(given, [Some(0), Some(1), Some(2)]);
}

#[test]
fn a_card_without_driver_is_found_and_the_driver_named() {
    let machine = machine("nvidia_card_without_driver");
    assert_eq!(machine.gpus().len(), 1);
    assert!(!machine.gpus()[0].is_usable());
    let (problem, why, fix) = machine.only_problem();
    assert!(matches!(problem, Problem::CardWithoutDriver { kind: DeviceKind::Nvidia, .. }));
    assert_eq!(why, "no driver holds the nvidia card at 0000:01:00.0");
    assert!(fix.starts_with("sudo apt install nvidia-driver"), "{fix}");
    assert_eq!(machine.fix("sandbox for programs"), "sudo apt install bubblewrap");
    assert_eq!(machine.fix("container"), "sudo apt install podman");
    assert_eq!(machine.fix("blender"), "sudo apt install blender");
}

#[test]
fn a_working_nvidia_card_without_an_engine_is_told_of_docker_and_not_of_podman() {
    let mut probes = machine("two_nvidia_gpus").probes;
    probes.system.tools.retain(|tool, _| !["podman", "docker", "nvidia-ctk"].contains(&tool.as_str()));
    let told = findings(&Inventory::from(&probes), &probes.system);
    let fix = |capability: &str| {
        let finding = told.iter().find(|finding| finding.capability == capability).expect("it is told");
        finding.to_string()
    };
    let container = fix("container");
    assert!(container.contains("get.docker.com") && container.contains("systemctl enable --now docker"), "{container}");
    assert!(!container.contains("install podman"), "{container}");
    assert!(fix("gpu in containers").contains("nvidia-container-toolkit"));
}

#[test]
fn nouveau_is_not_taken_for_a_driver_that_computes() {
    let machine = machine("nouveau");
    let (problem, _, fix) = machine.only_problem();
    assert!(matches!(problem, Problem::Nouveau { .. }));
    assert!(fix.starts_with("sudo dnf install akmod-nvidia"), "{fix}");
}

#[test]
fn a_hybrid_laptop_shows_its_desktop_on_the_small_gpu() {
    let machine = machine("hybrid_laptop");
    let gpus = machine.gpus();
    assert_eq!(gpus.iter().map(|gpu| gpu.kind).collect::<Vec<_>>(), [DeviceKind::Intel, DeviceKind::Nvidia]);
    assert_eq!(gpus[0].name, "Intel(R) Graphics (RPL-P)");
    assert_eq!((gpus[0].display, gpus[1].display), (Display::Driven, Display::None));
    assert_eq!((gpus[0].is_discrete(), gpus[1].is_discrete()), (false, true));
    assert_eq!((gpus[0].ways.adapter, gpus[1].ways.adapter), (Some(1), Some(0)));
    assert_eq!(machine.inventory.problems, []);
    assert_eq!(machine.fix("gpu in containers"), "sudo pacman -S nvidia-container-toolkit");
}

#[test]
fn an_apu_that_may_not_be_opened_needs_a_group() {
    let machine = machine("amd_apu");
    let gpu = machine.gpus()[0];
    assert_eq!((gpu.kind, gpu.memory), (DeviceKind::Amd, Memory::Shared));
    let nodes = ["/dev/dri/renderD128", "/dev/kfd"].map(|node| Problem::NoPermission { node: node.to_owned() });
    assert_eq!(machine.inventory.problems, nodes);
    assert_eq!(machine.fix("gpu"), "sudo usermod -aG render $USER, then log out and in again");
}

#[test]
fn the_card_of_an_amd_desktop_is_not_confused_with_its_processor_s() {
    let machine = machine("amd_desktop_with_rocm");
    let gpus = machine.gpus();
    assert_eq!((gpus[0].ways.rocm, gpus[1].ways.rocm), (true, false));
    assert_eq!(gpus[0].memory, Memory::Own(Some(ByteSize::mib(24560))));
    assert_eq!(gpus[1].memory, Memory::Shared);
    assert_eq!(machine.inventory.problems, []);
}

#[test]
fn a_headless_node_computes_with_cuda_and_lacks_vulkan_once() {
    let machine = machine("headless_a100_node");
    let gpus = machine.gpus();
    assert_eq!(gpus.len(), 8, "the management chip is not a GPU");
    assert!(gpus.iter().all(|gpu| gpu.is_usable() && gpu.display == Display::None && gpu.ways.adapter.is_none()));
    let (problem, _, fix) = machine.only_problem();
    assert!(matches!(problem, Problem::NoInterface { kind: DeviceKind::Nvidia, .. }));
    assert_eq!(fix, "sudo apt install libnvidia-gl-$(cut -d. -f1 /sys/module/nvidia/version)");
    let shown = machine.findings.iter().filter(|finding| finding.capability == "gpu NVIDIA A100-SXM4-80GB");
    assert_eq!(shown.filter(|finding| finding.is_good()).count(), 8);
}

#[test]
fn a_software_driver_is_not_a_gpu() {
    let machine = machine("mesa_software_only");
    assert_eq!(machine.gpus(), Vec::<&Device>::new());
    assert_eq!(machine.inventory.devices.len(), 1);
    assert_eq!(machine.inventory.problems, [Problem::SoftwareOnly]);
}

#[test]
fn a_container_without_device_nodes_is_started_otherwise() {
    let machine = machine("container_without_dri");
    let (problem, why, fix) = machine.only_problem();
    assert!(matches!(problem, Problem::ContainerWithoutNodes { .. }));
    assert_eq!(why, "this docker container was given none of the machine's GPUs");
    assert_eq!(fix, "start it again with: docker run --gpus all ...");
}

#[test]
fn an_amd_container_gets_the_nodes_of_the_kernel() {
    let mut probes = machine("container_without_dri").probes;
    probes.system.container = Some("podman".to_owned());
    probes.pci[0].vendor = 0x1002;
    let inventory = Inventory::from(&probes);
    let told = findings(&inventory, &probes.system);
    assert!(told.iter().any(|finding| finding.to_string().contains("podman run --device /dev/dri")), "{told:?}");
}

#[test]
fn a_driver_that_was_updated_under_its_module_needs_a_reboot() {
    let machine = machine("broken_driver");
    let (problem, why, fix) = machine.only_problem();
    assert_eq!(problem, &Problem::VersionMismatch { module: Some("535.183.01".to_owned()) });
    assert_eq!(why, "NVIDIA's libraries are of another version than the loaded module 535.183.01");
    assert!(fix.starts_with("sudo reboot"), "{fix}");
}

#[test]
fn a_module_without_its_library_needs_the_library() {
    let machine = machine("module_without_library");
    let (problem, _, fix) = machine.only_problem();
    assert_eq!(problem, &Problem::ModuleWithoutLibrary { version: Some("565.57.01".to_owned()) });
    assert_eq!(fix, "sudo dnf install xorg-x11-drv-nvidia-cuda (from RPM Fusion)");
}

#[test]
fn a_gpu_that_fell_off_the_bus_is_told_and_the_other_still_works() {
    let machine = machine("lost_gpu");
    let usable: Vec<_> = machine.gpus().iter().map(|gpu| gpu.is_usable()).collect();
    assert_eq!(usable, [true, false]);
    let (problem, _, fix) = machine.only_problem();
    assert!(matches!(problem, Problem::GpuFault { .. }));
    assert!(fix.contains("xid"), "{fix}");
}

#[test]
fn an_arc_card_has_memory_of_its_own_and_its_processor_s_gpu_has_not() {
    let machine = machine("intel_arc");
    let gpus = machine.gpus();
    assert_eq!((gpus[0].is_discrete(), gpus[1].is_discrete()), (false, true));
    assert_eq!(gpus[1].display, Display::Driven);
    let (problem, _, fix) = machine.only_problem();
    assert!(matches!(problem, Problem::NoInterface { kind: DeviceKind::Intel, .. }));
    assert!(fix.contains("hardware.graphics.enable = true;"), "{fix}");
}

#[test]
fn an_apple_laptop_has_one_gpu_that_shares_its_memory() {
    let machine = machine("apple_laptop");
    let gpus = machine.gpus();
    assert_eq!(gpus.len(), 1);
    assert_eq!((gpus[0].memory, gpus[0].display), (Memory::Shared, Display::Driven));
    assert_eq!(gpus[0].ways.adapter, Some(0));
    assert_eq!(machine.inventory.problems, []);
    assert!(machine.fix("container").starts_with("brew install podman"));
    assert!(
        machine.findings.iter().all(|finding| finding.capability != "sandbox for programs"),
        "that one needs Linux"
    );
}

#[test]
fn nothing_is_claimed_about_adapters_that_nobody_asked_for() {
    let mut probes = machine("headless_a100_node").probes;
    probes.adapters = None;
    assert_eq!(Inventory::from(&probes).problems, []);
}

#[test]
fn recordings_read_back_what_is_written() {
    for name in ["two_nvidia_gpus", "amd_apu", "apple_laptop", "lost_gpu"] {
        let probes = machine(name).probes;
        let text = serde_json::to_string(&probes).expect("it can be written");
        assert_eq!(serde_json::from_str::<Probes>(&text).expect("it can be read"), probes, "{name}");
    }
}
