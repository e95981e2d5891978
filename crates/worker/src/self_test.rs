//! What this machine can do, found by trying. Only what passed is offered.
use std::path::Path;
use std::sync::Arc;

use gleaner_machine::inventory::{Display, Memory, Ways};
use gleaner_wire::render::DeviceChoice;
use gleaner_wire::{Amount, ByteSize, DeviceKind, DeviceOffer, Offer, Runtime, RuntimeOffer};
use tokio::runtime::Handle;

use crate::cards::test_cards;
use crate::cell::{self, Cells, Found};
use crate::config::{Config, Error};
use crate::doctor::Finding;
use crate::lane::Engine;
use crate::nodes::Access;
use crate::price::price;
use crate::wasm::{self, MEMORY_BYTES_MAX, Wasm};
use crate::wgsl::Adapter;

/// The part of the machine's memory that tasks on the processor share.
pub(crate) const MEMORY_PART: u64 = 2;
/// What is offered where the system does not say how much memory there is.
const MEMORY_UNKNOWN: u64 = 1 << 30;
const SCRATCH: &str = "scratch";
const CELLS: &str = "cells";
/// Thousandths of a processor core for each cell.
const CELL_CPU_MILLI: u32 = 1000;

/// What a self-test found: an offer, what it runs on, and every finding.
pub struct Tested {
    /// What is offered.
    pub offer: Offer,
    /// Everything that was tried.
    pub findings: Vec<Finding>,
    /// What the devices of the offer run on, in the same order.
    pub(crate) engines: Vec<Engine>,
    /// What the machine knows of their cards, in the same order.
    pub(crate) devices: Vec<Vec<gleaner_machine::Device>>,
    pub(crate) wasm: Option<Arc<Wasm>>,
    pub(crate) cells: Option<Arc<Cells>>,
    /// The name of the control groups of programs.
    pub(crate) group: String,
    /// Every adapter that answered, offered or not.
    pub(crate) adapters: Vec<Adapter>,
}

/// What was tried on one device, and worked.
pub(crate) struct Device {
    pub offer: DeviceOffer,
    pub engine: Engine,
    /// Its cards, as the machine knows them.
    pub machine: Vec<gleaner_machine::Device>,
}

/// Tests every runtime on every device that the configuration allows. Called on a thread that may wait.
pub fn self_test(config: &Config, runtime: &Handle) -> Result<Tested, Error> {
    let scratch = empty_folder(&config.dir, SCRATCH)?;
    let Found { cells, mut findings, group } = cell::find(config, runtime, &empty_folder(&config.dir, CELLS)?)?;
    let mut devices = Vec::new();
    let mut wasm = None;
    if config.cpu_slots > 0 {
        match test_processor(config, &scratch) {
            Ok((mut device, runtime)) => {
                findings.insert(0, Finding::works("wasm", describe(&device.offer)));
                offer_cells(&mut device, cells.as_ref(), DeviceChoice::Cpu, Vec::new(), &mut findings);
                wasm = Some(runtime);
                devices.push(device);
            }
            Err(failure) => findings.push(Finding::missing("wasm", failure.detail, "report this as a bug")),
        }
    }
    let adapters = match config.gpu {
        true => test_cards(config, cells.as_ref(), &mut devices, &mut findings)?,
        false => Vec::new(),
    };
    let (mut offers, mut engines, mut known) = (Vec::new(), Vec::new(), Vec::new());
    for Device { offer, engine, machine } in devices {
        let cards = machine.iter().map(|card| (card, None));
        let price_per_second = price(&config.preferences, &config.market, &offer, cards).map_err(Error::Tariff)?;
        offers.push(DeviceOffer { price_per_second, ..offer });
        engines.push(engine);
        known.push(machine);
    }
    let (name, region) = (config.name.clone(), config.region.clone());
    let offer =
        Offer { name, region, provider: config.provider.as_ref().map(|provider| provider.account), devices: offers };
    Ok(Tested { offer, findings, engines, devices: known, wasm, cells: cells.map(Arc::new), group, adapters })
}

