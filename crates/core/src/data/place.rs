//! Where a task with large inputs goes: a seat that holds them, unless another would finish sooner with the move.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{JobId, Micros, TaskId, WorkerId};

use super::fleet::HolderFleet;
use super::moving::time_of;
use crate::feed::Found;
use crate::job::Group;
use crate::place::{SeatId, ShapeId, Tier};
use crate::share::RequesterId;
use crate::state::Core;

/// Holders that are looked at for one decision.
const SCAN_MAX: usize = 4096;
/// Datasets of one group whose holders are looked at; the largest ones.
const SETS_MAX: usize = 4;
/// A count of holders is good for this long.
const COUNTED_MS: u64 = 1000;
/// Running time of a task of which nothing is known, on the reference machine.
const UNKNOWN: Micros = Micros(1_000_000);
const REFERENCE: u64 = crate::learn::SPEED_REFERENCE as u64;
/// While it is not known how long tasks take, holders have a head start of this part of the move.
const HEAD_START: u64 = 4;
/// The cheapest seat is passed over only where it would take this many times as long, move included.
const REASON: u64 = 8;
/// Groups of a requester that a seat looks through for one whose data it holds.
const QUEUE_SCAN_MAX: usize = 16;
/// A worker that lacks less than this part of a group's data counts as a holder of it.
const LACKING_MAX: u64 = 8;

/// The idle seats that hold something of a group's inputs, the best first; made once for a whole group.
#[derive(Default)]
pub(crate) struct IdleHolders {
    seats: Option<Vec<SeatId>>,
    /// How many of them have no room any more.
    full: usize,
}

/// What a seat would be for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Promise {
    /// Less is better, by what the job prefers.
    score: u128,
    /// When it would be done.
    finish: u64,
}

impl Promise {
    fn order(&self) -> (u128, u64) {
        (self.score, self.finish)
    }

    /// Whether it is better than another.
    fn beats(&self, other: &Self, prefer: Prefer) -> bool {
        let late = |ours: u64, theirs: u64| prefer == Prefer::Cheap && ours > theirs.saturating_mul(REASON);
        !late(self.finish, other.finish) && (late(other.finish, self.finish) || self.order() <= other.order())
    }
}

impl Core {
    /// The best seat for an element of a group with large inputs.
    pub(crate) fn best_seat_with_data(&self, task: TaskId, first_rank: &mut usize, holders: &mut IdleHolders) -> Found {
        let found = self.best_seat(task, first_rank);
        let Found::Seat(plain, Tier::Idle) = found else { return found };
        let Some(holder) = self.idle_holder(task, holders) else { return found };
        let job = &self.jobs[&task.job];
        let group = &job.groups[usize::from(task.group)];
        let promise = |seat| self.promise(group, job.prefer, seat);
        if promise(holder).beats(&promise(plain), job.prefer) { Found::Seat(holder, Tier::Idle) } else { found }
    }

    fn promise(&self, group: &Group, prefer: Prefer, id: SeatId) -> Promise {
        let seat = &self.seats[id.0 as usize];
        let speed = seat.runtime(group.plan.needs.runtime).map_or(1, |offered| offered.speed.max(1));
        let predicted = self.programs.predict(group.program, speed);
        let runs = predicted.map_or(UNKNOWN.0 * REFERENCE / u64::from(speed), |predicted| predicted.0);
        let finish = self.moving(group, seat.worker).time.0.saturating_add(runs);
        let (time, price) = (u128::from(finish), u128::from(seat.price.0.max(1)));
        let score = match prefer {
            Prefer::Fast => time,
            // Nobody pays for the move.
            Prefer::Cheap => u128::from(runs) * price,
            Prefer::Balanced => time.saturating_mul(time).saturating_mul(price),
        };
        Promise { score, finish }
    }

    /// The best idle seat that holds something and takes this element.
    fn idle_holder(&self, task: TaskId, holders: &mut IdleHolders) -> Option<SeatId> {
        let group = &self.jobs[&task.job].groups[usize::from(task.group)];
        let seats = holders.seats.get_or_insert_with(|| self.idle_holders(task.job, group, SCAN_MAX));
        while seats.get(holders.full).is_some_and(|seat| self.tier(*seat) != Some(Tier::Idle)) {
            holders.full += 1;
        }
        seats[holders.full..].iter().copied().find(|seat| self.suits(*seat, task))
    }

