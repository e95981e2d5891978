//! Workers fetch what their attempts read before these get their turn, and say what they hold.
use gleaner_wire::{AttemptId, DataRef, InputSpec, TaskSpec, ToHub};

use crate::worker::Held;
use crate::world::{What, World};

/// What an attempt of this group reads.
pub(crate) fn sets(spec: &TaskSpec) -> Vec<DataRef> {
    spec.inputs.iter().filter_map(InputSpec::data).chain(spec.work.program()).collect()
}

impl World<'_> {
    /// Takes an attempt: it gets its turn when its data is here.
    pub fn fetch_for(&mut self, worker: u32, attempt: AttemptId, held: Held) {
        let state = &mut self.workers[worker as usize];
        if state.held.contains_key(&attempt) {
            return;
        }
        let sets = held.sets.clone();
        state.hold(attempt, held);
        let needed = state.needed();
        let ready_at = state.cache.fetch(self.now, &sets, &needed);
        if ready_at > self.now {
            self.agenda.note(ready_at, What::Fetched { worker, attempt });
        } else {
            let ends = self.workers[worker as usize].line_up(self.now, attempt);
            self.note_end_of_run(worker, ends);
        }
    }

    pub fn fetched(&mut self, worker: u32, attempt: AttemptId) {
        if self.sleeps(worker, || What::Fetched { worker, attempt }) {
            return;
        }
        let ends = self.workers[worker as usize].line_up(self.now, attempt);
        self.note_end_of_run(worker, ends);
        self.tell_holds(worker);
    }

    /// Says what the worker holds, if it has ever fetched anything.
    pub fn tell_holds(&mut self, worker: u32) {
        let cache = &self.workers[worker as usize].cache;
        if cache.moved > 0 {
            let held = cache.holds(self.now);
            self.send_to_hub(worker, ToHub::Holds(held));
        }
    }
}
