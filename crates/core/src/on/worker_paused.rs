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
            self.trigger(id, Trigger::Paused, effects);
            self.relieve = true;
        }
    }

    pub(crate) fn on_worker_resumed(&mut self, id: WorkerId, effects: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get_mut(id.0 as usize) else { return };
        worker.paused = false;
        if worker.state == State::Paused {
            let standing = worker.standing;
            self.trigger(id, Trigger::Resumed(standing), effects);
            self.reset_alarm(id);
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
    }
}