    /// The idle seat on another worker that would be done first with an element, among those that hold its data.
    pub(crate) fn idle_holder_beside(&self, task: TaskId, not: WorkerId, scan_max: usize) -> Option<SeatId> {
        let group = &self.jobs[&task.job].groups[usize::from(task.group)];
        let seats = self.idle_holders(task.job, group, scan_max).into_iter();
        let other = |seat: &SeatId| self.seats[seat.0 as usize].worker != not && self.suits(*seat, task);
        seats.filter(other).min_by_key(|seat| self.promise(group, Prefer::Fast, *seat).order())
    }

    fn idle_holders(&self, job: JobId, group: &Group, scan_max: usize) -> Vec<SeatId> {
        let prefer = self.jobs[&job].prefer;
        let named = self.classes.named(&group.plan.needs);
        let workers = self.holders_of(group, scan_max).into_iter();
        let seats = workers.flat_map(|worker| self.workers[worker.0 as usize].seats.iter().copied());
        let idle = seats.filter(|id| {
            let seat = &self.seats[id.0 as usize];
            !seat.managed && seat.fits(&group.plan.needs, named) && self.tier(*id) == Some(Tier::Idle)
        });
        let mut seats: Vec<_> = idle.map(|id| (self.promise(group, prefer, id).order(), id)).collect();
        seats.sort_unstable();
        seats.into_iter().map(|(_, id)| id).collect()
    }

    /// Workers that hold something of a group's inputs, each once.
    fn holders_of(&self, group: &Group, scan_max: usize) -> BTreeSet<WorkerId> {
        let sets = group.inputs.iter().flat_map(|inputs| &inputs.sets).take(SETS_MAX);
        sets.flat_map(|(id, _)| self.holders.workers(*id)).take(scan_max).collect()
    }

    /// Whether an idle seat takes just this element.
    fn suits(&self, id: SeatId, task: TaskId) -> bool {
        let (seat, job) = (&self.seats[id.0 as usize], &self.jobs[&task.job]);
        let group = &job.groups[usize::from(task.group)];
        let avoided = group.troubles.get(&task.index).is_some_and(|trouble| trouble.avoids(seat.worker));
        let named = self.classes.named(&group.plan.needs);
        !avoided
            && self.tier(id) == Some(Tier::Idle)
            && seat.fits(&group.plan.needs, named)
            && job.admits(seat.worker)
            && self.can_pay(id, task)
    }

    /// A waiting group of a requester whose data a seat holds: it had better take that first.
    pub(crate) fn waiting_with_data(
        &self,
        seat: SeatId,
        shape: ShapeId,
        requester: RequesterId,
    ) -> Option<(JobId, u16)> {
        let worker = self.seats[seat.0 as usize].worker;
        if !self.holders.holds_any(worker) {
            return None;
        }
        let queue = self.shapes[shape].queues.get(&requester)?;
        let held = |(job, at): &&(JobId, u16)| {
            let group = &self.jobs[job].groups[usize::from(*at)];
            group.inputs.as_ref().is_some_and(|inputs| self.moving(group, worker).bytes < inputs.bytes / LACKING_MAX)
        };
        queue.iter().take(QUEUE_SCAN_MAX).find(held).copied()
    }

    /// Whether a task with large inputs had better wait for another seat than go to this one.
    ///
    /// A seat that must fetch first does not get a task that those who hold the data would finish sooner, queue included;
    /// a slow one does not get what faster ones would finish sooner even with the move.
    pub(crate) fn holds_back_data(&mut self, seat: SeatId, tier: Tier, job: JobId, at: u16) -> bool {
        let group = &self.jobs[&job].groups[usize::from(at)];
        let (shape, prefer) = (group.shape, self.jobs[&job].prefer);
        let (worker, ready) = (self.seats[seat.0 as usize].worker, u64::from(group.ready()));
        let Some(offered) = self.seats[seat.0 as usize].runtime(group.plan.needs.runtime) else { return true };
        let (speed, moving) = (offered.speed, self.moving(group, worker).time);
        let predicted = self.programs.predict(group.program, speed);
        let tasks = ready + u64::from(group.running);
        match (tier, predicted) {
            (Tier::Ahead, predicted) => {
                let short = predicted.is_some_and(|run| run.0.saturating_add(moving.0) <= self.params.horizon.0);
                let slots = self.shapes.fleet(&self.classes, shape).slots;
                !short || ready < slots.min(self.holder_fleet(job, at).slots)
            }
            (Tier::Idle, _) if prefer == Prefer::Cheap => false,
            (Tier::Idle, None) => {
                let waits = moving.0 > 0 && self.holder_fleet(job, at).any_now();
                waits && self.hold_back(job, at, shape, Micros(moving.0 / HEAD_START))
            }
            (Tier::Idle, Some(predicted)) => {
                let mine = Micros(moving.0.saturating_add(predicted.0));
                let otherwise = self.otherwise(job, at, speed, moving, tasks);
                otherwise.is_some_and(|otherwise| mine > otherwise && self.hold_back(job, at, shape, otherwise))
            }
        }
    }

