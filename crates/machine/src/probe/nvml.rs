//! NVIDIA GPUs through their management library, which is loaded when it is there and missed when it is not.
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use gleaner_wire::ByteSize;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::{Nvml, cuda_driver_version_major, cuda_driver_version_minor};
use serde::{Deserialize, Serialize};

use super::pci::PciAddress;

/// More than any machine has.
const GPUS_MAX: u32 = 64;
/// The most processes of one GPU that are listed.
const PROCESSES_MAX: usize = 256;
const NAME_BYTES_MAX: usize = 256;
/// How far back the load of a process is looked at.
const LOAD_SPAN_US: u64 = 2_000_000;

/// How the library answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It listed its GPUs.
    Works,
    /// There is no such library.
    #[default]
    LibraryMissing,
    /// The library is there, the kernel module is not.
    ModuleMissing,
    /// The library and the kernel module are of different versions.
    VersionMismatch,
    /// The device nodes may not be opened.
    NoPermission,
    /// Anything else.
    Failed(String),
}

/// Everything that the library says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NvmlProbe {
    /// How it answered.
    pub answer: Answer,
    /// The version of the driver.
    pub driver: Option<String>,
    /// The newest CUDA that the driver runs.
    pub cuda: Option<String>,
    /// The GPUs.
    pub gpus: Vec<NvidiaGpu>,
}

/// A GPU as the library shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NvidiaGpu {
    /// Its name.
    pub name: String,
    /// The number that no other GPU has.
    pub uuid: String,
    /// Where it is.
    pub address: Option<PciAddress>,
    /// Its memory.
    pub memory: Option<ByteSize>,
    /// How much of it is taken.
    pub memory_used: Option<ByteSize>,
    /// Whether a desktop shows on it, displays plugged in or not.
    pub display_active: Option<bool>,
    /// Whether it is split into instances.
    pub split: Option<bool>,
    /// What it draws now.
    pub power_mw: Option<u64>,
    /// What it may draw at most.
    pub power_mw_max: Option<u64>,
    /// How hot it is.
    pub celsius: Option<i16>,
    /// How busy it is.
    pub busy_percent: Option<u8>,
    /// Who uses it.
    pub processes: Vec<GpuProcess>,
    /// Why it could not be asked, if it could not.
    pub fault: Option<String>,
}

/// A process on a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuProcess {
    /// Its number.
    pub pid: u32,
    /// Its name, without the folder.
    pub name: String,
    /// Memory that it holds on the GPU.
    pub memory: Option<ByteSize>,
    /// How busy it keeps the GPU.
    pub busy_percent: Option<u8>,
    /// Whether it computes, rather than draws.
    pub computes: bool,
}

/// The library, loaded.
pub struct Library {
    nvml: Nvml,
}

impl Library {
    /// Loads it, or says why not.
    pub fn load() -> Result<Self, Answer> {
        match Nvml::init() {
            Ok(nvml) => Ok(Self { nvml }),
            Err(error) => Err(answer_of(&error)),
        }
    }

    /// Asks for everything.
    pub fn probe(&self) -> NvmlProbe {
        let cuda = self.nvml.sys_cuda_driver_version().ok();
        let cuda = cuda.map(|v| format!("{}.{}", cuda_driver_version_major(v), cuda_driver_version_minor(v)));
        NvmlProbe { answer: Answer::Works, driver: self.nvml.sys_driver_version().ok(), cuda, gpus: self.gpus() }
    }

    /// The GPUs as they are now.
    pub fn gpus(&self) -> Vec<NvidiaGpu> {
        let count = self.nvml.device_count().unwrap_or(0).min(GPUS_MAX);
        (0..count).map(|index| self.gpu(index)).collect()
    }

