//! How many managed workers the hub wants: more at once when the community cannot do what waits in time, fewer only after
//! they have been more than enough for a while.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use gleaner_wire::prices::{ClassDemand, DemandView};
use gleaner_wire::{DeviceClass, Millis};
use serde::{Deserialize, Serialize};

/// What the operator says about managed workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// How long a `[[task]]` may have tasks waiting for the community before managed workers take them.
    pub wait_ms: Millis,
    /// How long there must have been more managed workers than needed before fewer are wanted.
    pub idle_ms: Millis,
    /// The most that are wanted of all classes together.
    pub workers_max: u32,
}

impl Default for Terms {
    fn default() -> Self {
        Self { wait_ms: Millis(60_000), idle_ms: Millis(300_000), workers_max: 0 }
    }
}

/// What a class has to do, and with what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Tasks that have waited too long.
    pub waiting: u64,
    /// Slots that would do them within the time that they may wait.
    pub slots: u64,
    /// Managed workers that are here, their slots, and those of them that run something.
    pub online: u32,
    pub online_slots: u64,
    pub busy: u32,
}

impl Load {
    /// Managed workers that it takes: those that work, and enough for what waits.
    fn needed(&self) -> u32 {
        let slots_each = self.online_slots.checked_div(u64::from(self.online)).unwrap_or(1).max(1);
        let more = u32::try_from(self.slots.div_ceil(slots_each)).unwrap_or(u32::MAX);
        self.busy.saturating_add(more)
    }
}

/// How many of a class are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Wanted {
    workers: u32,
    /// Since when fewer would do, and the most that were needed since.
    fewer: Option<(Millis, u32)>,
}

/// What the hub wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Demand {
    pub terms: Terms,
    wanted: BTreeMap<DeviceClass, Wanted>,
    /// Whether somebody will look again.
    pub watched: bool,
}

impl Demand {
    /// Whether any are wanted now.
    pub fn is_wanting(&self) -> bool {
        self.wanted.values().any(|wanted| wanted.workers > 0)
    }

    /// How often it is worth looking.
    pub fn look_ms(&self) -> Millis {
        Millis((self.terms.wait_ms.0.min(self.terms.idle_ms.0) / 4).clamp(250, 15_000))
    }

    /// Reckons anew; says whether anything else is wanted than before.
    pub fn reckon(&mut self, now: Millis, loads: &BTreeMap<DeviceClass, Load>) -> bool {
        let before: Vec<_> = self.numbers().collect();
        for class in loads.keys() {
            self.wanted.entry(*class).or_default();
        }
        // Where the most waits is served first when there cannot be enough for all.
        let mut classes: Vec<DeviceClass> = self.wanted.keys().copied().collect();
        classes.sort_by_key(|class| core::cmp::Reverse(loads.get(class).map_or(0, |load| load.waiting)));
        let mut left = self.terms.workers_max;
        for class in classes {
            let needed = loads.get(&class).map_or(0, Load::needed);
            let wanted = self.wanted.get_mut(&class).expect("it was just listed");
            wanted.follow(now, needed, self.terms.idle_ms);
            wanted.workers = wanted.workers.min(left);
            left -= wanted.workers;
        }
        self.wanted.retain(|_, wanted| wanted.workers > 0);
        !self.numbers().eq(before)
    }

    fn numbers(&self) -> impl Iterator<Item = (DeviceClass, u32)> + '_ {
        self.wanted.iter().map(|(class, wanted)| (*class, wanted.workers)).filter(|(_, workers)| *workers > 0)
    }

    /// As it is told.
    pub fn view(&self, loads: &BTreeMap<DeviceClass, Load>) -> DemandView {
        let mut classes: Vec<DeviceClass> = loads.keys().chain(self.wanted.keys()).copied().collect();
        classes.sort_unstable();
        classes.dedup();
        let classes = classes.into_iter().map(|class| {
            let load = loads.get(&class).copied().unwrap_or_default();
            ClassDemand {
                class,
                kind: class.kind,
                runtime: class.runtime,
                memory_min: class.band.least(),
                wanted: self.wanted.get(&class).map_or(0, |wanted| wanted.workers),
                online: load.online,
                busy: load.busy,
                waiting: load.waiting,
            }
        });
        DemandView { workers_max: self.terms.workers_max, classes: classes.collect() }
    }
}

