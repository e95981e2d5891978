//! Putting the parts of each GPU together.
use gleaner_wire::{ByteSize, DeviceKind};

use super::{Device, Display, Memory, Ways, adapters, kind_of};
use crate::probe::apple::AppleGpu;
use crate::probe::drm::Card;
use crate::probe::nvml::{NvidiaGpu, NvmlProbe};
use crate::probe::pci::PciDevice;
use crate::probe::{Adapter, PciAddress, Probes};

/// Intel's integrated GPU has had this place on every machine.
const INTEL_INTEGRATED: &str = "0000:00:02.0";

/// All that is known of one GPU.
#[derive(Default)]
struct Parts<'a> {
    pci: Option<&'a PciDevice>,
    card: Option<&'a Card>,
    nvidia: Option<&'a NvidiaGpu>,
    apple: Option<&'a AppleGpu>,
    rocm_memory: Option<ByteSize>,
    rocm: bool,
    adapter: Option<(usize, &'a Adapter)>,
}

pub(super) fn devices(probes: &Probes) -> Vec<Device> {
    let mut all: Vec<Parts<'_>> = probes.pci.iter().map(|pci| parts_at(probes, pci)).collect();
    give_unplaced(&mut all, &probes.nvml);
    all.extend(probes.apple.iter().map(|gpu| Parts { apple: Some(gpu), ..Parts::default() }));
    give_adapters(&mut all, adapters(probes));
    // Management chips of servers draw a console and compute nothing.
    let computing = all.into_iter().filter(|parts| parts.kind() != DeviceKind::Other || parts.adapter.is_some());
    computing.map(|parts| parts.device(&probes.nvml)).collect()
}

/// Gives GPUs of NVIDIA's library that were not found on the bus to cards that the library did not name: a GPU that does
/// not answer has no place. In some containers and virtual machines the bus does not show them at all.
fn give_unplaced<'a>(all: &mut Vec<Parts<'a>>, library: &'a NvmlProbe) {
    let placed: Vec<_> = all.iter().filter_map(|parts| parts.nvidia).collect();
    let unplaced: Vec<_> = library.gpus.iter().filter(|gpu| !placed.contains(gpu)).collect();
    for gpu in unplaced {
        let mut free = all.iter_mut().filter(|parts| parts.nvidia.is_none() && parts.kind() == DeviceKind::Nvidia);
        match free.next().filter(|_| gpu.address.is_none()) {
            Some(parts) => parts.nvidia = Some(gpu),
            None => all.push(Parts { nvidia: Some(gpu), ..Parts::default() }),
        }
    }
}

fn parts_at<'a>(probes: &'a Probes, pci: &'a PciDevice) -> Parts<'a> {
    let here = Some(pci.address);
    let rocm = probes.rocm.gpus.iter().find(|gpu| gpu.address == pci.address);
    Parts {
        pci: Some(pci),
        card: probes.cards.iter().find(|card| card.address == here),
        nvidia: probes.nvml.gpus.iter().find(|gpu| gpu.address == here),
        rocm: rocm.is_some(),
        rocm_memory: rocm.and_then(|gpu| gpu.memory),
        ..Parts::default()
    }
}

/// Gives each adapter to the device it belongs to: first by place, then by numbers, then by maker. What is left over
/// is a device of its own.
fn give_adapters<'a>(all: &mut Vec<Parts<'a>>, adapters: &'a [Adapter]) {
    let mut left: Vec<(usize, &Adapter)> = adapters.iter().enumerate().collect();
    let fits: [fn(&Parts<'_>, &Adapter) -> bool; 3] = [
        |parts, adapter| adapter.address.is_some() && parts.address() == adapter.address,
        |parts, adapter| adapter.address.is_none() && parts.ids().is_some_and(|ids| ids == adapter.ids),
        |parts, adapter| parts.ids().is_none() && parts.kind() == adapter.kind,
    ];
    for fit in fits {
        left.retain(|(index, adapter)| {
            let mut free = all.iter_mut().filter(|parts| parts.adapter.is_none());
            match free.find(|parts| adapter.kind != DeviceKind::Software && fit(parts, adapter)) {
                Some(parts) => {
                    parts.adapter = Some((*index, *adapter));
                    false
                }
                None => true,
            }
        });
    }
    all.extend(left.into_iter().map(|adapter| Parts { adapter: Some(adapter), ..Parts::default() }));
}

