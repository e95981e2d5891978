//! What listeners are told of jobs: at most a few times a second for each, and always how it ended.
use crate::live::Live;
use gleaner_core::Core;
use gleaner_wire::JobId;
use gleaner_wire::api;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The least time between two announcements of one job.
const PACE_MS: u64 = 200;

/// Jobs that have something to tell.
pub(super) struct Announcer {
    live: Live,
    /// Jobs that moved on, with the moment from which that may be told.
    moved: HashMap<JobId, Instant>,
    /// When a job was last told of.
    told: HashMap<JobId, Instant>,
    last: Option<JobId>,
}

impl Announcer {
    pub(super) fn new(live: Live) -> Self {
        Self { live, moved: HashMap::new(), told: HashMap::new(), last: None }
    }

    /// Whether anyone listens.
    pub(super) fn is_heard(&self) -> bool {
        self.live.is_heard()
    }

    /// Notes that a job moved on.
    pub(super) fn job(&mut self, job: JobId) {
        // A busy turn says the same job thousands of times.
        if self.last == Some(job) || !self.is_heard() {
            return;
        }
        self.last = Some(job);
        let pace = Duration::from_millis(PACE_MS);
        let due = self.told.get(&job).map_or_else(Instant::now, |told| *told + pace);
        self.moved.entry(job).or_insert(due);
    }

    /// Tells of something else.
    pub(super) fn tell(&self, event: &api::Live) {
        self.live.tell(event);
    }

    /// Tells of jobs whose time has come. Returns when the next one's comes.
    pub(super) fn flush(&mut self, core: &Core) -> Option<Instant> {
        self.last = None;
        if self.moved.is_empty() {
            return None;
        }
        let now = Instant::now();
        let (live, told) = (&self.live, &mut self.told);
        self.moved.retain(|job, due| {
            let Some(summary) = core.job_summary(*job) else {
                told.remove(job);
                return false;
            };
            let ended = summary.state.has_ended();
            if *due > now && !ended {
                return true;
            }
            live.tell(&api::Live::Job(summary));
            if ended {
                told.remove(job);
            } else {
                told.insert(*job, now);
            }
            false
        });
        self.moved.values().min().copied()
    }
}
