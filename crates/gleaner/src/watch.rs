//! Following a job to its end.
use std::time::Duration;

use anyhow::Result;
use gleaner_client::{Client, Events, Heard};
use gleaner_wire::JobId;
use gleaner_wire::api::{JobView, Live};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// A job is looked at this often even if no event says that it moved.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A job that is being followed.
pub struct Watch {
    client: Client,
    job: JobId,
    events: Events,
    look: Interval,
}

impl Watch {
    /// Follows this job.
    pub fn new(client: &Client, job: JobId) -> Self {
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { client: client.clone(), job, events: client.events(), look }
    }

    /// The job as it stands after something happened to it.
    pub async fn next(&mut self) -> Result<JobView> {
        loop {
            let moved = tokio::select! {
                heard = self.events.next() => is_about(&heard?, self.job),
                _ = self.look.tick() => true,
            };
            if moved {
                return Ok(self.client.job(self.job).await?);
            }
        }
    }

    /// Shows each new view of the job to `see` until the job has ended; returns the last one.
    pub async fn follow(mut self, mut see: impl FnMut(&JobView)) -> Result<JobView> {
        loop {
            let view = self.next().await?;
            see(&view);
            if view.summary.state.has_ended() {
                return Ok(view);
            }
        }
    }
}

fn is_about(heard: &Heard, job: JobId) -> bool {
    match heard {
        Heard::Connected | Heard::Live(Live::Missed { .. }) => true,
        Heard::Live(Live::Job(summary)) => summary.id == job,
        Heard::Live(Live::Failure { job: failed, .. }) => *failed == job,
        Heard::Live(Live::Worker { .. }) => false,
    }
}
