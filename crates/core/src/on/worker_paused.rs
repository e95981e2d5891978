//! The owner wants the machine, or gives it back; an operator forgives a worker.
use alloc::vec::Vec;
use gleaner_wire::{Millis, State, WorkerId};

use crate::effect::Effect;
use crate::pool::{Standing, Trigger};
use crate::state::Core;

impl Core {
    /// No new work; the worker itself hands back what it cannot go on with.
    pub(crate) fn on_worker_paused(&mut self, id: WorkerId, effects: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get_mut(id.0 as usize) else { return };
        if !core::mem::replace(&mut worker.paused, true) {
            effects.push(Effect::TellPaused { worker: id, paused: true });
            self.trigger(id, Trigger::Paused, effects);
            self.relieve = true;
        }
    }

    pub(crate) fn on_worker_resumed(&mut self, id: WorkerId, effects: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get_mut(id.0 as usize) else { return };
        if core::mem::replace(&mut worker.paused, false) {
            effects.push(Effect::TellPaused { worker: id, paused: false });
        }
        let worker = &mut self.workers[id.0 as usize];
        if worker.state == State::Paused {
            let standing = worker.standing;
            self.trigger(id, Trigger::Resumed(standing), effects);
            self.reset_alarm(id);
        }
    }

    /// The owner needs these devices, and gives back all others. The worker itself hands back what ran on them.
    pub(crate) fn on_devices_rest(&mut self, id: WorkerId, resting: &[u16]) {
        if self.workers.get(id.0 as usize).is_some() {
            self.set_resting(id, resting);
            self.relieve = true;
        }
    }

    pub(crate) fn set_resting(&mut self, id: WorkerId, resting: &[u16]) {
        for at in self.workers[id.0 as usize].seats.clone() {
            let seat = &mut self.seats[at.0 as usize];
            let rests = resting.contains(&seat.device);
            if core::mem::replace(&mut seat.resting, rests) != rests {
                self.count_seat(at, self.is_at_work(at));
                self.relist(at);
                self.hungry.push(at);
            }
        }
    }

    pub(crate) fn on_worker_readmitted(&mut self, id: WorkerId, effects: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get_mut(id.0 as usize) else { return };
        worker.standing = Standing::Good;
        (worker.trouble, worker.probations, worker.test_at) = (0, 0, Millis(0));
        let paused = worker.paused;
        self.trigger(id, Trigger::Readmitted, effects);
        if paused {
            self.trigger(id, Trigger::Paused, effects);
        }
        self.reset_alarm(id);
    }
}
