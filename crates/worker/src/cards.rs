//! The graphics cards of the machine, each tried: with kernels where a driver answers, with containers and Blender where the
//! card can be handed to them.
use std::path::Path;

use gleaner_machine::Inventory;
use gleaner_machine::advice::Distribution;
use gleaner_machine::inventory::Memory;
use gleaner_sandbox::DeviceNames;
use gleaner_wire::render::DeviceChoice;
use gleaner_wire::{Amount, ByteSize, DeviceKind, DeviceOffer, Offer, Runtime, RuntimeOffer};

use crate::cell::Cells;
use crate::config::{Config, Error};
use crate::doctor::Finding;
use crate::lane::Engine;
use crate::nodes::{Access, access, no_containers};
use crate::self_test::{Device, MEMORY_PART, describe, empty_folder, machine_memory, offer_cells, unknown_device};
use crate::wgsl::{Adapter, Launcher};

/// What is offered of a card's own memory: drivers do not say how much there is, and every card has this much.
const DISCRETE_MEMORY: u64 = 2 << 30;
const NAME_CHARS_MAX: usize = 64;
const RUNTIME: &str = "runtime";

/// Tries every card that the configuration allows, and adds what can be offered. Gives back all adapters that answered.
pub fn test_cards(
    config: &Config,
    cells: Option<&Cells>,
    devices: &mut Vec<Device>,
    findings: &mut Vec<Finding>,
) -> Result<Vec<Adapter>, Error> {
    let launcher = Launcher { executable: config.child.clone(), runtime_dir: empty_folder(&config.dir, RUNTIME)? };
    let adapters = launcher.adapters().unwrap_or_else(|failure| {
        findings.push(Finding::missing("wgsl", failure.detail, "install or repair the graphics driver"));
        Vec::new()
    });
    let inventory = crate::doctor::inventory(&config.dir, &adapters);
    let mut cards = with_kernels(config, &launcher, &adapters, &inventory, cells, findings);
    cards.extend(without_kernels(config, &inventory, cells, findings));
    if config.together {
        cards = together(cards, cells, findings);
    }
    cards.truncate(Offer::DEVICES_MAX - devices.len());
    devices.extend(cards);
    Ok(adapters)
}

/// The cards whose driver runs kernels.
fn with_kernels(
    config: &Config,
    launcher: &Launcher,
    adapters: &[Adapter],
    inventory: &Inventory,
    cells: Option<&Cells>,
    findings: &mut Vec<Finding>,
) -> Vec<Device> {
    let wanted = choose(adapters.to_vec(), config.adapter.as_deref());
    if wanted.is_empty() {
        let (why, fix) = crate::doctor::no_adapter(&config.dir, config.adapter.as_deref());
        findings.push(Finding::missing("wgsl", why, fix));
    }
    let mut cards = Vec::new();
    for (place, adapter) in wanted {
        let capability = format!("wgsl on {}", adapter.name);
        match launcher.test(&adapter) {
            Ok(speed) => {
                let (score, loops_max) = (speed.score, speed.loops_max);
                let engine = driver_build(&adapter.driver);
                let runtime = RuntimeOffer { runtime: Runtime::Wgsl, score, loops_max, engine };
                let machine = inventory.devices.iter().find(|device| device.ways.adapter == Some(place)).cloned();
                let mut card = offer_adapter(config, launcher, adapter, runtime, machine);
                findings.push(Finding::works(capability, describe(&card.offer)));
                if card.machine[0].kind != DeviceKind::Software {
                    let access = access_to(&card.machine[0], inventory, cells);
                    findings.extend(without_containers(&config.dir, &card.machine[0], &access, cells));
                    offer_cells(&mut card, cells, DeviceChoice::Gpu, vec![access], findings);
                }
                cards.push(card);
            }
            Err(failure) => findings.push(Finding::missing(capability, failure.detail, "update the graphics driver")),
        }
    }
    cards
}

