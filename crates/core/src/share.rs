//! Fair share: requesters with work waiting take turns by how much device time they have had.
//!
//! Each requester has a clock that runs with the device time placed for it; whoever's clock is furthest behind is next. A
//! requester that comes back after a pause starts at the clock of those who are waiting, so that it cannot save up turns.
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::Micros;
use serde::{Deserialize, Serialize};

/// A requester, numbered by the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct RequesterId(pub u32);

/// What a task of unknown length counts for.
const UNKNOWN: Micros = Micros(1_000_000);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Requester {
    name: String,
    clock: u64,
    /// Groups of it that wait.
    waiting: u32,
}

/// All requesters.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Share {
    table: Vec<Requester>,
    by_name: BTreeMap<String, RequesterId>,
    /// The clock of whoever was served last.
    clock: u64,
}

impl Share {
    pub fn requester(&mut self, name: &str) -> RequesterId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = RequesterId(self.table.len() as u32);
        self.table.push(Requester { name: name.into(), clock: self.clock, waiting: 0 });
        self.by_name.insert(name.into(), id);
        id
    }

    pub fn name(&self, id: RequesterId) -> &str {
        &self.table[id.0 as usize].name
    }

    pub fn clock(&self, id: RequesterId) -> u64 {
        self.table[id.0 as usize].clock
    }

    /// One more group of the requester waits. Returns its clock, moved up if it was idle.
    pub fn wait(&mut self, id: RequesterId) -> u64 {
        let common = self.clock;
        let requester = &mut self.table[id.0 as usize];
        if requester.waiting == 0 {
            requester.clock = requester.clock.max(common);
        }
        requester.waiting += 1;
        requester.clock
    }

    /// One group less of the requester waits.
    pub fn stop_waiting(&mut self, id: RequesterId) {
        self.table[id.0 as usize].waiting -= 1;
    }

    /// Counts placed device time.
    pub fn charge(&mut self, id: RequesterId, predicted: Option<Micros>) {
        let requester = &mut self.table[id.0 as usize];
        if requester.waiting > 0 {
            self.clock = self.clock.max(requester.clock);
        }
        requester.clock = requester.clock.saturating_add(predicted.unwrap_or(UNKNOWN).0.max(1));
    }
}
