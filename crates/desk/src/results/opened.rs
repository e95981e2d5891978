//! What opens jobs that are looked at: asking the hub for the keys each time would take as long as everything else.
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use gleaner_client::{Client, Outputs};
use gleaner_wire::JobId;
use gleaner_wire::api::JobView;

use super::preview::Previews;
use crate::Error;

/// Jobs whose keys are remembered.
const JOBS_MAX: usize = 256;

/// What is open.
#[derive(Default)]
pub(crate) struct Opened {
    outputs: Mutex<VecDeque<(String, JobId, Outputs)>>,
    pub(super) previews: Previews,
}

impl Opened {
    /// The outputs of a job of this client's account.
    pub(crate) async fn outputs(&self, client: &Client, view: &JobView) -> Result<Outputs, Error> {
        let (owner, job) = (client.requester(), view.summary.id);
        if let Some(known) = self.known(owner, job) {
            return Ok(known);
        }
        let outputs = client.outputs(view).await?;
        let mut all = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        all.truncate(JOBS_MAX - 1);
        all.push_front((owner.to_owned(), job, outputs.clone()));
        Ok(outputs)
    }

    fn known(&self, owner: &str, job: JobId) -> Option<Outputs> {
        let mut all = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(whose, number, _)| *number == job && whose == owner)?;
        let found = all.remove(at)?;
        all.push_front(found.clone());
        Some(found.2)
    }
}
