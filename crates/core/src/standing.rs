//! Moves workers between states and keeps the index of seats in step with them.
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::{ATTEMPTS_HELD_MAX, Runtime, State, WorkerId};

use crate::effect::Effect;
use crate::place::{Cell, SeatId, Tier};
use crate::pool::{self, Standing, Trigger};
use crate::state::Core;

impl Core {
    /// Moves a worker by the table, and lists or unlists its seats.
    pub(crate) fn trigger(&mut self, id: WorkerId, trigger: Trigger, effects: &mut Vec<Effect>) {
        let worker = &mut self.workers[id.0 as usize];
        let (before, after) = (worker.state, pool::after(worker.state, trigger));
        if before == after {
            return;
        }
        worker.state = after;
        if works(before) && works(after) {
            return;
        }
        let seats = worker.seats.clone();
        if after == State::Offline {
            self.holders.forget(id);
        }
        self.totals.workers_online += u64::from(before == State::Offline);
        self.totals.workers_online -= u64::from(after == State::Offline);
        for seat in seats {
            if !works(after) {
                self.auctions.leave(seat);
            }
            self.count_seat(seat, works(after));
            self.relist(seat);
            self.hungry.push(seat);
        }
        effects.push(Effect::AnnounceWorker { worker: id });
    }

    /// Has a worker's connection closed. Nothing more is given to it; what it runs moves when its connection has ended.
    pub(crate) fn show_out(&mut self, worker: WorkerId, reason: String, effects: &mut Vec<Effect>) {
        self.trigger(worker, Trigger::Left, effects);
        effects.push(Effect::DisconnectWorker { worker, reason });
    }

    /// Puts a seat where it belongs in the index.
    pub(crate) fn relist(&mut self, id: SeatId) {
        // What is kept for a job is not offered to others.
        let tier = if self.firmness.kept_for(id).is_some() { None } else { self.tier(id) };
        if self.seats[id.0 as usize].listed.map(|(tier, _)| tier) == tier {
            return;
        }
        self.unlist(id);
        if let Some(tier) = tier {
            self.listings += 1;
            let seat = &mut self.seats[id.0 as usize];
            seat.listed = Some((tier, self.listings));
            let index = if seat.managed { &mut self.managed.index } else { &mut self.index };
            for offered in seat.runtimes.iter().flatten() {
                index.insert(tier, offered.class, offered.cell, self.listings, id);
            }
        }
    }

    /// Takes a seat out of the index.
    pub(crate) fn unlist(&mut self, id: SeatId) {
        let seat = &mut self.seats[id.0 as usize];
        if let Some((tier, since)) = seat.listed.take() {
            let index = if seat.managed { &mut self.managed.index } else { &mut self.index };
            for offered in seat.runtimes.iter().flatten() {
                index.remove(tier, offered.class, offered.cell, since, id);
            }
        }
    }

    /// How much room a seat has for work; one that takes part in an auction has none for anything else.
    pub(crate) fn tier(&self, id: SeatId) -> Option<Tier> {
        if self.auctions.hold(id) { None } else { self.room(id) }
    }

    /// How much room a seat has, whether it takes part in an auction or not.
    pub(crate) fn room(&self, id: SeatId) -> Option<Tier> {
        let seat = &self.seats[id.0 as usize];
        let worker = &self.workers[seat.worker.0 as usize];
        if !seat.offered
            || seat.resting
            || seat.testing
            || worker.attempts.len() >= ATTEMPTS_HELD_MAX
            || !worker.takes_work(self.now)
            || self.is_stretched(seat.worker)
        {
            return None;
        }
        if seat.in_flight < seat.slots {
            return Some(Tier::Idle);
        }
        let short = seat.backlog / u64::from(seat.slots) < self.params.horizon.0;
        let ahead = worker.state != State::Probation && seat.in_flight < self.params.in_flight_max && short;
        ahead.then_some(Tier::Ahead)
    }

    /// Notes the speed that was learned; the seat moves to another cell if that changes its place in the order.
    pub(crate) fn set_speed(&mut self, id: SeatId, runtime: Runtime, speed: u32) {
        let seat = &mut self.seats[id.0 as usize];
        let (listed, slots, price, managed) = (seat.listed, seat.slots, seat.price, seat.managed);
        let counted = seat.counted && !managed;
        let Some(offered) = seat.runtimes.iter_mut().flatten().find(|offered| offered.runtime == runtime) else {
            return;
        };
        let before = core::mem::replace(&mut offered.speed, speed);
        let (class, old, new) = (offered.class, offered.cell, Cell::of(speed, price));
        if old == new {
            if counted {
                self.classes.correct(class, old, slots, before, speed);
            }
            return;
        }
        offered.cell = new;
        if counted {
            self.classes.count(class, old, slots, before, false);
            self.classes.count(class, new, slots, speed, true);
        }
        if let Some((tier, since)) = listed {
            let index = if managed { &mut self.managed.index } else { &mut self.index };
            index.remove(tier, class, old, since, id);
            index.insert(tier, class, new, since, id);
        }
    }

    /// Adds to what speaks against a worker; too much of it puts the worker on probation.
    pub(crate) fn add_trouble(&mut self, id: WorkerId, points: u32, effects: &mut Vec<Effect>) {
        let worker = &mut self.workers[id.0 as usize];
        worker.trouble = worker.trouble.saturating_add(points);
        if worker.standing != Standing::Good || worker.trouble < self.params.trouble_max {
            return;
        }
        worker.standing = Standing::OnProbation;
        self.postpone_test(id);
        self.trigger(id, Trigger::FailedOften, effects);
        self.reset_alarm(id);
        self.relieve = true;
    }

    /// The worker was told to stop something, or has let a lease lapse: it may be asleep, so it gets no work before it is
    /// heard from.
    pub(crate) fn await_word(&mut self, id: WorkerId) {
        let until = self.now.after(self.params.lease_ms);
        let worker = &mut self.workers[id.0 as usize];
        worker.silent_until = Some(until);
        for seat in worker.seats.clone() {
            self.relist(seat);
        }
        self.alarm_worker_by(id, until);
    }

    /// The worker was heard from.
    pub(crate) fn hear(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(id.0 as usize) else { return };
        if worker.silent_until.take().is_some() {
            self.hungry.extend(worker.seats.iter().copied());
        }
    }

    /// Sets the time of the next test: each time four times as far away.
    pub(crate) fn postpone_test(&mut self, id: WorkerId) {
        let worker = &mut self.workers[id.0 as usize];
        let times = 4_u64.saturating_pow(worker.probations.min(10));
        worker.probations = worker.probations.saturating_add(1);
        let delay = gleaner_wire::Millis(self.params.probation_ms.0.saturating_mul(times));
        worker.test_at = self.now.after(delay);
        self.reset_alarm(id);
    }

    /// Whether the worker of a seat is here and works.
    pub(crate) fn is_at_work(&self, id: SeatId) -> bool {
        works(self.workers[self.seats[id.0 as usize].worker.0 as usize].state)
    }

    pub(crate) fn count_seat(&mut self, id: SeatId, online: bool) {
        let seat = &mut self.seats[id.0 as usize];
        let online = online && seat.offered && !seat.resting;
        if seat.counted == online {
            return;
        }
        seat.counted = online;
        // What the fleet can do is what the community can.
        if seat.managed {
            return;
        }
        for offered in seat.runtimes.iter().flatten() {
            self.classes.count(offered.class, offered.cell, seat.slots, offered.speed, online);
        }
    }
}

fn works(state: State) -> bool {
    matches!(state, State::Available | State::Busy)
}