impl Parts<'_> {
    fn kind(&self) -> DeviceKind {
        if self.nvidia.is_some() {
            return DeviceKind::Nvidia;
        }
        if self.apple.is_some() {
            return DeviceKind::Apple;
        }
        match (self.pci, self.adapter) {
            (Some(pci), _) => kind_of(pci.vendor),
            (None, Some((_, adapter))) => adapter.kind,
            (None, None) => DeviceKind::Other,
        }
    }

    fn address(&self) -> Option<PciAddress> {
        let of_adapter = self.adapter.and_then(|(_, adapter)| adapter.address);
        self.pci.map(|pci| pci.address).or(self.nvidia.and_then(|gpu| gpu.address)).or(of_adapter)
    }

    fn ids(&self) -> Option<(u32, u32)> {
        self.pci.map(|pci| (pci.vendor, pci.device))
    }

    fn device(&self, library: &NvmlProbe) -> Device {
        let of_adapter = self.adapter.map(|(_, adapter)| adapter.driver.clone());
        let healthy = self.nvidia.filter(|gpu| gpu.fault.is_none());
        Device {
            kind: self.kind(),
            name: self.name(),
            address: self.address(),
            memory: self.memory(),
            module: self.pci.and_then(|pci| pci.driver.clone()),
            driver: self.nvidia.and(library.driver.clone()).or(of_adapter.filter(|driver| !driver.is_empty())),
            display: self.display(),
            ways: Ways {
                adapter: self.adapter.map(|(index, _)| index),
                cuda: healthy.and(library.cuda.clone()),
                rocm: self.rocm,
            },
            power_mw_max: self.nvidia.and_then(|gpu| gpu.power_mw_max).or(self.card.and_then(|card| card.power_mw_max)),
        }
    }

    fn name(&self) -> String {
        let of_vendor = self.nvidia.map(|gpu| &gpu.name).or(self.apple.map(|gpu| &gpu.name));
        let named = of_vendor.or(self.adapter.map(|(_, adapter)| &adapter.name)).filter(|name| !name.is_empty());
        match (named, self.pci) {
            (Some(name), _) => name.clone(),
            (None, Some(pci)) => format!("{} card {:04x}:{:04x}", kind_of(pci.vendor), pci.vendor, pci.device),
            (None, None) => "unnamed device".to_owned(),
        }
    }

    fn memory(&self) -> Memory {
        let size =
            self.nvidia.and_then(|gpu| gpu.memory).or(self.card.and_then(|card| card.memory)).or(self.rocm_memory);
        if self.has_own_memory() { Memory::Own(size) } else { Memory::Shared }
    }

    fn has_own_memory(&self) -> bool {
        if let Some((_, adapter)) = self.adapter {
            return adapter.discrete;
        }
        match self.kind() {
            DeviceKind::Nvidia => true,
            DeviceKind::Intel => self.address().is_some_and(|address| address.to_string() != INTEL_INTEGRATED),
            // Boards have a limit of power that can be set; processors with graphics do not show one.
            DeviceKind::Amd => self.card.is_none_or(|card| card.power_mw_max.is_some()),
            DeviceKind::Apple | DeviceKind::Cpu | DeviceKind::Software | DeviceKind::Other => false,
        }
    }

    fn display(&self) -> Display {
        if self.adapter.is_some_and(|(_, adapter)| adapter.kind == DeviceKind::Software) {
            return Display::None;
        }
        let of_card = self.card.map(|card| !card.displays.is_empty());
        let of_library = self.nvidia.and_then(|gpu| gpu.display_active);
        let of_apple = self.apple.map(|gpu| !gpu.displays.is_empty());
        let said = [of_card, of_library, of_apple];
        if said.contains(&Some(true)) {
            Display::Driven
        } else if said.contains(&Some(false)) {
            Display::None
        } else {
            Display::Unknown
        }
    }
}
