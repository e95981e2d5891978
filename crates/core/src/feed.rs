//! Brings tasks and seats together, from both sides: a seat with room looks for a task, a task looks for a seat.
use alloc::vec::Vec;
use core::hint::black_box;
use core::ops::Bound;
use gleaner_wire::job_file::Prefer;
use gleaner_wire::market;
use gleaner_wire::{JobId, Micros, Millis, State, TaskId, WorkerId};

use crate::alarms::Alarm;
use crate::assign::Placement;
use crate::attempt::Why;
use crate::data::IdleHolders;
use crate::effect::Effect;
use crate::job::{Group, Job};
use crate::market::Sale;
use crate::place::{SeatId, ShapeId, Tier};
use crate::share::RequesterId;
use crate::state::Core;

/// Requesters, and groups of one requester, that a seat asks before it stays idle.
const TRIES_MAX: usize = 1024;
/// Seats that are fetched from memory together.
const FETCHED_AHEAD: usize = 32;
/// Elements with a history of failures that find no seat, before the others wait too.
const TROUBLED_TRIES_MAX: usize = 4096;

pub(crate) enum Taken {
    Yes,
    No,
}

/// Whose tasks a seat takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Any,
    /// Only of jobs that cannot be outbid, or have waited long: they come first.
    Firm,
}

/// What the index has for an element.
pub(crate) enum Found {
    /// The best seat, and how much room it has.
    Seat(SeatId, Tier),
    /// Some fit and have room, but the job cannot pay for them.
    TooDear,
    None,
}

impl Core {
    /// Places all that the current event has made possible.
    pub(crate) fn place_all(&mut self, effects: &mut Vec<Effect>) {
        if core::mem::take(&mut self.relieve) {
            self.relieve_all();
        }
        loop {
            if let Some(seat) = self.hungry.pop() {
                self.feed(seat, effects);
            } else if let Some((job, group)) = self.opened.pop_first() {
                self.place_group(job, group, effects);
            } else {
                return;
            }
        }
    }

    /// Fills a seat with what waits, in fair order; an idle seat with nothing waiting looks for a slow attempt to double.
    fn feed(&mut self, seat: SeatId, effects: &mut Vec<Effect>) {
        if let Some(job) = self.firmness.kept_for(seat) {
            return self.feed_kept(seat, job, effects);
        }
        for _ in 0..self.params.in_flight_max {
            let Some(tier) = self.tier(seat) else { break };
            // A managed seat gets what the community is too late with, one at a time, and doubles nothing.
            let managed = self.seats[seat.0 as usize].managed;
            // A task of a reserved job may just have had the seat kept for it.
            if managed && tier == Tier::Ahead || self.firmness.kept_for(seat).is_some() {
                break;
            }
            let took = self.firmness.has_soft_jobs() && self.feed_one(seat, tier, Whose::Firm, effects);
            if !took && !self.feed_one(seat, tier, Whose::Any, effects) {
                if tier == Tier::Idle && !managed {
                    self.rescue(seat, effects);
                }
                break;
            }
        }
        self.relist(seat);
    }

    fn feed_one(&mut self, seat: SeatId, tier: Tier, whose: Whose, effects: &mut Vec<Effect>) -> bool {
        let mut tried = None;
        for _ in 0..TRIES_MAX {
            let Some(next) = self.next_waiting(seat, tried) else { return false };
            tried = Some(next);
            let (_, requester, shape) = next;
            if !self.holders.is_empty()
                && self.params.data_aware
                && let Some((job, group)) = self.waiting_with_data(seat, shape, requester)
                && let Taken::Yes = self.take_for(seat, tier, (job, group), whose, effects)
            {
                return true;
            }
            let mut last = Bound::Unbounded;
            for _ in 0..TRIES_MAX {
                let queue = self.shapes[shape].queues.get(&requester);
                let Some((job, group)) = queue.and_then(|queue| queue.range((last, Bound::Unbounded)).next().copied())
                else {
                    break;
                };
                if let Taken::Yes = self.take_for(seat, tier, (job, group), whose, effects) {
                    return true;
                }
                last = Bound::Excluded((job, group));
            }
        }
        false
    }

