//! A heartbeat: the worker says which attempts it holds.
use gleaner_wire::{AttemptId, WorkerId};

use crate::state::Core;

impl Core {
    /// Renews the leases of what the worker holds. What it does not name lapses by itself.
    pub(crate) fn on_leases_renewed(&mut self, id: WorkerId, held: &[AttemptId]) {
        self.hear(id);
        let lease = self.now.after(self.params.lease_ms);
        for attempt in held {
            let Some(slot) = self.attempts.slot(*attempt) else { continue };
            let attempt = self.attempts.at_mut(slot);
            if attempt.worker == id {
                attempt.lease = lease;
                attempt.begun = true;
            }
        }
    }
}
