//! Workers of the platform itself. Which they are is the hub's word, never a worker's own. They take what the community
//! cannot do in time and nothing else, so that they take no work from providers; and they are the referees of results.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use gleaner_wire::prices::DemandView;
use gleaner_wire::{
    Band, DeviceClass, DeviceKind, DeviceNeed, JobId, Millis, Needs, Runtime, State, TaskId, WorkerId, WorkerKey,
};
use serde::{Deserialize, Serialize};

use crate::alarms::Alarm;
use crate::effect::Effect;
use crate::feed::Found;
use crate::market::{Demand, Load, Terms};
use crate::place::{Index, ShapeId, Tier};
use crate::state::Core;

/// A deadline is in danger if what the community should need, and a quarter more, does not fit before it.
const DANGER: (u64, u64) = (5, 4);

/// The platform's own workers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Managed {
    /// By their keys, whether they have ever been here or not.
    pub keys: BTreeSet<WorkerKey>,
    /// Those that have.
    pub workers: BTreeSet<WorkerId>,
    /// Their seats with room. The community's index does not have them, so that no other decision finds one by chance.
    pub index: Index,
    pub demand: Demand,
}

impl Core {
    /// Whether the platform owns a worker.
    pub fn is_managed(&self, worker: WorkerId) -> bool {
        self.workers.get(worker.0 as usize).is_some_and(|worker| worker.managed)
    }

    /// Whether the platform owns the worker with this key, which may not have joined yet.
    pub fn is_managed_key(&self, key: &WorkerKey) -> bool {
        self.managed.keys.contains(key)
    }

    /// When managed workers help, and how many may be wanted.
    pub fn demand_terms(&self) -> Terms {
        self.managed.demand.terms
    }

    /// The managed workers that are here and could do a task with these needs, busy or not.
    pub fn referees(&self, needs: &Needs) -> Vec<WorkerId> {
        let named = self.classes.named(needs);
        let here = self.managed.workers.iter().copied().filter(|id| {
            let seats = self.workers[id.0 as usize].seats.iter().map(|seat| &self.seats[seat.0 as usize]);
            seats.into_iter().any(|seat| seat.counted && seat.fits(needs, named))
        });
        here.collect()
    }

    pub(crate) fn on_worker_managed(&mut self, key: WorkerKey, managed: bool, effects: &mut Vec<Effect>) {
        let changed = if managed { self.managed.keys.insert(key) } else { self.managed.keys.remove(&key) };
        let Some(id) = self.by_key.get(&key).copied().filter(|_| changed) else { return };
        self.workers[id.0 as usize].managed = managed;
        if managed {
            self.managed.workers.insert(id);
        } else {
            self.managed.workers.remove(&id);
        }
        for at in self.workers[id.0 as usize].seats.clone() {
            // Each index gives up what it has of the seat before it belongs to the other.
            let counted = self.seats[at.0 as usize].counted;
            self.firmness.give_up(at);
            self.count_seat(at, false);
            self.unlist(at);
            self.seats[at.0 as usize].managed = managed;
            self.count_seat(at, counted);
            self.relist(at);
            self.note_seat(at);
            self.hungry.push(at);
        }
        effects.push(Effect::AnnounceWorker { worker: id });
        self.watch_demand();
    }

    pub(crate) fn on_demand_terms_set(&mut self, terms: Terms) {
        self.managed.demand.terms = terms;
        self.watch_demand();
        // What waits may be late by now.
        for (job, at) in self.waiting_groups().collect::<Vec<_>>() {
            self.opened.insert((job, at));
        }
    }

    /// Whether the community cannot do a group's waiting tasks in time.
    pub(crate) fn is_late(&mut self, job: JobId, at: u16) -> bool {
        let Some(due) = self.late_at(job, at) else { return false };
        due <= self.now || self.is_in_danger(job, at)
    }

    /// When what waits of a group is late.
    fn late_at(&self, job: JobId, at: u16) -> Option<Millis> {
        let since = self.jobs[&job].groups[usize::from(at)].waits_since?;
        Some(since.after(self.managed.demand.terms.wait_ms))
    }