    /// The requester that has had least and has something waiting that fits this seat, after one that was tried.
    fn next_waiting(
        &self,
        seat: SeatId,
        tried: Option<(u64, RequesterId, ShapeId)>,
    ) -> Option<(u64, RequesterId, ShapeId)> {
        let seat = &self.seats[seat.0 as usize];
        let fitting = self.shapes.active.iter().filter(|shape| {
            let needs = &self.shapes[**shape].needs;
            seat.fits(needs, self.classes.named(needs))
        });
        let first = fitting.filter_map(|shape| {
            let from = match tried {
                None => Bound::Unbounded,
                Some((clock, requester, last)) if *shape > last => Bound::Included((clock, requester)),
                Some((clock, requester, _)) => Bound::Excluded((clock, requester)),
            };
            let (clock, requester) = self.shapes[*shape].waiting.range((from, Bound::Unbounded)).next()?;
            Some((*clock, *requester, *shape))
        });
        first.min()
    }

    /// Takes one element of a group for a seat, unless it had better wait.
    pub(crate) fn take_for(
        &mut self,
        seat: SeatId,
        tier: Tier,
        (job, at): (JobId, u16),
        whose: Whose,
        effects: &mut Vec<Effect>,
    ) -> Taken {
        let worker = self.seats[seat.0 as usize].worker;
        let state = self.jobs.get(&job);
        let sale = state.map_or(Sale::Posted, |job| job.groups[usize::from(at)].sale);
        if whose == Whose::Firm && state.is_some_and(|job| self.comes_after(job, at)) {
            return Taken::No;
        }
        // The platform's own workers bid nowhere; they take what is late at their posted price. Whoever has won a place that is
        // kept goes on at the price that it won with.
        let kept = self.firmness.kept_for(seat) == Some(job);
        let managed = self.seats[seat.0 as usize].managed;
        let bids = self.workers[worker.0 as usize].state != State::Probation && !managed && !kept;
        if !sale.is_posted() && bids {
            return self.take_to_auction(seat, tier, job, at, effects);
        }
        if self.leaves_to_others(seat, tier, job, at) {
            return Taken::No;
        }
        loop {
            let admits = |job: &&Job| job.is_running() && job.admits(worker);
            let Some(state) = self.jobs.get(&job).filter(admits) else { return Taken::No };
            let Some(index) = state.groups[usize::from(at)].peek(Some(worker)) else { return Taken::No };
            if self.take_known(job, at, index, effects) {
                continue;
            }
            return self.take(seat, tier, TaskId { job, group: at, index }, effects);
        }
    }

    /// Whether a group comes after those that cannot be outbid. It does not for ever: once it has waited long, it has its turn.
    fn comes_after(&self, job: &Job, at: u16) -> bool {
        let since = job.groups[usize::from(at)].waits_since;
        let patient = since.is_none_or(|since| since.after(self.params.soft_wait_ms) > self.now);
        job.market.tier == market::Tier::Interruptible && patient
    }

    /// An idle seat whose turn it is may bid for a group that is sold by auction; while it does, it gets nothing else.
    fn take_to_auction(&mut self, seat: SeatId, tier: Tier, job: JobId, at: u16, effects: &mut Vec<Effect>) -> Taken {
        if tier == Tier::Idle {
            self.relist(seat);
            self.open_auction(job, at, effects);
        }
        if self.auctions.hold(seat) { Taken::Yes } else { Taken::No }
    }

    fn take(&mut self, seat: SeatId, tier: Tier, task: TaskId, effects: &mut Vec<Effect>) -> Taken {
        let why = match tier {
            Tier::Idle => Why::Idle,
            Tier::Ahead => Why::Ahead,
        };
        if self.assign(&Placement { seat, task, why, twin: None, price: None }, effects).is_err() {
            self.stop_if_too_dear(task, effects);
            // Others that are idle may be cheaper; they were held back in favour of this one.
            self.opened.insert((task.job, task.group));
            return Taken::No;
        }
        let group = &mut self.jobs.get_mut(&task.job).expect("it was just placed").groups[usize::from(task.group)];
        group.take(task.index);
        group.sale.gave_posted();
        group.held_back_until = None;
        self.queue(task.job, task.group);
        self.keep(seat, task.job, None);
        Taken::Yes
    }

