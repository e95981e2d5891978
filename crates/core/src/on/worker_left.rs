//! A worker's connection ended: what it held goes elsewhere at once.
use alloc::vec::Vec;
use gleaner_wire::{Cause, WorkerId};

use crate::effect::Effect;
use crate::event::Session;
use crate::pool::Trigger;
use crate::state::Core;

impl Core {
    pub(crate) fn on_worker_left(&mut self, id: WorkerId, session: Session, effects: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get_mut(id.0 as usize) else { return };
        if worker.session != Some(session) {
            return;
        }
        worker.session = None;
        worker.tests.break_off();
        let lost = worker.attempts.clone();
        self.trigger(id, Trigger::Left, effects);
        if !lost.is_empty() {
            self.add_trouble(id, 1, effects);
        }
        let lost: Vec<_> = lost.iter().map(|slot| self.attempts.id(*slot)).collect();
        for attempt in lost {
            self.fail_by_id(attempt, Cause::WorkerLeft, "its connection ended", effects);
        }
        self.relieve = true;
        self.reset_alarm(id);
    }
}
