//! The owner wants the machine, or gives it back; an operator forgives a worker.
use alloc::vec::Vec;
use gleaner_wire::{Millis, WorkerId};

use crate::effect::Effect;
use crate::pool::{Standing, Trigger};
use crate::state::Core;

impl Core {
    /// No new work; the worker itself hands back what it cannot go on with.
    pub(crate) fn on_worker_paused(&mut self, id: WorkerId, effects: &mut Vec<Effect>) {
        if (id.0 as usize) < self.workers.len() {
            self.trigger(id, Trigger::Paused, effects);
            self.relieve_all();
        }
    }

    pub(crate) fn on_worker_resumed(&mut self, id: WorkerId, effects: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get(id.0 as usize) else { return };
        self.trigger(id, Trigger::Resumed(worker.standing), effects);
        self.reset_alarm(id);
    }

    pub(crate) fn on_worker_readmitted(&mut self, id: WorkerId, effects: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get_mut(id.0 as usize) else { return };
        worker.standing = Standing::Good;
        (worker.trouble, worker.probations, worker.test_at) = (0, 0, Millis(0));
        self.trigger(id, Trigger::Readmitted, effects);
    }
}
