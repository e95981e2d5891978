//! The adapters of this machine, as their drivers show them.
use gleaner_wire::DeviceKind;

use super::message::Adapter;

/// The most adapters that are looked at.
const ADAPTERS_MAX: usize = 64;

/// An instance of the graphics interfaces there are.
pub(crate) fn instance() -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    descriptor.flags = wgpu::InstanceFlags::empty();
    wgpu::Instance::new(descriptor)
}

/// Every adapter that can compute, with how it is found again. A device that answers through several interfaces
/// is there once.
pub(crate) async fn list(instance: &wgpu::Instance) -> Vec<(Adapter, wgpu::Adapter)> {
    let mut adapters = instance.enumerate_adapters(wgpu::Backends::all()).await;
    adapters.truncate(ADAPTERS_MAX);
    adapters.sort_by_key(|adapter| backend_rank(adapter.get_info().backend));
    let mut found: Vec<(Adapter, wgpu::Adapter)> = Vec::new();
    for adapter in adapters {
        let mut described = describe(&adapter);
        let alike = found.iter().filter(|(other, _)| is_twin(other, &described));
        let (same_way, other_way): (Vec<_>, Vec<_>) = alike.partition(|(other, _)| other.backend == described.backend);
        if !other_way.is_empty() {
            continue;
        }
        described.twin = same_way.len() as u16;
        found.push((described, adapter));
    }
    found
}

fn backend_rank(backend: wgpu::Backend) -> u8 {
    match backend {
        wgpu::Backend::Vulkan => 0,
        wgpu::Backend::Metal => 1,
        wgpu::Backend::Dx12 => 2,
        wgpu::Backend::Gl | wgpu::Backend::BrowserWebGpu | wgpu::Backend::Noop => 3,
    }
}

fn is_twin(one: &Adapter, other: &Adapter) -> bool {
    let same_bus = one.bus.is_empty() || other.bus.is_empty() || one.bus == other.bus;
    one.ids == other.ids && same_bus && (one.name == other.name || one.backend != other.backend)
}

fn describe(adapter: &wgpu::Adapter) -> Adapter {
    let info = adapter.get_info();
    let limits = adapter.limits();
    Adapter {
        kind: kind_of(&info),
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
        backend: info.backend.to_str().to_owned(),
        ids: (info.vendor, info.device),
        bus: info.device_pci_bus_id,
        name: info.name,
        twin: 0,
        discrete: info.device_type == wgpu::DeviceType::DiscreteGpu,
        buffer_bytes_max: limits.max_buffer_size,
    }
}

fn kind_of(info: &wgpu::AdapterInfo) -> DeviceKind {
    if info.device_type == wgpu::DeviceType::Cpu {
        return DeviceKind::Software;
    }
    // Numbers of the PCI registry; Mesa's software driver has one of Khronos' own.
    match info.vendor {
        0x10de => DeviceKind::Nvidia,
        0x1002 | 0x1022 => DeviceKind::Amd,
        0x8086 => DeviceKind::Intel,
        0x106b => DeviceKind::Apple,
        0x1_0005 => DeviceKind::Software,
        _ => DeviceKind::Other,
    }
}
