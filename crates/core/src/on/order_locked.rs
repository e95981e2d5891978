//! What the chain says of a job's order.
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::JobId;

use crate::effect::Effect;
use crate::job::Phase;
use crate::ledger::Account;
use crate::state::Core;

impl Core {
    /// The money is there: the job may start.
    pub(crate) fn on_order_locked(&mut self, id: JobId, share_points: u32, effects: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&id).filter(|job| job.phase == Phase::Ordered) else { return };
        if !self.ledger.deposit(&Account::Order(id), job.price_max) {
            let reason = "the hub's books cannot hold so much money".into();
            self.end_job(id, Phase::Failed { task: None, cause: None, reason }, effects);
            return;
        }
        job.phase = Phase::Running;
        job.locked = true;
        job.share_points = share_points.min(10_000);
        effects.push(Effect::AnnounceJob { job: id });
        self.open_groups(id);
    }

    /// The money is not there: the job ends before it has begun.
    pub(crate) fn on_order_refused(&mut self, id: JobId, reason: String, effects: &mut Vec<Effect>) {
        if self.jobs.get(&id).is_some_and(|job| job.phase == Phase::Ordered) {
            self.end_job(id, Phase::Failed { task: None, cause: None, reason }, effects);
        }
    }
}