/// The build of the driver, which compiles kernels: two builds may round differently. Cut to what an offer may say.
fn driver_build(driver: &str) -> Option<String> {
    let printable = driver.chars().filter(|character| !character.is_control());
    let text: String = printable.take(Offer::TEXT_CHARS_MAX).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The cards on which CUDA or ROCm works and no driver runs kernels, such as those of many servers: they can be handed to
/// containers and to Blender.
fn without_kernels(
    config: &Config,
    inventory: &Inventory,
    cells: Option<&Cells>,
    findings: &mut Vec<Finding>,
) -> Vec<Device> {
    let computes = |card: &&gleaner_machine::Device| {
        card.ways.adapter.is_none() && card.is_usable() && is_named(&card.name, config.adapter.as_deref())
    };
    let mut cards = Vec::new();
    for machine in inventory.devices.iter().filter(computes) {
        let memory = match machine.memory {
            Memory::Own(Some(bytes)) => bytes.0,
            Memory::Own(None) => DISCRETE_MEMORY,
            Memory::Shared => machine_memory() / MEMORY_PART,
        };
        let offer = device_offer(config, machine.kind, &machine.name, memory, Vec::new());
        let engine = Engine { wasm: None, wgsl: None, cells: None };
        let mut card = Device { offer, engine, machine: vec![machine.clone()] };
        let access = access_to(machine, inventory, cells);
        findings.extend(without_containers(&config.dir, machine, &access, cells));
        offer_cells(&mut card, cells, DeviceChoice::Gpu, vec![access], findings);
        if !card.offer.runtimes.is_empty() {
            let runtimes: Vec<String> = card.offer.runtimes.iter().map(|one| one.runtime.to_string()).collect();
            findings.push(Finding::works(format!("{} on {}", runtimes.join(", "), machine.name), "by its nodes"));
            cards.push(card);
        }
    }
    cards
}

/// Equal cards that containers can use become one device; the others stay as they are.
fn together(cards: Vec<Device>, cells: Option<&Cells>, findings: &mut Vec<Finding>) -> Vec<Device> {
    let mut gangs: Vec<Vec<Device>> = Vec::new();
    for card in cards {
        let alike = |gang: &&mut Vec<Device>| {
            let (first, next) = (&gang[0].offer, &card.offer);
            runs_containers(first) && runs_containers(next) && (first.kind, &first.name) == (next.kind, &next.name)
        };
        match gangs.iter_mut().find(alike) {
            Some(gang) => gang.push(card),
            None => gangs.push(vec![card]),
        }
    }
    // Cards that work one by one and not together are told of, and not offered so.
    let joined = gangs.into_iter().map(|gang| joined(gang, cells, findings));
    joined.filter(|device| cells.is_none() || !device.offer.runtimes.is_empty()).collect()
}

fn runs_containers(offer: &DeviceOffer) -> bool {
    offer.runtimes.iter().any(|one| one.runtime == Runtime::Container)
}

/// One device out of several cards. Kernels and Blender use one card at a time, so only containers are offered.
fn joined(mut gang: Vec<Device>, cells: Option<&Cells>, findings: &mut Vec<Finding>) -> Device {
    if gang.len() == 1 {
        return gang.remove(0);
    }
    let access = gang.iter().flat_map(|card| card.engine.cells.as_ref()).flat_map(|cells| cells.cards().to_vec());
    let access: Vec<Access> = access.collect();
    let machine = gang.iter().flat_map(|card| card.machine.clone()).collect();
    let count = gang.len();
    let first = gang.remove(0);
    let memory = gang.iter().map(|card| card.offer.memory).fold(first.offer.memory, Ord::min);
    let name = printable(&format!("{count} × {}", first.offer.name));
    let cards = u16::try_from(count).unwrap_or(u16::MAX);
    let offer = DeviceOffer { name, memory, cards, runtimes: Vec::new(), eevee: false, ..first.offer };
    let engine = Engine { wasm: None, wgsl: None, cells: None };
    let mut device = Device { offer, engine, machine };
    offer_cells(&mut device, cells, DeviceChoice::Gpu, access, findings);
    device
}

fn access_to(machine: &gleaner_machine::Device, inventory: &Inventory, cells: Option<&Cells>) -> Access {
    let mut alike = inventory.devices.iter().filter(|other| other.kind == machine.kind);
    let number = alike.position(|other| other.address == machine.address).unwrap_or(0);
    access(Path::new("/"), machine, number, takes_names(cells))
}

fn takes_names(cells: Option<&Cells>) -> bool {
    cells.and_then(Cells::containers).is_some_and(|engine| engine.device_names() == DeviceNames::Taken)
}

/// Says why containers run on this machine and not with this card.
fn without_containers(
    dir: &Path,
    machine: &gleaner_machine::Device,
    access: &Access,
    cells: Option<&Cells>,
) -> Option<Finding> {
    let engine = cells.and_then(Cells::containers).filter(|_| access.containers.is_empty())?;
    let system = Distribution::of(&crate::doctor::system(dir));
    let (why, fix) = no_containers(machine.kind, &engine.name(), engine.device_names(), system);
    Some(Finding::missing(format!("container on {}", machine.name), why, fix))
}

fn is_named(name: &str, part: Option<&str>) -> bool {
    part.is_none_or(|part| name.to_lowercase().contains(&part.to_lowercase()))
}

/// The adapters to offer. Software drivers compute on the processor, so they count only where nothing better is,
/// or where the owner names one.
fn choose(adapters: Vec<Adapter>, wanted: Option<&str>) -> Vec<(usize, Adapter)> {
    let mut adapters: Vec<_> = adapters.into_iter().enumerate().collect();
    if wanted.is_some() {
        adapters.retain(|(_, adapter)| is_named(&adapter.name, wanted));
    } else if adapters.iter().any(|(_, adapter)| adapter.kind != DeviceKind::Software) {
        adapters.retain(|(_, adapter)| adapter.kind != DeviceKind::Software);
    }
    adapters
}

/// A card's memory, where the machine knows how much there is.
fn memory_of(adapter: &Adapter, machine: Option<&gleaner_machine::Device>) -> u64 {
    let known = match machine.map(|machine| machine.memory) {
        Some(Memory::Own(Some(bytes))) => Some(bytes.0),
        Some(Memory::Own(None) | Memory::Shared) | None => None,
    };
    match (adapter.discrete, known) {
        (true, Some(bytes)) => bytes,
        (true, None) => adapter.buffer_bytes_max.min(DISCRETE_MEMORY),
        (false, _) => machine_memory() / MEMORY_PART,
    }
}

fn offer_adapter(
    config: &Config,
    launcher: &Launcher,
    adapter: Adapter,
    runtime: RuntimeOffer,
    machine: Option<gleaner_machine::Device>,
) -> Device {
    let memory = memory_of(&adapter, machine.as_ref());
    let offer = device_offer(config, adapter.kind, &adapter.name, memory, vec![runtime]);
    let machine = machine.unwrap_or_else(|| unknown_device(adapter.kind, &offer.name));
    let engine = Engine { wasm: None, wgsl: Some((launcher.clone(), Box::new(adapter))), cells: None };
    Device { offer, engine, machine: vec![machine] }
}

fn device_offer(
    config: &Config,
    kind: DeviceKind,
    name: &str,
    memory: u64,
    runtimes: Vec<RuntimeOffer>,
) -> DeviceOffer {
    DeviceOffer {
        kind,
        name: printable(name),
        memory: ByteSize(memory.saturating_sub(config.preferences.memory_keep.0).max(1)),
        cards: 1,
        slots: 1,
        network: config.network.is_some(),
        eevee: false,
        price_per_second: Amount::ZERO,
        runtimes,
    }
}

/// A name as offers allow it.
fn printable(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
    if name.trim().is_empty() { "unnamed device".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(name: &str, containers: bool) -> Device {
        let runtime = |runtime| RuntimeOffer { runtime, score: 1, loops_max: None, engine: None };
        let mut runtimes = vec![runtime(Runtime::Wgsl)];
        runtimes.extend(containers.then(|| runtime(Runtime::Container)));
        let offer = DeviceOffer {
            kind: DeviceKind::Nvidia,
            name: name.to_owned(),
            memory: ByteSize(8 << 30),
            cards: 1,
            slots: 1,
            network: false,
            eevee: false,
            price_per_second: Amount::ZERO,
            runtimes,
        };
        let engine = Engine { wasm: None, wgsl: None, cells: None };
        Device { offer, engine, machine: vec![unknown_device(DeviceKind::Nvidia, name)] }
    }

    #[test]
    fn equal_cards_become_one_device_and_others_stay_alone() {
        let cards =
            vec![card("A100", true), card("T4", true), card("A100", true), card("old", false), card("old", false)];
        let joined = together(cards, None, &mut Vec::new());
        let told: Vec<_> =
            joined.iter().map(|one| (one.offer.name.as_str(), one.offer.cards, one.machine.len())).collect();
        assert_eq!(told, [("2 × A100", 2, 2), ("T4", 1, 1), ("old", 1, 1), ("old", 1, 1)]);
    }

    #[test]
    fn names_are_found_in_capitals_or_not() {
        assert!(is_named("NVIDIA A100", Some("a100")) && is_named("anything", None) && !is_named("T4", Some("a100")));
    }
}
