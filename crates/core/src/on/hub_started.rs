//! The hub's process started: connections are gone, leases are not.
use alloc::vec::Vec;
use gleaner_wire::WorkerId;

use crate::effect::Effect;
use crate::job::Phase;
use crate::pool::Trigger;
use crate::state::Core;

impl Core {
    /// Gives every lease one more term, so that workers can come back and keep what they run.
    pub(crate) fn on_hub_started(&mut self, effects: &mut Vec<Effect>) {
        let lease = self.now.after(self.params.lease_ms);
        for id in (0..self.workers.len() as u32).map(WorkerId) {
            self.workers[id.0 as usize].session = None;
            self.workers[id.0 as usize].tests.break_off();
            self.trigger(id, Trigger::Left, effects);
            for slot in self.workers[id.0 as usize].attempts.clone() {
                let attempt = self.attempts.at_mut(slot);
                attempt.lease = lease;
                // Perhaps its worker was never told of it.
                attempt.begun = true;
                attempt.deadline = attempt.deadline.max(lease).after(self.params.lease_ms);
                if let Some(notice) = &mut attempt.notice {
                    notice.by = notice.by.max(lease);
                }
            }
            self.reset_alarm(id);
        }
        self.close_all_auctions();
        self.relieve_all();
        let unsettled = self.jobs.values().filter_map(|job| match job.phase {
            Phase::Ordered => Some(Effect::LockOrder { job: job.id }),
            Phase::Running => None,
            Phase::Done | Phase::Cancelled | Phase::Failed { .. } => Some(Effect::ArchiveJob { job: job.id }),
        });
        effects.extend(unsettled);
        effects.extend(self.round_to_draw().map(|(round, _)| Effect::DrawRound { round }));
    }
}
