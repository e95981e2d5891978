//! The shell has stored an ended job elsewhere.
use gleaner_wire::JobId;

use crate::state::Core;

impl Core {
    pub(crate) fn on_job_archived(&mut self, id: JobId) {
        if self.jobs.get(&id).is_none_or(|job| !job.has_ended()) {
            return;
        }
        let job = self.jobs.remove(&id).expect("it was just seen");
        self.submissions.remove(&job.submission);
        for group in job.groups {
            self.shapes.release(group.shape);
            self.programs.release(group.program);
            if let Some(inputs) = group.inputs {
                inputs.release(&mut self.holders);
            }
        }
    }
}
