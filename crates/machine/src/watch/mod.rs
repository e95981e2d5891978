//! The real readers behind the governor's readings: devices, keyboard and mouse, screen, battery.
//!
//! Looking takes milliseconds. What only small programs of the system can tell, such as when a key was last touched, is read
//! by a thread of its own: such a program may hang, and nobody is made to wait for it. What cannot be read, or was read too long
//! ago, is unknown in the reading, never a guess.
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gleaner_wire::DeviceKind;

use crate::governor::{Input, LocalTime, Ours, Owner, Reading, Usage};
use crate::inventory::{Device, Display};
use crate::probe::drm::{self, Card};
use crate::probe::fdinfo::{self, Clients};
use crate::probe::nvml::{GpuProcess, Library, NvidiaGpu};
use crate::probe::{PciAddress, Tree, apple};

pub mod fullscreen;
pub mod input;
mod latest;
pub mod power;
pub mod processor;
mod session;
pub mod simulated;

use latest::Latest;
use session::Desktop;
pub use session::Session;

/// How long the thread that asks small programs rests in between.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// How old an answer of theirs may be. One of them may take five seconds before it is given up.
const ANSWER_AGE_MAX: Duration = Duration::from_secs(8);
/// How long the first look waits for their first answers.
const FIRST_ANSWER_TIME_MAX: Duration = Duration::from_secs(3);

/// Reads the machine again and again.
pub struct Watcher {
    tree: Tree,
    asked: Latest<Asked>,
    library: Option<Library>,
    before: Option<(Instant, Clients)>,
}

/// What only small programs of the system tell.
#[derive(Clone, Debug)]
struct Asked {
    input: Input,
    fullscreen: Option<bool>,
    apple_load: Option<u8>,
}

impl Asked {
    fn of(session: &Session) -> Self {
        Self { input: input::read(session), fullscreen: fullscreen::read(session), apple_load: apple::load() }
    }

    /// What is known while none of them answers.
    fn nothing() -> Self {
        Self { input: Input::Unknown, fullscreen: None, apple_load: None }
    }
}

/// The machine at one moment.
pub struct Look {
    owner: Owner,
    time: LocalTime,
    nvidia: Vec<NvidiaGpu>,
    cards: Vec<Card>,
    clients: Clients,
    load: BTreeMap<PciAddress, BTreeMap<u32, u8>>,
    apple_load: Option<u8>,
    processor_celsius: Option<i16>,
}

impl Watcher {
    /// Watches a machine; `own` is the desktop that the caller's environment knows. NVIDIA's library stays loaded if it is
    /// there.
    pub fn new(tree: Tree, own: Session) -> Self {
        let mut desktop = Desktop::new(own, session::of_manager);
        let asked = Latest::start("asks the desktop", ASK_EVERY, move || Asked::of(desktop.look()));
        asked.wait(FIRST_ANSWER_TIME_MAX);
        Self { tree, asked, library: Library::load().ok(), before: None }
    }

    /// Looks at everything. The load of processes on AMD and Intel cards is known from the second look on.
    pub fn look(&mut self) -> Look {
        let cards = drm::cards(&self.tree);
        let counted = cards.iter().any(|card| keeps_counters(&card.driver));
        let clients = if counted { fdinfo::clients(&self.tree) } else { Clients::default() };
        let now = Instant::now();
        let mut load = BTreeMap::new();
        if let Some((then, before)) = &self.before {
            let elapsed = now.duration_since(*then).as_nanos() as u64;
            for address in cards.iter().filter_map(|card| card.address) {
                load.insert(address, fdinfo::busy_between(before, &clients, elapsed, address));
            }
        }
        self.before = counted.then(|| (now, clients.clone()));
        let asked = self.asked.get(ANSWER_AGE_MAX).unwrap_or_else(Asked::nothing);
        let on_battery = power::on_battery(&self.tree);
        Look {
            owner: Owner { input: asked.input, fullscreen: asked.fullscreen, on_battery },
            time: LocalTime::now(),
            nvidia: self.library.as_ref().map(Library::gpus).unwrap_or_default(),
            cards,
            clients,
            load,
            apple_load: asked.apple_load,
            processor_celsius: processor::celsius(&self.tree),
        }
    }
}

fn keeps_counters(driver: &str) -> bool {
    ["amdgpu", "i915", "xe"].contains(&driver)
}

impl Look {
    /// What the governor of one device looks at.
    pub fn reading(&self, device: &Device, ours: Ours, paused: bool) -> Reading {
        Reading { usage: self.usage(device), ours, owner: self.owner.clone(), time: self.time, paused }
    }

    fn usage(&self, device: &Device) -> Usage {
        match device.kind {
            DeviceKind::Nvidia => self.nvidia_usage(device),
            DeviceKind::Amd | DeviceKind::Intel => self.card_usage(device),
            DeviceKind::Apple => Usage { busy_percent: self.apple_load, display: device.display, ..Usage::default() },
            // Whose load it is nobody can say of a processor, but too hot is too hot.
            DeviceKind::Cpu | DeviceKind::Software => {
                Usage { celsius: self.processor_celsius, display: device.display, ..Usage::default() }
            }
            DeviceKind::Other => Usage { display: device.display, ..Usage::default() },
        }
    }

    fn nvidia_usage(&self, device: &Device) -> Usage {
        let found = self.nvidia.iter().find(|gpu| gpu.address.is_some() && gpu.address == device.address);
        let Some(gpu) = found.filter(|gpu| gpu.fault.is_none()) else {
            return Usage { display: device.display, ..Usage::default() };
        };
        Usage {
            busy_percent: gpu.busy_percent,
            memory_used: gpu.memory_used,
            celsius: gpu.celsius,
            power_mw: gpu.power_mw,
            processes: Some(gpu.processes.clone()),
            display: if gpu.display_active == Some(true) { Display::Driven } else { device.display },
        }
    }

    fn card_usage(&self, device: &Device) -> Usage {
        let found = self.cards.iter().find(|card| card.address.is_some() && card.address == device.address);
        let Some(card) = found else { return Usage { display: device.display, ..Usage::default() } };
        let processes = card.address.and_then(|address| self.processes(address));
        // Intel's drivers count for each process only; what the processes do is what the card does.
        let sum = |list: &Vec<GpuProcess>| {
            let load = list.iter().filter_map(|process| process.busy_percent).fold(0, u8::saturating_add);
            load.min(100)
        };
        let seen_whole = self.clients.hidden == 0;
        let summed = processes.as_ref().filter(|_| seen_whole).map(sum);
        Usage {
            busy_percent: card.busy_percent.or(summed),
            memory_used: card.memory_used,
            celsius: card.celsius,
            power_mw: card.power_mw,
            processes,
            display: if card.displays.is_empty() { Display::None } else { Display::Driven },
        }
    }

    /// The processes on a card; unknown until their load is.
    fn processes(&self, address: PciAddress) -> Option<Vec<GpuProcess>> {
        let load = self.load.get(&address)?;
        let here = self.clients.clients.iter().filter(|client| client.address == Some(address));
        let process = |client: &fdinfo::Client| GpuProcess {
            pid: client.pid,
            name: client.name.clone(),
            memory: Some(client.memory),
            busy_percent: load.get(&client.pid).copied(),
            computes: false,
        };
        Some(here.map(process).collect())
    }
}
