//! The index: which seats are in which cell, by price.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use gleaner_wire::{Amount, DeviceKind, Runtime, WorkerId};

use super::criteria::Criteria;
use crate::place::{Seat, SeatId, memory_step, octave};

/// Cells that are told apart; what comes later shares one, in which every seat is compared by itself.
const CELLS_MAX: usize = 8192;

/// What the seats of a cell have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub kind: DeviceKind,
    pub region: u32,
    /// In quarter octaves.
    pub memory: u32,
    /// The best score of any of its runtimes, in octaves.
    pub score: u32,
    /// One bit for each runtime that it has passed.
    pub runtimes: u8,
    /// In octaves.
    pub slots: u32,
    pub managed: bool,
}

impl Key {
    pub fn of(seat: &Seat) -> Self {
        let runtimes = seat.runtimes.iter().flatten();
        Self {
            kind: seat.kind,
            region: seat.region,
            memory: memory_step(seat.memory),
            score: octave(runtimes.clone().map(|offered| u64::from(offered.score)).max().unwrap_or(0)),
            runtimes: runtimes.fold(0, |bits, offered| bits | bit(offered.runtime)),
            slots: octave(u64::from(seat.slots)),
            managed: seat.managed,
        }
    }
}

/// The bit of a runtime in a set of them.
pub fn bit(runtime: Runtime) -> u8 {
    1 << runtime as u8
}

/// Seats by price.
pub type Cell = BTreeSet<(Amount, SeatId)>;

/// All seats that are offered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// The first is for what has no cell of its own.
    cells: Vec<(Option<Key>, Cell)>,
    by_key: BTreeMap<Key, u32>,
    /// Where each seat is: its cell, and the price by which it is there.
    places: Vec<Option<(u32, Amount)>>,
    /// Workers by a short hash of their names: whoever asks for a name gets few of a million to compare.
    names: BTreeSet<(u32, WorkerId)>,
}

fn short_hash(name: &str) -> u32 {
    let hash = blake3::hash(name.as_bytes());
    u32::from_le_bytes(hash.as_bytes()[..4].try_into().expect("four bytes"))
}

impl Search {
    /// Puts a seat where it belongs, or takes it out.
    pub fn put(&mut self, id: SeatId, seat: Option<(Key, Amount)>) {
        let at = id.0 as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, None);
        }
        let place = seat.map(|(key, price)| (self.cell(key), price));
        let before = core::mem::replace(&mut self.places[at], place);
        if before == place {
            return;
        }
        if let Some((cell, price)) = before {
            self.cells[cell as usize].1.remove(&(price, id));
        }
        if let Some((cell, price)) = place {
            self.cells[cell as usize].1.insert((price, id));
        }
    }

    /// A worker has a name, or has it no more.
    pub fn name(&mut self, name: &str, worker: WorkerId, has: bool) {
        let entry = (short_hash(name), worker);
        if has {
            self.names.insert(entry);
        } else {
            self.names.remove(&entry);
        }
    }

    /// Those who may have a name.
    pub fn named(&self, name: &str) -> impl Iterator<Item = WorkerId> + '_ {
        let hash = short_hash(name);
        self.names.range((hash, WorkerId(0))..=(hash, WorkerId(u32::MAX))).map(|(_, worker)| *worker)
    }

    fn cell(&mut self, key: Key) -> u32 {
        if self.cells.is_empty() {
            self.cells.push((None, Cell::new()));
        }
        if let Some(cell) = self.by_key.get(&key) {
            return *cell;
        }
        if self.cells.len() > CELLS_MAX {
            return 0;
        }
        let cell = self.cells.len() as u32;
        self.by_key.insert(key, cell);
        self.cells.push((Some(key), Cell::new()));
        cell
    }

    /// The cells that may hold what matches.
    pub fn cells<'a>(&'a self, criteria: &'a Criteria<'_>) -> impl Iterator<Item = &'a Cell> + 'a {
        let fitting = self.cells.iter().filter(|(key, _)| key.is_none_or(|key| criteria.may_match(&key)));
        fitting.map(|(_, cell)| cell).filter(|cell| !cell.is_empty())
    }

    /// How many seats are in it.
    pub fn len(&self) -> usize {
        self.cells.iter().map(|(_, cell)| cell.len()).sum()
    }
}