    /// A seat is too dear for what is left of the cap: if every seat that fits is, the job has run out of money.
    fn stop_if_too_dear(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        let group = &self.jobs[&task.job].groups[usize::from(task.group)];
        let named = self.classes.named(&group.plan.needs);
        let trouble = group.troubles.get(&task.index);
        let payable = (0..).map(SeatId).zip(&self.seats).any(|(id, seat)| {
            seat.counted
                && seat.fits(&group.plan.needs, named)
                && trouble.is_none_or(|trouble| !trouble.avoids(seat.worker))
                && self.jobs[&task.job].admits(seat.worker)
                && self.can_pay(id, task)
        });
        if payable {
            return;
        }
        // Whoever has dropped it before, or cannot be checked, is better than nobody.
        if !self.forgive(task.job, task.group, task.index) && !self.unbar(task.job) {
            self.run_out_of_money(task.job, effects);
        }
    }

    /// If the result of an element is known, it is done without running.
    pub(crate) fn take_known(&mut self, job: JobId, at: u16, index: u32, effects: &mut Vec<Effect>) -> bool {
        let group = &self.jobs[&job].groups[usize::from(at)];
        if self.memo.is_empty() || !group.uses_memo() {
            return false;
        }
        let Some(output) = self.memo.find(&self.memo_key(job, at, index)) else { return false };
        let state = self.jobs.get_mut(&job).expect("it was just read");
        state.groups[usize::from(at)].take(index);
        state.known += 1;
        self.totals.tasks_known += 1;
        self.queue(job, at);
        self.complete(job, at, index, output, effects);
        true
    }

    /// Places the ready elements of a group on the best seats that have room.
    pub(crate) fn place_group(&mut self, job: JobId, at: u16, effects: &mut Vec<Effect>) {
        // While this goes on, seats only fill up: what was passed over once need not be looked at again.
        let (mut skipped, mut tried, mut first_rank) = (0, Bound::Unbounded, 0);
        let mut fetched = 0;
        let mut holders = IdleHolders::default();
        loop {
            let Some(state) = self.jobs.get(&job).filter(|job| job.is_running() && !job.out_of_money) else { return };
            let group = &state.groups[usize::from(at)];
            let posted = group.sale.is_posted();
            // What is sold by auction goes nowhere else but to devices that were won and are kept.
            if !posted && state.market.tier != market::Tier::Reserved {
                break;
            }
            let returned = group.returned.range((tried, Bound::Unbounded)).next().copied();
            let Some(index) = returned.or_else(|| (group.next < group.opened).then_some(group.next)) else { break };
            if fetched == 0 {
                self.fetch_ahead(group, first_rank);
                fetched = FETCHED_AHEAD;
            }
            fetched -= 1;
            let (troubled, has_data) =
                (group.troubles.contains_key(&index), group.inputs.is_some() && self.params.data_aware);
            if self.take_known(job, at, index, effects) {
                continue;
            }
            let task = TaskId { job, group: at, index };
            let best = match (self.kept_seat(task), has_data) {
                (Some((seat, tier)), _) => Found::Seat(seat, tier),
                (None, _) if !posted => break,
                (None, true) => self.best_seat_with_data(task, &mut first_rank, &mut holders),
                (None, false) => self.best_seat(task, &mut first_rank),
            };
            if let Found::TooDear = best {
                self.stop_if_too_dear(task, effects);
            }
            let placed = match best {
                Found::Seat(seat, tier) if !self.holds_back(seat, tier, job, at) => {
                    matches!(self.take(seat, tier, task, effects), Taken::Yes)
                }
                Found::Seat(..) | Found::TooDear | Found::None => false,
            };
            let placed = placed || posted && self.place_managed(task, effects);
            if !placed {
                // Those without a history are all alike: if one finds no seat, none does.
                skipped += 1;
                if !troubled || skipped > TROUBLED_TRIES_MAX {
                    break;
                }
                tried = Bound::Excluded(index);
            }
        }
        self.queue(job, at);
        self.open_auction(job, at, effects);
        self.outbid(job, at, effects);
        self.let_go_if_stalled(job);
    }

