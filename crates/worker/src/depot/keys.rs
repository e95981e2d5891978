//! The keys of a task, from whoever may read its data.
use std::sync::Arc;

use gleaner_data::seal::{AccountSecret, Keys, TaskKeys};
use gleaner_wire::{Cause, Extent, JobId};

use super::Depot;
use crate::failure::Failure;

/// How often the keys are waited for, at 20 seconds each: whoever submitted the job may be away for a moment.
const WAITS_MAX: u32 = 6;

/// The keys of one `[[task]]`, ready for use.
pub struct GroupKeys {
    /// As they came.
    pub task: TaskKeys,
    /// What seals the outputs.
    pub output: Arc<Keys>,
}

impl GroupKeys {
    fn new(task: TaskKeys) -> Self {
        let output = Arc::new(task.output_secret().keys());
        Self { task, output }
    }

    /// What opens an input that is another task's output.
    pub fn of_input(&self, position: usize) -> Result<Keys, Failure> {
        self.task.input_secret(position).map(|secret| AccountSecret::keys(&secret)).ok_or_else(missing)
    }
}

/// The keys of an input are not among those of its task.
pub fn missing() -> Failure {
    Failure::new(Cause::BadInput, "the keys of the task do not open all of its inputs: submit the job again")
}

/// What a short output is sealed for: the number that its element stands for.
pub fn place(extent: &Extent, index: u32) -> u64 {
    extent.value(index)
}

impl Depot {
    /// The keys of a task of which this worker has an element.
    pub async fn keys(&self, job: JobId, group: u16) -> Result<GroupKeys, Failure> {
        for _ in 0..WAITS_MAX {
            let found = self.hub.with(|hub| async move { hub.keys(job, group, None).await }).await?;
            let Some((submission, wrapped)) = found else { continue };
            let opened = TaskKeys::unwrap(&wrapped, submission, group, &self.key);
            let wrong = |_| Failure::new(Cause::BadInput, "the keys of the task do not open with this worker's key");
            return opened.map(GroupKeys::new).map_err(wrong);
        }
        let text = "nobody gave this worker the keys of the task: keep `gleaner run` or `gleaner job attend` running";
        Err(Failure::new(Cause::HubFault, text))
    }
}
