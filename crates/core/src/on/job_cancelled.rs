//! The requester wants the job to stop.
use alloc::vec::Vec;
use gleaner_wire::JobId;

use crate::effect::Effect;
use crate::job::Phase;
use crate::state::Core;

impl Core {
    pub(crate) fn on_job_cancelled(&mut self, job: JobId, effects: &mut Vec<Effect>) {
        if self.jobs.get(&job).is_some_and(|job| !job.has_ended()) {
            self.end_job(job, Phase::Cancelled, effects);
        }
    }
}
