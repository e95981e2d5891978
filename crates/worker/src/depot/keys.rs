//! The keys of a task, from whoever may read its data.
use std::sync::Arc;
use std::time::Duration;

use ed25519_dalek::SigningKey;
use gleaner_data::seal::{AccountSecret, Keys, SignedTaskKeys, TaskKeys};
use gleaner_wire::api::{KeysLeft, KeysWanted};
use gleaner_wire::{Cause, Extent, JobId};
use tokio::task::JoinHandle;

use super::Depot;
use crate::failure::Failure;
use crate::hub_link::HubLink;

/// How often the keys are waited for, at 20 seconds each: whoever submitted the job may be away for a moment.
const WAITS_MAX: u32 = 6;
/// Between two looks at who wants keys, where there is nothing to do.
const PAUSE: Duration = Duration::from_secs(1);

/// The keys of one `[[task]]`, ready for use.
pub struct GroupKeys {
    /// As they came.
    pub task: TaskKeys,
    /// What seals the outputs.
    pub output: Arc<Keys>,
    /// Hands the keys on to others who got the task, where their owner is away.
    _handing_on: Option<HandingOn>,
}

/// Ends with the keys.
struct HandingOn(JoinHandle<()>);

impl Drop for HandingOn {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl GroupKeys {
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
            let Some(found) = found else { continue };
            let wrong = || Failure::new(Cause::BadInput, "the keys of the task do not open with this worker's key");
            let signed = found.open(group, &self.key).ok_or_else(wrong)?;
            let (task, output) = (signed.keys.clone(), Arc::new(signed.keys.output_secret().keys()));
            let handing_on = (!found.attended).then(|| {
                let (hub, key) = (self.hub.clone(), self.key.clone());
                HandingOn(tokio::spawn(hand_on(hub, key, job, group, found.submission, signed)))
            });
            return Ok(GroupKeys { task, output, _handing_on: handing_on });
        }
        let text = "nobody gave this worker the keys of the task: keep `gleaner run` or `gleaner job attend` running";
        Err(Failure::new(Cause::HubFault, text))
    }
}

/// Gives the keys of a group to others who got it, for as long as this worker has to do with the job.
async fn hand_on(hub: HubLink, key: SigningKey, job: JobId, group: u16, submission: u128, keys: SignedTaskKeys) {
    let me = gleaner_data::net::public(&key);
    loop {
        let Ok(connected) = hub.connected().await else { return };
        let wanted = match connected.keys_wanted(job).await {
            Ok(wanted) => wanted,
            // It has no attempt of the job at the moment, or the hub is away.
            Err(_) => {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let wrap = |want: &KeysWanted| {
            let wrapped = keys.wrap(submission, group, want.worker).ok()?;
            let keys = wrapped.iter().map(|byte| format!("{byte:02x}")).collect();
            (want.group == group).then_some(KeysLeft { group, receiver: want.worker, keys })
        };
        let left: Vec<KeysLeft> = wanted.iter().filter_map(wrap).collect();
        // Others may want keys of another group, which this worker does not have.
        if left.is_empty() || connected.leave_keys(submission, me, &left).await.is_err() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}
