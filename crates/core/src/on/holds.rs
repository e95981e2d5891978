//! A worker said which data it holds.
use gleaner_wire::{Held, State, WorkerId};

use crate::state::Core;

impl Core {
    /// Notes what a worker holds. One that is not here is not believed: it says so again when it comes.
    pub(crate) fn on_holds(&mut self, id: WorkerId, held: &[Held]) {
        let Some(worker) = self.workers.get(id.0 as usize).filter(|worker| worker.state != State::Offline) else {
            return;
        };
        if self.holders.report(id, held, self.now) {
            self.hungry.extend(worker.seats.iter().copied());
        }
    }
}