/// Adds containers and Blender to what a device offers; `cards` is how each of its cards is reached. Both have run on the
/// processor by now; on cards each is tried with them.
pub(crate) fn offer_cells(
    device: &mut Device,
    cells: Option<&Cells>,
    choice: DeviceChoice,
    cards: Vec<Access>,
    findings: &mut Vec<Finding>,
) {
    let Some(cells) = cells else { return };
    let score = device.offer.runtimes.first().map_or(1, |runtime| runtime.score);
    let can_be_handed_on = !cards.is_empty() && cards.iter().all(|card| !card.containers.is_empty());
    let cpu_milli = match choice {
        DeviceChoice::Cpu => CELL_CPU_MILLI,
        DeviceChoice::Any | DeviceChoice::Gpu => CELL_CPU_MILLI.saturating_mul(cores()),
    };
    // Several cards are one device for containers only: Blender uses one at a time.
    let one_at_most = cards.len() <= 1;
    let cells = cells.on(cards, cpu_milli);
    let runtime = |runtime, engine| RuntimeOffer { runtime, score, loops_max: None, engine };
    let name = device.offer.name.clone();
    let mut passes = |runtime: Runtime, tried: Result<(), (String, String)>| {
        if let Err((why, fix)) = &tried {
            findings.push(Finding::missing(format!("{runtime} on {name}"), why, fix));
        }
        tried.is_ok()
    };
    let on_card = choice != DeviceChoice::Cpu;
    // On a graphics device a container is given its cards, so that has to be possible.
    if cells.containers().is_some()
        && (!on_card || can_be_handed_on && passes(Runtime::Container, cells.try_container()))
    {
        device.offer.runtimes.push(runtime(Runtime::Container, None));
    }
    if let Some(blender) = cells.blender().filter(|_| one_at_most)
        && (!on_card || passes(Runtime::Blender, cells.try_cycles(choice)))
        && let Some(key) = blender.key(choice, cells.card())
    {
        device.offer.runtimes.push(runtime(Runtime::Blender, Some(key)));
        device.offer.eevee = cells.draws();
    }
    device.engine.cells = Some(Arc::new(cells));
}

fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores).unwrap_or(u32::MAX)
}

fn test_processor(config: &Config, scratch: &Path) -> Result<(Device, Arc<Wasm>), crate::failure::Failure> {
    let slots = config.cpu_slots.min(Offer::SLOTS_MAX);
    let runtime = Arc::new(Wasm::new(slots, scratch.to_path_buf())?);
    let score = wasm::test(&runtime)?;
    let memory = (machine_memory() / MEMORY_PART / u64::from(slots)).min(MEMORY_BYTES_MAX);
    let offer = DeviceOffer {
        kind: DeviceKind::Cpu,
        name: format!("CPU, {slots} {}", if slots == 1 { "slot" } else { "slots" }),
        memory: ByteSize(memory),
        cards: 1,
        slots,
        network: config.network.is_some(),
        eevee: false,
        price_per_second: Amount::ZERO,
        runtimes: vec![RuntimeOffer { runtime: Runtime::Wasm, score, loops_max: None, engine: None }],
    };
    let engine = Engine { wasm: Some(runtime.clone()), wgsl: None, cells: None };
    let machine = vec![unknown_device(DeviceKind::Cpu, &offer.name)];
    Ok((Device { offer, engine, machine }, runtime))
}

/// What is known of a device that no probe of the machine told about.
pub(crate) fn unknown_device(kind: DeviceKind, name: &str) -> gleaner_machine::Device {
    gleaner_machine::Device {
        kind,
        name: name.to_owned(),
        address: None,
        memory: Memory::Shared,
        module: None,
        driver: None,
        display: Display::None,
        ways: Ways::default(),
        power_mw_max: None,
    }
}

pub(crate) fn describe(offer: &DeviceOffer) -> String {
    let memory = offer.memory.0 >> 20;
    let runtime = offer.runtimes.first();
    let score = runtime.map_or(0, |runtime| runtime.score);
    let loops = runtime.and_then(|runtime| runtime.loops_max);
    let loops = loops.map_or_else(String::new, |loops| {
        format!("; it stops counting at {loops} loop iterations, so longer kernels go elsewhere")
    });
    format!("{} ({}), {memory} MiB, score {score} (1000 = 10⁹ steps/s){loops}", offer.name, offer.kind)
}

pub(crate) fn machine_memory() -> u64 {
    let memory = sysinfo::MemoryRefreshKind::nothing().with_ram();
    let system = sysinfo::System::new_with_specifics(sysinfo::RefreshKind::nothing().with_memory(memory));
    match system.map(|system| system.total_memory()) {
        Ok(bytes @ 1..) => bytes,
        Ok(0) | Err(_) => MEMORY_UNKNOWN,
    }
}

/// A folder of the worker's own, without what an earlier run left in it.
pub(crate) fn empty_folder(dir: &Path, name: &str) -> Result<std::path::PathBuf, Error> {
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