    /// Reads the seats that are likely next, and their workers, all at once: the processor then fetches them from memory
    /// together, and not one after another.
    fn fetch_ahead(&self, group: &Group, first_rank: usize) {
        let count = FETCHED_AHEAD.min(group.ready() as usize);
        if count < 2 {
            return;
        }
        let shape = &self.shapes[group.shape];
        let coming = self.index.seats_from(Tier::Idle, shape.prefer, &shape.classes, first_rank);
        let (mut seats, mut workers) = ([SeatId(0); FETCHED_AHEAD], [0; FETCHED_AHEAD]);
        let found = seats.iter_mut().zip(coming.take(count)).map(|(seat, next)| *seat = next).count();
        for (worker, seat) in workers.iter_mut().zip(&seats[..found]) {
            let seat = &self.seats[seat.0 as usize];
            black_box(seat.in_flight);
            seat.runtimes.iter().flatten().for_each(|offered| _ = black_box(offered.speed));
            *worker = seat.worker.0;
        }
        for worker in &workers[..found] {
            black_box(self.workers[*worker as usize].state);
        }
    }

    /// The worker that an element would go to now, if it went at once.
    pub fn best_worker(&self, task: TaskId) -> Option<WorkerId> {
        let group = self.jobs.get(&task.job)?.groups.get(usize::from(task.group))?;
        let best = match group.inputs {
            Some(_) => self.best_seat_with_data(task, &mut 0, &mut IdleHolders::default()),
            None => self.best_seat(task, &mut 0),
        };
        match best {
            Found::Seat(seat, _) => Some(self.seats[seat.0 as usize].worker),
            Found::TooDear | Found::None => None,
        }
    }

    /// The best idle seat for an element, or else the best that takes short work ahead.
    pub(crate) fn best_seat(&self, task: TaskId, first_rank: &mut usize) -> Found {
        let job = &self.jobs[&task.job];
        let group = &job.groups[usize::from(task.group)];
        let shape = &self.shapes[group.shape];
        let named = self.classes.named(&shape.needs);
        let trouble = group.troubles.get(&task.index);
        let mut too_dear = false;
        let mut best = |tier, first_rank| {
            self.index.best(tier, shape.prefer, &shape.classes, first_rank, |id| {
                let seat = &self.seats[id.0 as usize];
                let fits = seat.fits(&shape.needs, named)
                    && trouble.is_none_or(|trouble| !trouble.avoids(seat.worker))
                    && self.tier(id) == Some(tier)
                    && job.admits(seat.worker);
                let payable = fits && self.can_pay(id, task);
                too_dear |= fits && !payable;
                payable
            })
        };
        // An element with a history is choosier than the others.
        if let Some((seat, rank)) = best(Tier::Idle, if trouble.is_some() { 0 } else { *first_rank }) {
            *first_rank = if trouble.is_some() { *first_rank } else { rank };
            return Found::Seat(seat, Tier::Idle);
        }
        // Seats that hold large inputs ask for more themselves; nothing is sent ahead to those that do not.
        let short = self.programs.runs(group.program) > 0 && !(self.params.data_aware && group.inputs.is_some());
        match if short { best(Tier::Ahead, 0) } else { None } {
            Some((seat, _)) => Found::Seat(seat, Tier::Ahead),
            None if too_dear => Found::TooDear,
            None => Found::None,
        }
    }

    /// Whether a seat leaves a group's tasks to others. What is late the platform's own take however slow they are: nobody
    /// else was in time.
    pub(crate) fn leaves_to_others(&mut self, seat: SeatId, tier: Tier, job: JobId, at: u16) -> bool {
        match self.seats[seat.0 as usize].managed {
            true => self.leaves_to_community(job, at),
            false => self.holds_back(seat, tier, job, at),
        }
    }

