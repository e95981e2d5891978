//! Rings for those who follow jobs: one listener to the hub's events, however many jobs there are.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gleaner_client::{Client, Heard};
use gleaner_wire::JobId;
use gleaner_wire::api::Live;
use tokio::sync::Notify;

/// The pause after the hub stayed away.
const PAUSE: Duration = Duration::from_secs(1);

/// A bell for each job that is followed.
#[derive(Debug, Default)]
pub(crate) struct Bells(Mutex<HashMap<JobId, Arc<Notify>>>);

impl Bells {
    fn all(&self) -> MutexGuard<'_, HashMap<JobId, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A bell for a job; none if somebody follows it already.
    pub(crate) fn hang(&self, job: JobId) -> Option<Arc<Notify>> {
        let mut bells = self.all();
        if bells.contains_key(&job) {
            return None;
        }
        let bell = Arc::new(Notify::new());
        bells.insert(job, Arc::clone(&bell));
        Some(bell)
    }

    /// Nobody follows the job any more.
    pub(crate) fn take_down(&self, job: JobId) {
        self.all().remove(&job);
    }

    /// Rings when a job has ended, and all of them when something may have been missed.
    pub(crate) async fn attend(&self, client: &Client) {
        let mut events = client.events();
        loop {
            match events.next().await {
                Ok(Heard::Live(Live::Job(job))) => {
                    if job.state.has_ended()
                        && let Some(bell) = self.all().get(&job.id)
                    {
                        bell.notify_one();
                    }
                }
                Ok(Heard::Live(Live::Worker { .. } | Live::Failure { .. })) => {}
                Ok(Heard::Live(Live::Missed { .. }) | Heard::Connected) => {
                    self.all().values().for_each(|bell| bell.notify_one());
                }
                Err(error) => {
                    tracing::debug!(%error, "the desk hears nothing from its hub");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}
