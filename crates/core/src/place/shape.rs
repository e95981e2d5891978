//! Classes of seats and shapes of needs, and which class may fit which shape.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{Band, DeviceClass, DeviceKind, DeviceOffer, JobId, Needs, Runtime, RuntimeOffer};
use serde::{Deserialize, Serialize};

use super::cell::SPEEDS;
use super::{Bits, Cell, Named};
use crate::logarithm::{OCTAVE, log2};
use crate::share::RequesterId;

/// Classes that are told apart; beyond that, seats of one runtime share a class, and each is compared by itself.
const CLASSES_MAX: usize = 8192;
/// Regions that are told apart; nothing that asks for another one is placed.
const REGIONS_MAX: usize = 4096;
/// The number of all other regions; no task can ask for it.
const REGION_OTHER: u32 = u32::MAX - 1;
/// Builds of engines that are told apart; nothing that asks for another one is placed.
const ENGINES_MAX: usize = 4096;
/// The number of all other builds, and of none; no task can ask for it.
const ENGINE_OTHER: u16 = u16::MAX - 1;

/// Seats that needs can hardly tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ClassId(u32);

impl ClassId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct ClassKey {
    runtime: Runtime,
    kind: DeviceKind,
    /// In quarter octaves.
    memory: u32,
    region: u32,
    /// In octaves.
    score: u32,
    /// In octaves.
    loops_max: Option<u32>,
    engine: u16,
    cards: u16,
    network: bool,
    eevee: bool,
    /// Whether it holds whatever did not get a class of its own.
    mixed: bool,
}

impl ClassKey {
    /// The class of whatever did not get one of its own.
    fn mixed(runtime: Runtime) -> Self {
        let kind = DeviceKind::Other;
        let (memory, region, score, loops_max) = (0, 0, 0, None);
        let (engine, cards, network, eevee, mixed) = (0, 0, false, false, true);
        Self { runtime, kind, memory, region, score, loops_max, engine, cards, network, eevee, mixed }
    }
}

pub(crate) fn memory_step(bytes: u64) -> u32 {
    log2(bytes) / (OCTAVE / 4)
}

pub(crate) fn octave(value: u64) -> u32 {
    log2(value) / OCTAVE
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Class {
    key: ClassKey,
    /// Slots that are online, and the sum of their speeds, by speed cell.
    online: [(u32, u64); SPEEDS],
}

/// All classes, and the numbers of regions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Classes {
    table: Vec<Class>,
    by_key: BTreeMap<ClassKey, ClassId>,
    regions: BTreeMap<String, u32>,
    engines: BTreeMap<String, u16>,
    /// Raised whenever slots come or go, so that sums over classes can be kept.
    version: u64,
}

impl Classes {
    pub fn region(&mut self, name: &str) -> u32 {
        if let Some(number) = self.regions.get(name) {
            return *number;
        }
        if self.regions.len() >= REGIONS_MAX {
            return REGION_OTHER;
        }
        let number = self.regions.len() as u32;
        self.regions.insert(name.into(), number);
        number
    }

    /// The number of a region that may have none.
    pub fn region_number(&self, name: &str) -> u32 {
        self.regions.get(name).copied().unwrap_or(REGION_OTHER)
    }

    /// What the market calls a class, and how many slots of it are online.
    pub fn device_class(&self, class: usize) -> (DeviceClass, u64) {
        let Class { key, online } = &self.table[class];
        let band = Band::ALL.into_iter().rev().find(|band| memory_step(band.least().0) <= key.memory);
        let band = band.unwrap_or(Band::Below7);
        let slots = online.iter().map(|(slots, _)| u64::from(*slots)).sum();
        (DeviceClass { kind: key.kind, runtime: key.runtime, band }, slots)
    }

    /// The number of an engine's build.
    pub fn engine(&mut self, name: Option<&str>) -> u16 {
        let Some(name) = name else { return ENGINE_OTHER };
        if let Some(number) = self.engines.get(name) {
            return *number;
        }
        if self.engines.len() >= ENGINES_MAX {
            return ENGINE_OTHER;
        }
        let number = self.engines.len() as u16;
        self.engines.insert(name.into(), number);
        number
    }

