//! A seat: one device of one worker, where tasks are placed.
use gleaner_wire::{Amount, DeviceKind, Needs, Offer, Runtime, WorkerId};
use serde::{Deserialize, Serialize};

use super::{Cell, ClassId, Tier};

/// What a task asks for by name, as the numbers that the names have here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub region: Option<u32>,
    pub engine: Option<u16>,
}

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
    /// The number of its engine's build; see `Classes`.
    pub engine: u16,
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
    /// The most loop iterations of an invocation, for kernels; `u64::MAX` if there is no limit.
    pub loops_max: u64,
    /// In the order of the offer; those that were not tested yet are not among them.
    pub runtimes: [Option<SeatRuntime>; Offer::RUNTIMES_MAX],
    /// Equal cards that work together.
    pub cards: u16,
    /// Whether tasks that ask for it may reach the network.
    pub network: bool,
    /// Whether its Blender draws with EEVEE.
    pub eevee: bool,
    /// Whether the worker still offers it.
    pub offered: bool,
    /// Whether its owner needs it now.
    pub resting: bool,
    /// Whether a test is under way on it: nothing else is placed there meanwhile, so that its time counts.
    pub testing: bool,
    /// Whether the platform owns its worker.
    pub managed: bool,
    /// Whether its price is what the index had suggested when it was asked.
    pub follows: bool,
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

    /// Whether it has what a task needs; names are compared by the caller's numbers for them.
    pub fn fits(&self, needs: &Needs, named: Named) -> bool {
        let Some(offered) = self.runtime(needs.runtime) else { return false };
        needs.device.accepts(self.kind)
            && self.memory >= needs.memory.0
            && self.cards >= needs.cards
            && (self.network || !needs.network)
            && (self.eevee || !needs.eevee)
            && named.region.is_none_or(|region| region == self.region)
            && named.engine.is_none_or(|engine| engine == offered.engine)
            && offered.score >= needs.score_min
            && self.loops_fit(needs)
    }

    /// Whether a kernel that makes at most so many iterations gets right answers.
    fn loops_fit(&self, needs: &Needs) -> bool {
        needs.runtime != Runtime::Wgsl || needs.loops_max.unwrap_or(u64::MAX) <= self.loops_max
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
