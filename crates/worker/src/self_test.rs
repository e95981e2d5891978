//! What this machine can do, found by trying. Only what passed is offered.
use std::path::Path;
use std::sync::Arc;

use gleaner_wire::{ByteSize, DeviceKind, DeviceOffer, Offer, Runtime, RuntimeOffer};

use crate::config::{Config, Error};
use crate::doctor::Finding;
use crate::lane::Engine;
use crate::wasm::{self, MEMORY_BYTES_MAX, Wasm};
use crate::wgsl::{Adapter, Launcher};

/// The part of the machine's memory that tasks on the processor share.
const MEMORY_PART: u64 = 2;
/// What is offered of a card's own memory: drivers do not say how much there is, and every card has this much.
const DISCRETE_MEMORY: u64 = 2 << 30;
/// What is offered where the system does not say how much memory there is.
const MEMORY_UNKNOWN: u64 = 1 << 30;
const NAME_CHARS_MAX: usize = 64;
const SCRATCH: &str = "scratch";
const RUNTIME: &str = "runtime";

/// What a self-test found: an offer, what it runs on, and every finding.
pub struct Tested {
    /// What is offered.
    pub offer: Offer,
    /// Everything that was tried.
    pub findings: Vec<Finding>,
    /// What the devices of the offer run on, in the same order.
    pub(crate) engines: Vec<Engine>,
    pub(crate) wasm: Option<Arc<Wasm>>,
}

struct Device {
    offer: DeviceOffer,
    engine: Engine,
}

/// Tests every runtime on every device that the configuration allows.
pub fn self_test(config: &Config) -> Result<Tested, Error> {
    let scratch = empty_folder(&config.dir, SCRATCH)?;
    let mut findings = Vec::new();
    let mut devices = Vec::new();
    let mut wasm = None;
    if config.cpu_slots > 0 {
        match test_processor(config, &scratch) {
            Ok((device, runtime)) => {
                findings.push(Finding::works("wasm", describe(&device.offer)));
                wasm = Some(runtime);
                devices.push(device);
            }
            Err(failure) => findings.push(Finding::missing("wasm", failure.detail, "report this as a bug")),
        }
    }
    if config.gpu {
        test_adapters(config, &mut devices, &mut findings)?;
    }
    let (offers, engines) = devices.into_iter().map(|device| (device.offer, device.engine)).unzip();
    let offer =
        Offer { name: config.name.clone(), region: config.region.clone(), provider: config.provider, devices: offers };
    Ok(Tested { offer, findings, engines, wasm })
}

fn test_processor(config: &Config, scratch: &Path) -> Result<(Device, Arc<Wasm>), crate::failure::Failure> {
    let slots = config.cpu_slots.min(Offer::SLOTS_MAX);
    let runtime = Arc::new(Wasm::new(slots, scratch.to_path_buf())?);
    let score = wasm::test(&runtime)?;
    let memory = (machine_memory() / MEMORY_PART / u64::from(slots)).min(MEMORY_BYTES_MAX);
    let offer = DeviceOffer {
        kind: DeviceKind::Cpu,
        name: format!("CPU, {slots} slots"),
        memory: ByteSize(memory),
        cards: 1,
        slots,
        network: false,
        price_per_second: config.price_per_second,
        runtimes: vec![RuntimeOffer { runtime: Runtime::Wasm, score, loops_max: None, engine: None }],
    };
    Ok((Device { offer, engine: Engine::Wasm(runtime.clone()) }, runtime))
}

fn test_adapters(config: &Config, devices: &mut Vec<Device>, findings: &mut Vec<Finding>) -> Result<(), Error> {
    let launcher = Launcher { executable: config.child.clone(), runtime_dir: empty_folder(&config.dir, RUNTIME)? };
    let adapters = match launcher.adapters() {
        Ok(adapters) => adapters,
        Err(failure) => {
            findings.push(Finding::missing("wgsl", failure.detail, "install or repair the graphics driver"));
            return Ok(());
        }
    };
    let wanted = choose(adapters, config.adapter.as_deref());
    if wanted.is_empty() {
        let (why, fix) = crate::doctor::no_adapter(config.adapter.as_deref());
        findings.push(Finding::missing("wgsl", why, fix));
    }
    for adapter in wanted {
        let capability = format!("wgsl on {}", adapter.name);
        match launcher.test(&adapter) {
            Ok(speed) => {
                let runtime = RuntimeOffer {
                    runtime: Runtime::Wgsl,
                    score: speed.score,
                    loops_max: speed.loops_max,
                    engine: None,
                };
                let device = offer_adapter(config, &launcher, adapter, runtime);
                findings.push(Finding::works(capability, describe(&device.offer)));
                devices.push(device);
            }
            Err(failure) => findings.push(Finding::missing(capability, failure.detail, "update the graphics driver")),
        }
    }
    Ok(())
}

/// The adapters to offer. Software drivers compute on the processor, so they count only where nothing better is,
/// or where the owner names one.
fn choose(mut adapters: Vec<Adapter>, wanted: Option<&str>) -> Vec<Adapter> {
    if let Some(part) = wanted {
        adapters.retain(|adapter| adapter.name.to_lowercase().contains(&part.to_lowercase()));
    } else if adapters.iter().any(|adapter| adapter.kind != DeviceKind::Software) {
        adapters.retain(|adapter| adapter.kind != DeviceKind::Software);
    }
    adapters.truncate(Offer::DEVICES_MAX - 1);
    adapters
}

fn offer_adapter(config: &Config, launcher: &Launcher, adapter: Adapter, runtime: RuntimeOffer) -> Device {
    let memory =
        if adapter.discrete { adapter.buffer_bytes_max.min(DISCRETE_MEMORY) } else { machine_memory() / MEMORY_PART };
    let offer = DeviceOffer {
        kind: adapter.kind,
        name: printable(&adapter.name),
        memory: ByteSize(memory),
        cards: 1,
        slots: 1,
        network: false,
        price_per_second: config.price_per_second,
        runtimes: vec![runtime],
    };
    Device { offer, engine: Engine::Wgsl(launcher.clone(), Box::new(adapter)) }
}

/// A name as offers allow it.
fn printable(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
    if name.trim().is_empty() { "unnamed device".to_owned() } else { name }
}

fn describe(offer: &DeviceOffer) -> String {
    let memory = offer.memory.0 >> 20;
    let runtime = offer.runtimes.first();
    let score = runtime.map_or(0, |runtime| runtime.score);
    let loops = runtime.and_then(|runtime| runtime.loops_max);
    let loops = loops.map_or_else(String::new, |loops| {
        format!("; it stops counting at {loops} loop iterations, so longer kernels go elsewhere")
    });
    format!("{} ({}), {memory} MiB, score {score} (1000 = 10⁹ steps/s){loops}", offer.name, offer.kind)
}

fn machine_memory() -> u64 {
    let memory = sysinfo::MemoryRefreshKind::nothing().with_ram();
    let system = sysinfo::System::new_with_specifics(sysinfo::RefreshKind::nothing().with_memory(memory));
    match system.map(|system| system.total_memory()) {
        Ok(bytes @ 1..) => bytes,
        Ok(0) | Err(_) => MEMORY_UNKNOWN,
    }
}

/// A folder of the worker's own, without what an earlier run left in it.
fn empty_folder(dir: &Path, name: &str) -> Result<std::path::PathBuf, Error> {
    let path = dir.join(name);
    match std::fs::remove_dir_all(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::file("empty", &path)(error)),
        Ok(()) | Err(_) => {}
    }
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
    made.map_err(Error::file("make the folder", &path))?;
    Ok(path)
}