    /// Every build that has a number, by name.
    pub fn engines(&self) -> impl Iterator<Item = (&str, u16)> {
        self.engines.iter().map(|(name, number)| (name.as_str(), *number))
    }

    /// The name of a build by its number.
    pub fn engine_name(&self, number: u16) -> Option<&str> {
        self.engines().find(|(_, of)| *of == number).map(|(name, _)| name)
    }

    /// The numbers of what a task asks for by name; what no worker has gets a number that fits none.
    pub fn named(&self, needs: &Needs) -> Named {
        Named {
            region: needs.region.as_ref().map(|name| self.regions.get(name).copied().unwrap_or(u32::MAX)),
            engine: needs.engine.as_ref().map(|name| self.engines.get(name).copied().unwrap_or(u16::MAX)),
        }
    }

    /// The class of a runtime of a device, and whether it is a new one.
    pub fn class(&mut self, device: &DeviceOffer, offer: &RuntimeOffer, region: u32, engine: u16) -> (ClassId, bool) {
        let (runtime, kind, cards, network) = (offer.runtime, device.kind, device.cards, device.network);
        let (memory, score) = (memory_step(device.memory.0), octave(u64::from(offer.score)));
        let loops_max = offer.loops_max.map(octave);
        let (eevee, mixed) = (device.eevee, false);
        let mut key =
            ClassKey { runtime, kind, memory, region, score, loops_max, engine, cards, network, eevee, mixed };
        if self.table.len() >= CLASSES_MAX && !self.by_key.contains_key(&key) {
            key = ClassKey::mixed(runtime);
        }
        if let Some(id) = self.by_key.get(&key) {
            return (*id, false);
        }
        let id = ClassId(self.table.len() as u32);
        self.by_key.insert(key.clone(), id);
        self.table.push(Class { key, online: [(0, 0); SPEEDS] });
        (id, true)
    }

    /// Slots of this speed came online, or went.
    pub fn count(&mut self, class: ClassId, cell: Cell, slots: u32, speed: u32, online: bool) {
        let (count, speeds) = &mut self.table[class.index()].online[cell.speed_cell()];
        let sum = u64::from(slots) * u64::from(speed);
        (*count, *speeds) = if online { (*count + slots, *speeds + sum) } else { (*count - slots, *speeds - sum) };
        self.version += 1;
    }

    /// The speed of slots that are online was learned anew. Small steps within a cell do not make kept sums invalid.
    pub fn correct(&mut self, class: ClassId, cell: Cell, slots: u32, before: u32, after: u32) {
        let (_, speeds) = &mut self.table[class.index()].online[cell.speed_cell()];
        *speeds = *speeds + u64::from(slots) * u64::from(after) - u64::from(slots) * u64::from(before);
    }

    /// Whether some seat of the class may fit; each seat is still compared exactly.
    fn may_fit(&self, class: &ClassKey, needs: &Needs, named: Named) -> bool {
        let fits = || {
            needs.device.accepts(class.kind)
                && class.memory >= memory_step(needs.memory.0)
                && class.cards >= needs.cards
                && (class.network || !needs.network)
                && (class.eevee || !needs.eevee)
                && named.region.is_none_or(|region| region == class.region)
                && named.engine.is_none_or(|engine| engine == class.engine)
                && class.score >= octave(u64::from(needs.score_min))
                && match (class.loops_max, needs.loops_max) {
                    (None, _) => true,
                    (Some(limit), Some(needed)) => octave(needed) <= limit,
                    (Some(_), None) => needs.runtime != Runtime::Wgsl,
                }
        };
        class.runtime == needs.runtime && (class.mixed || fits())
    }
}

/// What is online for a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fleet {
    version: u64,
    /// Slots.
    pub slots: u64,
    /// The sum of their speeds.
    pub speed: u64,
    /// The speed of the fastest.
    pub speed_max: u64,
}

/// A set of needs with a preference, shared by all groups that have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ShapeId(u32);