    /// How soon other seats would be done with all tasks of a group, as far as this one should care.
    pub(crate) fn otherwise(&mut self, job: JobId, at: u16, speed: u32, moving: Micros, tasks: u64) -> Option<Micros> {
        let group = &self.jobs[&job].groups[usize::from(at)];
        let (shape, program) = (group.shape, group.program);
        let bytes = group.inputs.as_ref().map_or(0, |inputs| inputs.bytes);
        let slow = |speed_max: u64| u64::from(speed) * 2 < speed_max;
        let holders = self.holder_fleet(job, at);
        let (speed_max, fleet) = (holders.speed_max, holders.clone());
        let counts = speed_max > 0 && (moving.0 > 0 || slow(u64::from(speed_max)));
        let at_best = counts.then(|| self.programs.predict(program, speed_max)).flatten();
        let by_holders = at_best.and_then(|at_best| fleet.time_for(tasks, at_best));
        let others = slow(self.shapes.fleet(&self.classes, shape).speed_max);
        let by_others = others.then(|| self.fleet_time(shape, program, tasks)).flatten();
        let moved = time_of(bytes, self.params.line_bytes_per_second);
        let by_others = by_others.map(|time| Micros(time.0.saturating_add(moved.0)));
        by_holders.into_iter().chain(by_others).min()
    }

    /// Those who hold a group's inputs, or will soon, counted at most once a second.
    fn holder_fleet(&mut self, job: JobId, at: u16) -> &HolderFleet {
        let group = &self.jobs[&job].groups[usize::from(at)];
        let counted = group.inputs.as_ref().and_then(|inputs| inputs.fleet.counted_at);
        let fresh = counted.is_some_and(|at| self.now.since(at).0 < COUNTED_MS);
        let fleet = if fresh { None } else { Some(self.count_holders(job, at, group)) };
        let group = &mut self.jobs.get_mut(&job).expect("it was just read").groups[usize::from(at)];
        let inputs = group.inputs.as_mut().expect("only groups with large inputs ask");
        if let Some(fleet) = fleet {
            inputs.fleet = fleet;
        }
        &inputs.fleet
    }

    fn count_holders(&self, job: JobId, at: u16, group: &Group) -> HolderFleet {
        let mut fleet = HolderFleet::counted(self.now);
        let named = self.classes.named(&group.plan.needs);
        let all = group.inputs.as_ref().map_or(0, |inputs| inputs.bytes);
        for worker in self.holders_of(group, SCAN_MAX) {
            let moving = self.moving(group, worker);
            if moving.bytes >= all {
                continue;
            }
            for id in &self.workers[worker.0 as usize].seats {
                let seat = &self.seats[id.0 as usize];
                let offered = seat.runtime(group.plan.needs.runtime);
                let counts = seat.counted && !seat.managed && seat.fits(&group.plan.needs, named);
                let Some(offered) = offered.filter(|_| counts) else { continue };
                let wait = moving.time.max(self.busy_with_others(*id, job, at));
                fleet.add(offered.speed, seat.slots, wait);
            }
        }
        fleet
    }

    /// How long a seat will be kept by tasks of other groups; what is overdue or of unknown length, as long again.
    fn busy_with_others(&self, id: SeatId, job: JobId, at: u16) -> Micros {
        let seat = &self.seats[id.0 as usize];
        if seat.in_flight == 0 {
            return Micros(0);
        }
        let attempts = self.workers[seat.worker.0 as usize].attempts.iter().map(|slot| self.attempts.at(*slot));
        let others = attempts.filter(|attempt| attempt.seat == id && (attempt.job, attempt.group) != (job, at));
        let left = others.map(|attempt| match attempt.expected.filter(|expected| *expected > self.now) {
            Some(expected) => expected.since(self.now).0,
            None => self.now.since(attempt.placed).0,
        });
        Micros(left.sum::<u64>().saturating_mul(1000) / u64::from(seat.slots.max(1)))
    }
}
