//! A seat: one device of one worker, where tasks are placed.
use gleaner_wire::{Amount, DeviceKind, Needs, Runtime, WorkerId};
use serde::{Deserialize, Serialize};

use super::{Cell, ClassId, Tier};

/// A device of a worker, numbered over the whole hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SeatId(pub u32);

/// One runtime of a seat.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SeatRuntime {
    pub runtime: Runtime,
    pub class: ClassId,
    pub score: u32,
    pub speed: u32,
    pub loops_max: Option<u64>,
    /// Where the index has it, if it has.
    pub cell: Cell,
}

/// A seat. With a million of them each decision finds its seat outside the processor's caches, so all of it lies in two
/// cache lines side by side.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(align(128))]
pub(crate) struct Seat {
    pub worker: WorkerId,
    pub device: u16,
    pub kind: DeviceKind,
    pub memory: u64,
    pub region: u32,
    pub slots: u32,
    pub price: Amount,
    /// In the order of the offer.
    pub runtimes: [Option<SeatRuntime>; Runtime::ALL.len()],
    /// Whether the worker still offers it.
    pub offered: bool,
    /// Whether its slots count as online.
    pub counted: bool,
    /// Attempts it holds.
    pub in_flight: u32,
    /// Predicted time of what it holds, in microseconds of one slot.
    pub backlog: u64,
    /// Where the index has it: the tier and the moment it was put there.
    pub listed: Option<(Tier, u64)>,
}

impl Seat {
    pub fn runtime(&self, runtime: Runtime) -> Option<&SeatRuntime> {
        self.runtimes.iter().flatten().find(|offered| offered.runtime == runtime)
    }

    /// Whether it has what a task needs; the region is compared by the caller's number for it.
    pub fn fits(&self, needs: &Needs, region: Option<u32>) -> bool {
        let Some(offered) = self.runtime(needs.runtime) else { return false };
        needs.device.accepts(self.kind)
            && self.memory >= needs.memory.0
            && region.is_none_or(|region| region == self.region)
            && offered.score >= needs.score_min
            && loops_fit(offered.loops_max, needs.loops_max)
    }
}

/// Whether a device that stops loops at `limit` will do for a kernel that makes at most `needed` iterations.
pub(crate) fn loops_fit(limit: Option<u64>, needed: Option<u64>) -> bool {
    match (limit, needed) {
        (None, _) => true,
        (Some(limit), Some(needed)) => needed <= limit,
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_takes_two_cache_lines() {
        assert_eq!(size_of::<Seat>(), 128);
    }
}