/// A shape.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub needs: Needs,
    pub prefer: Prefer,
    users: u32,
    pub classes: Bits,
    fleet: Fleet,
    /// Requesters with tasks waiting, the one that has had least first.
    pub waiting: BTreeSet<(u64, RequesterId)>,
    /// What waits of each requester, in order.
    pub queues: BTreeMap<RequesterId, BTreeSet<(JobId, u16)>>,
    /// Groups whose last tasks are running.
    pub tails: BTreeSet<(JobId, u16)>,
    /// When to look again at tasks held back from slow seats.
    pub revisit: Option<gleaner_wire::Millis>,
}

/// All shapes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Shapes {
    table: Vec<Shape>,
    by_key: BTreeMap<(Needs, Prefer), ShapeId>,
    free: Vec<ShapeId>,
    /// Shapes with tasks waiting.
    pub active: BTreeSet<ShapeId>,
    /// Shapes with groups in their tail.
    pub tailing: BTreeSet<ShapeId>,
}

impl core::ops::Index<ShapeId> for Shapes {
    type Output = Shape;

    fn index(&self, id: ShapeId) -> &Shape {
        &self.table[id.0 as usize]
    }
}

impl core::ops::IndexMut<ShapeId> for Shapes {
    fn index_mut(&mut self, id: ShapeId) -> &mut Shape {
        &mut self.table[id.0 as usize]
    }
}

impl Shapes {
    /// The shape of these needs, used by one more group.
    pub fn acquire(&mut self, classes: &Classes, needs: &Needs, prefer: Prefer) -> ShapeId {
        let id = match self.by_key.get(&(needs.clone(), prefer)) {
            Some(id) => *id,
            None => self.insert(classes, needs, prefer),
        };
        self[id].users += 1;
        id
    }

    /// One group less uses the shape.
    pub fn release(&mut self, id: ShapeId) {
        self[id].users -= 1;
        if self[id].users == 0 {
            let key = (self[id].needs.clone(), self[id].prefer);
            self.by_key.remove(&key);
            self.free.push(id);
        }
    }

    /// A class is new, or a region got its number: which shapes may it fit?
    pub fn add_class(&mut self, classes: &Classes, class: ClassId) {
        for id in self.by_key.values() {
            let shape = &mut self.table[id.0 as usize];
            let named = classes.named(&shape.needs);
            let fits = classes.may_fit(&classes.table[class.index()].key, &shape.needs, named);
            shape.classes.set(class.index(), fits);
        }
    }

    /// What is online for a shape.
    pub fn fleet(&mut self, classes: &Classes, id: ShapeId) -> Fleet {
        let shape = &mut self[id];
        if shape.fleet.version != classes.version {
            let mut fleet = Fleet { version: classes.version, ..Fleet::default() };
            for class in shape.classes.iter() {
                let online = classes.table[class].online.iter().filter(|(slots, _)| *slots > 0);
                for (slots, speeds) in online {
                    fleet.slots += u64::from(*slots);
                    fleet.speed += speeds;
                    fleet.speed_max = fleet.speed_max.max(speeds / u64::from(*slots));
                }
            }
            shape.fleet = fleet;
        }
        shape.fleet
    }

    /// A requester's clock moved: keep its place in every queue.
    pub fn rekey(&mut self, requester: RequesterId, before: u64, after: u64) {
        for id in &self.active {
            let waiting = &mut self.table[id.0 as usize].waiting;
            if waiting.remove(&(before, requester)) {
                waiting.insert((after, requester));
            }
        }
    }

    fn insert(&mut self, classes: &Classes, needs: &Needs, prefer: Prefer) -> ShapeId {
        let named = classes.named(needs);
        let mut fitting = Bits::default();
        for (at, class) in classes.table.iter().enumerate() {
            fitting.set(at, classes.may_fit(&class.key, needs, named));
        }
        let shape = Shape {
            needs: needs.clone(),
            prefer,
            users: 0,
            classes: fitting,
            fleet: Fleet { version: u64::MAX, ..Fleet::default() },
            waiting: BTreeSet::new(),
            queues: BTreeMap::new(),
            tails: BTreeSet::new(),
            revisit: None,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self[id] = shape;
                id
            }
            None => {
                self.table.push(shape);
                ShapeId(self.table.len() as u32 - 1)
            }
        };
        self.by_key.insert((needs.clone(), prefer), id);
        id
    }
}