    fn gpu(&self, index: u32) -> NvidiaGpu {
        let device = match self.nvml.device_by_index(index) {
            Ok(device) => device,
            Err(error) => {
                let name = format!("NVIDIA GPU {index}");
                return NvidiaGpu { name, fault: Some(error.to_string()), ..NvidiaGpu::default() };
            }
        };
        let memory = device.memory_info().ok();
        let celsius = device.temperature(TemperatureSensor::Gpu).ok();
        let limit = device.enforced_power_limit().or_else(|_| device.power_management_limit());
        NvidiaGpu {
            name: device.name().unwrap_or_else(|_| format!("NVIDIA GPU {index}")),
            uuid: device.uuid().unwrap_or_default(),
            address: device.pci_info().ok().and_then(|pci| pci.bus_id.parse().ok()),
            memory: memory.as_ref().map(|memory| ByteSize(memory.total)),
            memory_used: memory.as_ref().map(|memory| ByteSize(memory.used)),
            display_active: device.is_display_active().ok(),
            split: device.mig_mode().ok().map(|mode| mode.current != 0),
            power_mw: device.power_usage().ok().map(u64::from),
            power_mw_max: limit.ok().map(u64::from),
            celsius: celsius.and_then(|celsius| i16::try_from(celsius).ok()),
            busy_percent: device.utilization_rates().ok().map(|rates| rates.gpu.min(100) as u8),
            processes: self.processes(&device),
            fault: None,
        }
    }

    fn processes(&self, device: &nvml_wrapper::Device<'_>) -> Vec<GpuProcess> {
        let load = load(device);
        let mut found: BTreeMap<u32, GpuProcess> = BTreeMap::new();
        let computing = device.running_compute_processes().unwrap_or_default();
        let drawing = device.running_graphics_processes().unwrap_or_default();
        let all = drawing.iter().map(|info| (info, false)).chain(computing.iter().map(|info| (info, true)));
        for (info, computes) in all.take(PROCESSES_MAX) {
            let process = found.entry(info.pid).or_insert_with(|| self.process(info));
            process.computes |= computes;
            process.busy_percent = load.as_ref().map(|load| load.get(&info.pid).copied().unwrap_or(0));
        }
        found.into_values().collect()
    }

    fn process(&self, info: &ProcessInfo) -> GpuProcess {
        let path = self.nvml.sys_process_name(info.pid, NAME_BYTES_MAX).unwrap_or_default();
        let name = path.split_whitespace().next().unwrap_or_default().rsplit(['/', '\\']).next().unwrap_or_default();
        let memory = match info.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(ByteSize(bytes)),
            UsedGpuMemory::Unavailable => None,
        };
        GpuProcess { pid: info.pid, name: name.to_owned(), memory, ..GpuProcess::default() }
    }
}

/// The load of each process lately; `None` where the driver does not say.
fn load(device: &nvml_wrapper::Device<'_>) -> Option<BTreeMap<u32, u8>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let since = u64::try_from(now.as_micros()).ok()?.saturating_sub(LOAD_SPAN_US);
    match device.process_utilization_stats(since) {
        Ok(samples) => {
            let mut load = BTreeMap::new();
            for sample in samples.into_iter().filter(|sample| sample.timestamp >= since) {
                let percent = sample.sm_util.max(sample.enc_util).max(sample.dec_util).min(100) as u8;
                let most = load.entry(sample.pid).or_insert(0);
                *most = percent.max(*most);
            }
            Some(load)
        }
        // Nothing at all was sampled: every process was idle.
        Err(NvmlError::NotFound) => Some(BTreeMap::new()),
        Err(_) => None,
    }
}

fn answer_of(error: &NvmlError) -> Answer {
    match error {
        NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => Answer::LibraryMissing,
        NvmlError::DriverNotLoaded => Answer::ModuleMissing,
        NvmlError::LibRmVersionMismatch => Answer::VersionMismatch,
        NvmlError::NoPermission => Answer::NoPermission,
        other => Answer::Failed(other.to_string()),
    }
}

/// Loads the library, asks, and lets it go.
pub fn read() -> NvmlProbe {
    match Library::load() {
        Ok(library) => library.probe(),
        Err(answer) => NvmlProbe { answer, ..NvmlProbe::default() },
    }
}
