//! What pages that watch a job are told of its attempts: gathered for a moment, so that a busy job says little often.
use super::Record;
use crate::live::{About, Live};
use gleaner_wire::JobId;
use gleaner_wire::live::{AttemptChange, LiveEvent, Topic};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The least time between two messages about a job.
const PACE: Duration = Duration::from_millis(200);
/// Changes in one message; the others are counted.
const ITEMS_MAX: usize = 50;

#[derive(Default)]
struct Gathered {
    items: Vec<AttemptChange>,
    more: u64,
}

/// Changes that wait to be told.
pub(super) struct Changes {
    live: Live,
    jobs: HashMap<JobId, Gathered>,
    told: Instant,
}

impl Changes {
    pub(super) fn new(live: Live) -> Self {
        Self { live, jobs: HashMap::new(), told: Instant::now() }
    }

    /// Whether something waits.
    pub(super) fn wait(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Whether anybody watches a job.
    pub(super) fn are_watched(&self, job: JobId) -> bool {
        self.live.wants(&[Topic::Job(job)])
    }

    /// An attempt started or ended.
    pub(super) fn note(&mut self, job: JobId, record: &Record, worker_name: Option<String>) {
        let gathered = self.jobs.entry(job).or_default();
        if gathered.items.len() >= ITEMS_MAX {
            gathered.more += 1;
            return;
        }
        let (state, cause) = record.state();
        gathered.items.push(AttemptChange {
            attempt: record.attempt,
            group: record.group,
            index: record.index,
            worker: record.worker,
            worker_name,
            started_at: record.started,
            ended_at: record.ended.map(|(at, _)| at),
            state,
            cause,
            why: record.why.clone(),
        });
    }

    /// Tells what has been gathered, if it is time.
    pub(super) fn tell(&mut self) {
        if self.jobs.is_empty() || self.told.elapsed() < PACE {
            return;
        }
        self.told = Instant::now();
        for (job, Gathered { items, more }) in self.jobs.drain() {
            // Who watches a job may see it: that was looked at when it began to.
            let event = LiveEvent::Attempts { job, items, more };
            self.live.publish(event, About::Anybody, [Some(Topic::Job(job)), None]);
        }
    }
}
