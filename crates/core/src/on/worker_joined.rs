//! A worker proved its key and made an offer.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use gleaner_wire::{AttemptId, Cause, DeviceOffer, Offer, RuntimeOffer, WorkerId, WorkerKey};

use crate::effect::Effect;
use crate::event::Session;
use crate::place::{Cell, Seat, SeatId, SeatRuntime};
use crate::pool::{Standing, Trigger, Worker};
use crate::state::Core;

impl Core {
    pub(crate) fn on_worker_joined(
        &mut self,
        key: WorkerKey,
        session: Session,
        offer: Offer,
        resting: &[u16],
        held: &[AttemptId],
        effects: &mut Vec<Effect>,
    ) {
        if let Some(reason) = self.lacks_stake(self.by_key.get(&key).copied(), &offer) {
            effects.push(Effect::RefuseWorker { session, reason });
            return;
        }
        let id = self.worker_with_key(key, &offer);
        // A second connection of the same worker replaces the first.
        self.trigger(id, Trigger::Left, effects);
        self.expect_tests(id, &offer);
        self.take_offer(id, offer);
        self.set_resting(id, resting);
        let worker = &mut self.workers[id.0 as usize];
        worker.session = Some(session);
        worker.silent_until = None;
        let standing = worker.standing;
        self.trigger(id, Trigger::Joined(standing), effects);
        effects.push(Effect::WelcomeWorker { worker: id, session });
        if self.workers[id.0 as usize].paused {
            self.trigger(id, Trigger::Paused, effects);
            effects.push(Effect::TellPaused { worker: id, paused: true });
        }
        self.adopt(id, held, effects);
        self.test_next(id, effects);
        self.reset_alarm(id);
    }

    fn worker_with_key(&mut self, key: WorkerKey, offer: &Offer) -> WorkerId {
        if let Some(id) = self.by_key.get(&key) {
            return *id;
        }
        let id = WorkerId(self.workers.len() as u32);
        let out = self.is_discredited(offer.provider);
        let standing = if out { Standing::Disqualified } else { Standing::Good };
        self.workers.push(Worker { standing, ..Worker::new(key, offer.clone()) });
        self.by_key.insert(key, id);
        if self.managed.keys.contains(&key) {
            self.workers[id.0 as usize].managed = true;
            self.managed.workers.insert(id);
        }
        id
    }

    /// Keeps what the worker still runs, and moves what it lost.
    fn adopt(&mut self, id: WorkerId, held: &[AttemptId], effects: &mut Vec<Effect>) {
        let held: BTreeSet<_> = held.iter().copied().collect();
        let lease = self.now.after(self.params.lease_ms);
        let ours = self.workers[id.0 as usize].attempts.iter().map(|slot| self.attempts.id(*slot));
        let ours: BTreeSet<_> = ours.collect();
        for attempt in ours.intersection(&held).copied() {
            let slot = self.attempts.slot(attempt).expect("a worker's list holds running attempts");
            let state = self.attempts.at_mut(slot);
            (state.lease, state.begun) = (lease, true);
            // What it was told before may have been lost.
            if let Some(notice) = state.notice {
                effects.push(Effect::YieldAttempt { worker: id, attempt, by_ms: notice.by.since(self.now) });
            }
        }
        for attempt in held.difference(&ours) {
            effects.push(Effect::CancelAttempt { worker: id, attempt: *attempt });
        }
        for attempt in ours.difference(&held) {
            self.fail_by_id(*attempt, Cause::WorkerLeft, "the worker came back without it", effects);
        }
    }

    /// Device `n` of a worker is always the same seat, so that a worker that keeps changing its offer uses up nothing.
    fn take_offer(&mut self, id: WorkerId, offer: Offer) {
        let region = self.classes.region(&offer.region);
        for (device, offered) in (0..).zip(&offer.devices) {
            let seat = self.seat_of(id, device, region, offered);
            match self.workers[id.0 as usize].seats.get(usize::from(device)).copied() {
                Some(at) => {
                    let old = &self.seats[at.0 as usize];
                    let (in_flight, backlog) = (old.in_flight, old.backlog);
                    // Who followed and comes back with the same price still does, however long ago that was suggested.
                    let follows = seat.follows || old.follows && old.price == seat.price;
                    self.seats[at.0 as usize] = Seat { in_flight, backlog, follows, ..seat };
                }
                None => {
                    self.seats.push(seat);
                    self.workers[id.0 as usize].seats.push(SeatId(self.seats.len() as u32 - 1));
                }
            }
        }
        let worker = &mut self.workers[id.0 as usize];
        self.claims.own(id, worker.offer.provider, offer.provider);
        for seat in &worker.seats[offer.devices.len()..] {
            self.seats[seat.0 as usize].offered = false;
        }
        let seats = worker.seats.iter().map(|seat| &self.seats[seat.0 as usize]).filter(|seat| seat.offered);
        worker.slots_free = seats.map(|seat| seat.slots.saturating_sub(seat.in_flight)).sum();
        let before = core::mem::replace(&mut worker.offer, offer);
        self.search.name(&before.name, id, false);
        self.search.name(&self.workers[id.0 as usize].offer.name, id, true);
        for seat in self.workers[id.0 as usize].seats.clone() {
            self.note_seat(seat);
        }
    }

    pub(crate) fn seat_of(&mut self, id: WorkerId, device: u16, region: u32, offered: &DeviceOffer) -> Seat {
        let (follows, managed) = (self.follows_index(offered), self.workers[id.0 as usize].managed);
        // The door refuses a runtime offered twice; a journal may hold one all the same.
        let once =
            |at: usize, offer: &RuntimeOffer| !offered.runtimes[..at].iter().any(|seen| seen.runtime == offer.runtime);
        let runtimes = offered.runtimes.iter().enumerate().filter(|(at, offer)| once(*at, offer)).map(|(_, offer)| {
            let score = self.tested_score(id, device, offer)?;
            let engine = self.classes.engine(offer.engine.as_deref());
            let tested = RuntimeOffer { score, ..offer.clone() };
            let (class, new) = self.classes.class(offered, &tested, region, engine);
            if new {
                self.shapes.add_class(&self.classes, class);
            }
            let speed = self.learned_speed(id, device, offer.runtime, score);
            let cell = Cell::of(speed, offered.price_per_second);
            Some(SeatRuntime { runtime: offer.runtime, class, score, speed, engine, cell })
        });
        let mut runtimes = runtimes.flatten().fuse();
        let loops_max = offered.runtimes.iter().filter_map(|offer| offer.loops_max).min().unwrap_or(u64::MAX);
        Seat {
            worker: id,
            device,
            kind: offered.kind,
            memory: offered.memory.0,
            region,
            slots: u32::from(offered.slots),
            price: offered.price_per_second,
            loops_max,
            cards: offered.cards,
            network: offered.network,
            eevee: offered.eevee,
            resting: false,
            testing: false,
            runtimes: core::array::from_fn(|_| runtimes.next()),
            managed,
            follows,
            offered: true,
            counted: false,
            in_flight: 0,
            backlog: 0,
            listed: None,
        }
    }

    /// What was learned of a device stays while its benchmark score does.
    fn learned_speed(&self, id: WorkerId, device: u16, runtime: gleaner_wire::Runtime, score: u32) -> u32 {
        let seat = self.workers[id.0 as usize].seats.get(usize::from(device));
        let known = seat.and_then(|seat| self.seats[seat.0 as usize].runtime(runtime));
        known.filter(|known| known.score == score).map_or(score, |known| known.speed)
    }
}