    fn is_in_danger(&mut self, job: JobId, at: u16) -> bool {
        let state = &self.jobs[&job];
        let (group, deadline) = (&state.groups[usize::from(at)], state.deadline);
        let (shape, program, tasks) = (group.shape, group.program, u64::from(group.ready()) + u64::from(group.running));
        let Some(time) = self.fleet_time(shape, program, tasks) else { return false };
        let time = Millis(time.millis().0.saturating_mul(DANGER.0) / DANGER.1);
        self.now.after(time) > deadline
    }

    /// Whether managed seats leave a group's tasks to the community; they look again when that has had its time.
    pub(crate) fn leaves_to_community(&mut self, job: JobId, at: u16) -> bool {
        let leaves = !self.is_late(job, at);
        if leaves {
            self.look_when_late(job, at);
        }
        leaves
    }

    /// Has a group looked at again when the community has had its time, if there is anybody else to do it.
    pub(crate) fn look_when_late(&mut self, job: JobId, at: u16) {
        if self.managed.workers.is_empty() {
            return;
        }
        let shape = self.jobs[&job].groups[usize::from(at)].shape;
        if let Some(due) = self.late_at(job, at).filter(|due| *due > self.now) {
            self.revisit(shape, due);
        }
    }

    /// The managed seat for an element that found none in the community, if it has waited long enough.
    pub(crate) fn managed_seat(&mut self, task: TaskId) -> Found {
        if self.managed.workers.is_empty() {
            return Found::None;
        }
        if !self.is_late(task.job, task.group) {
            // Where nothing of the group waits yet, it will be looked at when it is put into its queue.
            self.look_when_late(task.job, task.group);
            return Found::None;
        }
        let job = &self.jobs[&task.job];
        let group = &job.groups[usize::from(task.group)];
        let shape = &self.shapes[group.shape];
        let named = self.classes.named(&shape.needs);
        let trouble = group.troubles.get(&task.index);
        let mut too_dear = false;
        let best = self.managed.index.best(Tier::Idle, shape.prefer, &shape.classes, 0, |id| {
            let seat = &self.seats[id.0 as usize];
            let fits = seat.fits(&shape.needs, named)
                && trouble.is_none_or(|trouble| !trouble.avoids(seat.worker))
                && self.tier(id) == Some(Tier::Idle)
                && job.admits(seat.worker);
            let payable = fits && self.can_pay(id, task);
            too_dear |= fits && !payable;
            payable
        });
        match best {
            Some((seat, _)) => Found::Seat(seat, Tier::Idle),
            None if too_dear => Found::TooDear,
            None => Found::None,
        }
    }

    /// How many managed workers are wanted, and why.
    pub fn demand(&self) -> DemandView {
        // Whether a deadline is in danger is not asked here: that is looked at when the demand is reckoned.
        let waited = |job, at| self.late_at(job, at).is_some_and(|due| due <= self.now);
        self.managed.demand.view(&self.loads(waited))
    }

    /// Makes sure that somebody looks at what is wanted, while anything may be.
    pub(crate) fn watch_demand(&mut self) {
        let demand = &self.managed.demand;
        let idle = demand.terms.workers_max == 0 && !demand.is_wanting();
        if demand.watched || idle || self.shapes.active.is_empty() && !demand.is_wanting() {
            return;
        }
        let at = self.now.after(demand.look_ms());
        self.managed.demand.watched = true;
        self.alarms.set(at, Alarm::Demand);
    }

    pub(crate) fn on_demand_due(&mut self, effects: &mut Vec<Effect>) {
        self.managed.demand.watched = false;
        let waiting: Vec<(JobId, u16)> = self.waiting_groups().collect();
        let late: BTreeSet<_> = waiting.into_iter().filter(|(job, at)| self.is_late(*job, *at)).collect();
        let loads = self.loads(|job, at| late.contains(&(job, at)));
        if self.managed.demand.reckon(self.now, &loads) {
            effects.push(Effect::AnnounceDemand);
        }
        self.watch_demand();
    }