    /// Whether a task had better wait for another seat than go to this one.
    ///
    /// Work goes ahead to a busy seat only if it is short and there is enough for everyone. A slow seat does not get a
    /// task that the rest of the fleet would finish sooner, queue included, unless the rest had that time and took nothing:
    /// the fast ones may be unable to have just this task.
    fn holds_back(&mut self, seat: SeatId, tier: Tier, job: JobId, at: u16) -> bool {
        if self.keeps_enough(seat, job, at) {
            return true;
        }
        let state = &self.jobs[&job];
        let group = &state.groups[usize::from(at)];
        if group.inputs.is_some() && self.params.data_aware {
            return self.holds_back_data(seat, tier, job, at);
        }
        let (shape, program) = (group.shape, group.program);
        let (ready, running, prefer) = (u64::from(group.ready()), u64::from(group.running), state.prefer);
        let needs = &group.plan.needs;
        let Some(offered) = self.seats[seat.0 as usize].runtime(needs.runtime) else { return true };
        let predicted = self.programs.predict(program, offered.speed);
        match tier {
            Tier::Ahead => {
                let short = predicted.is_some_and(|predicted| predicted <= self.params.horizon);
                !short || ready < self.shapes.fleet(&self.classes, shape).slots
            }
            Tier::Idle => {
                let (Some(predicted), false) = (predicted, prefer == Prefer::Cheap) else { return false };
                let speed = u64::from(offered.speed);
                if speed * 2 >= self.shapes.fleet(&self.classes, shape).speed_max {
                    return false;
                }
                let Some(otherwise) = self.fleet_time(shape, program, ready + running) else { return false };
                if predicted.0 <= otherwise.0 {
                    return false;
                }
                self.hold_back(job, at, shape, otherwise)
            }
        }
    }

    /// Leaves a slow seat idle for as long as the fleet should need; says whether it still should be.
    pub(crate) fn hold_back(&mut self, job: JobId, at: u16, shape: ShapeId, otherwise: Micros) -> bool {
        let group = &mut self.jobs.get_mut(&job).expect("the caller has seen it").groups[usize::from(at)];
        let until = *group.held_back_until.get_or_insert(self.now.after(otherwise.millis()));
        if until <= self.now {
            return false;
        }
        self.revisit(shape, until);
        true
    }

    /// How long the whole fleet would take for this many tasks, the last of them on its fastest seat.
    pub(crate) fn fleet_time(
        &mut self,
        shape: ShapeId,
        program: crate::learn::ProgramId,
        tasks: u64,
    ) -> Option<Micros> {
        let fleet = self.shapes.fleet(&self.classes, shape);
        let speed_max = u32::try_from(fleet.speed_max).ok().filter(|speed| *speed > 0)?;
        let at_best = self.programs.predict(program, speed_max)?.0;
        let spread = u128::from(tasks) * u128::from(at_best) * u128::from(fleet.speed_max) / u128::from(fleet.speed);
        Some(Micros(at_best.saturating_add(u64::try_from(spread).unwrap_or(u64::MAX))))
    }

    /// Gives an element to a managed seat, if the community is too late with it.
    fn place_managed(&mut self, task: TaskId, effects: &mut Vec<Effect>) -> bool {
        let runs = self.jobs.get(&task.job).is_some_and(|job| job.is_running() && !job.out_of_money);
        match if runs { self.managed_seat(task) } else { Found::None } {
            Found::Seat(seat, tier) => matches!(self.take(seat, tier, task, effects), Taken::Yes),
            Found::TooDear => {
                self.stop_if_too_dear(task, effects);
                false
            }
            Found::None => false,
        }
    }

    /// Looks again at what was held back when its time is over, or earlier if something else of the shape is due before.
    pub(crate) fn revisit(&mut self, shape: ShapeId, at: Millis) {
        if self.shapes[shape].revisit.is_none_or(|set| at < set) {
            let at = self.alarms.set(at, Alarm::Shape(shape));
            self.shapes[shape].revisit = Some(at);
        }
    }
}