impl Wanted {
    fn follow(&mut self, now: Millis, needed: u32, idle_ms: Millis) {
        if needed >= self.workers {
            *self = Self { workers: needed, fewer: None };
            return;
        }
        let (since, most) = self.fewer.map_or((now, needed), |(since, most)| (since, most.max(needed)));
        self.fewer = Some((since, most));
        if now.since(since) >= idle_ms {
            *self = Self { workers: most, fewer: None };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::{Band, DeviceKind, Runtime};
    use proptest::prelude::*;

    const CLASS: DeviceClass = DeviceClass { kind: DeviceKind::Nvidia, runtime: Runtime::Wgsl, band: Band::From20 };
    const OTHER: DeviceClass = DeviceClass { kind: DeviceKind::Cpu, runtime: Runtime::Wasm, band: Band::Below7 };

    fn demand(workers_max: u32) -> Demand {
        let terms = Terms { wait_ms: Millis(1000), idle_ms: Millis(10_000), workers_max };
        Demand { terms, ..Demand::default() }
    }

    fn waiting(tasks: u64) -> Load {
        Load { waiting: tasks, slots: tasks, ..Load::default() }
    }

    fn wanted(demand: &Demand, class: DeviceClass) -> u32 {
        demand.wanted.get(&class).map_or(0, |wanted| wanted.workers)
    }

    #[test]
    fn more_are_wanted_at_once_and_fewer_after_a_while() {
        let mut demand = demand(10);
        assert!(demand.reckon(Millis(0), &[(CLASS, waiting(3))].into()));
        assert_eq!(wanted(&demand, CLASS), 3);
        let busy = Load { online: 3, online_slots: 3, busy: 1, ..Load::default() };
        assert!(!demand.reckon(Millis(1000), &[(CLASS, busy)].into()));
        assert!(!demand.reckon(Millis(10_999), &[(CLASS, Load::default())].into()));
        assert!(demand.reckon(Millis(11_000), &[(CLASS, Load::default())].into()));
        assert_eq!(wanted(&demand, CLASS), 1, "the most that was needed meanwhile");
        demand.reckon(Millis(11_001), &BTreeMap::new());
        assert!(demand.reckon(Millis(21_001), &BTreeMap::new()));
        assert!(!demand.is_wanting());
    }

    #[test]
    fn a_short_lull_ends_nothing() {
        let mut demand = demand(10);
        demand.reckon(Millis(0), &[(CLASS, waiting(5))].into());
        demand.reckon(Millis(9000), &[(CLASS, waiting(0))].into());
        assert!(!demand.reckon(Millis(15_000), &[(CLASS, waiting(5))].into()));
        assert!(!demand.reckon(Millis(24_000), &[(CLASS, waiting(0))].into()));
        assert_eq!(wanted(&demand, CLASS), 5);
    }

    #[test]
    fn workers_with_many_slots_are_counted_by_them() {
        let load = Load { waiting: 20, slots: 20, online: 2, online_slots: 16, busy: 2 };
        assert_eq!(load.needed(), 2 + 3);
    }

    #[test]
    fn where_most_waits_is_served_first() {
        let mut demand = demand(4);
        demand.reckon(Millis(0), &[(CLASS, waiting(3)), (OTHER, waiting(100))].into());
        assert_eq!((wanted(&demand, OTHER), wanted(&demand, CLASS)), (4, 0));
    }

    proptest! {
        #[test]
        fn never_more_than_the_operator_allows(
            max in 0_u32..20, steps in proptest::collection::vec((0_u64..5000, 0_u64..50, 0_u64..50), 1..60),
        ) {
            let (mut demand, mut now) = (demand(max), 0);
            for (later, here, there) in steps {
                now += later;
                demand.reckon(Millis(now), &[(CLASS, waiting(here)), (OTHER, waiting(there))].into());
                prop_assert!(demand.numbers().map(|(_, workers)| workers).sum::<u32>() <= max);
            }
        }
    }
}