    fn waiting_groups(&self) -> impl Iterator<Item = (JobId, u16)> + '_ {
        self.shapes.active.iter().flat_map(|shape| self.shapes[*shape].queues.values().flatten().copied())
    }

    /// What each class has to do that is late, and the managed workers that are here.
    fn loads(&self, is_late: impl Fn(JobId, u16) -> bool) -> BTreeMap<DeviceClass, Load> {
        let mut loads: BTreeMap<DeviceClass, Load> = BTreeMap::new();
        let here = |id: &&WorkerId| self.workers[id.0 as usize].state != State::Offline;
        for id in self.managed.workers.iter().filter(here) {
            for (class, slots, busy) in self.classes_of(*id) {
                let load = loads.entry(class).or_default();
                load.online += 1;
                load.online_slots += slots;
                load.busy += u32::from(busy);
            }
        }
        for (job, at) in self.waiting_groups().filter(|(job, at)| is_late(*job, *at)) {
            let group = &self.jobs[&job].groups[usize::from(at)];
            let tasks = u64::from(group.ready());
            let load = loads.entry(self.wanted_class(group.shape)).or_default();
            load.waiting += tasks;
            // Enough of them to be done within the time that it may wait, or one for each where nothing is known.
            let each = self.programs.predict(group.program, crate::learn::SPEED_REFERENCE);
            let wait = self.managed.demand.terms.wait_ms.micros().0.max(1);
            let slots = each.map_or(tasks, |each| tasks.saturating_mul(each.0).div_ceil(wait).clamp(1, tasks.max(1)));
            load.slots += slots;
        }
        loads
    }

    /// The classes of a worker's devices, each once: slots, and whether anything runs on them.
    fn classes_of(&self, id: WorkerId) -> Vec<(DeviceClass, u64, bool)> {
        let mut classes: BTreeMap<DeviceClass, (u64, bool)> = BTreeMap::new();
        let seats = self.workers[id.0 as usize].seats.iter().map(|seat| &self.seats[seat.0 as usize]);
        for seat in seats.filter(|seat| seat.offered) {
            for class in seat.device_classes() {
                let (slots, busy) = classes.entry(class).or_default();
                (*slots, *busy) = (*slots + u64::from(seat.slots), *busy || seat.in_flight > 0);
            }
        }
        classes.into_iter().map(|(class, (slots, busy))| (class, slots, busy)).collect()
    }

    /// The class of managed workers that a shape asks for: that of one which fits, or else what its needs say.
    fn wanted_class(&self, shape: ShapeId) -> DeviceClass {
        let needs = &self.shapes[shape].needs;
        let named = self.classes.named(needs);
        let seats = self.managed.workers.iter().flat_map(|id| &self.workers[id.0 as usize].seats);
        let fitting = seats.map(|seat| &self.seats[seat.0 as usize]).find(|seat| seat.fits(needs, named));
        let band = fitting.map_or(Band::of(needs.memory), |seat| Band::of(gleaner_wire::ByteSize(seat.memory)));
        DeviceClass { kind: fitting.map_or(likely_kind(needs), |seat| seat.kind), runtime: needs.runtime, band }
    }
}

/// The kind of device to get for needs that no managed worker meets yet.
fn likely_kind(needs: &Needs) -> DeviceKind {
    match needs.device {
        DeviceNeed::Any => match needs.runtime {
            Runtime::Wasm | Runtime::Container => DeviceKind::Cpu,
            Runtime::Wgsl | Runtime::Blender => DeviceKind::Nvidia,
        },
        DeviceNeed::Gpu | DeviceNeed::Nvidia => DeviceKind::Nvidia,
        DeviceNeed::Cpu => DeviceKind::Cpu,
        DeviceNeed::Software => DeviceKind::Software,
        DeviceNeed::Amd => DeviceKind::Amd,
        DeviceNeed::Intel => DeviceKind::Intel,
        DeviceNeed::Apple => DeviceKind::Apple,
    }
}
