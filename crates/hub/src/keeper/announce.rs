//! What listeners are told of jobs and workers: at most a few times a second for each, and always how a job ended.
use crate::live::{About, Live};
use gleaner_core::Core;
use gleaner_wire::api::{self, FailureView};
use gleaner_wire::live::{LiveEvent, Topic};
use gleaner_wire::{JobId, WorkerId};
use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// The least time between two announcements of one job, or of one worker to pages.
const PACE: Duration = Duration::from_millis(200);
/// Failures of one job that pages are told of in a second.
const FAILURES_PER_SECOND_MAX: u32 = 10;
/// Jobs whose failures are counted at a time.
const FAILING_MAX: usize = 1024;

/// Subjects that have something to tell.
struct Paced<K> {
    /// Those that moved on, with the moment from which that may be told.
    moved: HashMap<K, Instant>,
    /// When each was last told of.
    told: HashMap<K, Instant>,
}

impl<K: Copy + Eq + Hash> Paced<K> {
    fn new() -> Self {
        Self { moved: HashMap::new(), told: HashMap::new() }
    }

    fn note(&mut self, key: K) {
        let due = self.told.get(&key).map_or_else(Instant::now, |told| *told + PACE);
        self.moved.entry(key).or_insert(due);
    }

    /// Tells of those whose time has come, and of those that `tell` says cannot wait. Returns when the next one's comes.
    fn flush(&mut self, mut tell: impl FnMut(K, bool) -> Said) -> Option<Instant> {
        if self.moved.is_empty() && self.told.is_empty() {
            return None;
        }
        let (now, told) = (Instant::now(), &mut self.told);
        // Whoever was quiet for that long may be told of at once.
        told.retain(|_, at| *at + PACE > now);
        self.moved.retain(|key, due| match tell(*key, *due <= now) {
            Said::NotYet => true,
            Said::Told => {
                told.insert(*key, now);
                false
            }
            Said::ForTheLastTime => {
                told.remove(key);
                false
            }
        });
        self.moved.values().min().copied()
    }
}

enum Said {
    NotYet,
    Told,
    ForTheLastTime,
}

/// Jobs and workers that have something to tell.
pub(super) struct Announcer {
    live: Live,
    jobs: Paced<JobId>,
    workers: Paced<WorkerId>,
    /// Failures of each job since a moment.
    failing: HashMap<JobId, (Instant, u32)>,
    last: Option<JobId>,
}

impl Announcer {
    pub(super) fn new(live: Live) -> Self {
        Self { live, jobs: Paced::new(), workers: Paced::new(), failing: HashMap::new(), last: None }
    }

    /// Whether anyone hears everything.
    pub(super) fn is_heard(&self) -> bool {
        self.live.is_heard()
    }

    /// Whether anyone watches the attempts of a job.
    pub(super) fn watches(&self, job: JobId) -> bool {
        self.live.wants(&[Topic::Job(job)])
    }

    /// Notes that a job moved on.
    pub(super) fn job(&mut self, job: JobId) {
        // A busy turn says the same job thousands of times.
        if self.last == Some(job) {
            return;
        }
        self.last = Some(job);
        if self.is_heard() || self.live.wants(&[Topic::Jobs, Topic::Job(job)]) {
            self.jobs.note(job);
        }
    }

    /// Notes that a worker changed its state.
    pub(super) fn worker(&mut self, worker: WorkerId) {
        if self.live.wants(&[Topic::Workers, Topic::Worker(worker)]) {
            self.workers.note(worker);
        }
    }

    /// Tells pages of a failure, unless they have been told of many.
    pub(super) fn failure(&mut self, job: JobId, requester: String, failure: FailureView) {
        let topics = [Topic::Jobs, Topic::Job(job)];
        if !self.live.wants(&topics) {
            return;
        }
        let now = Instant::now();
        if self.failing.len() >= FAILING_MAX {
            self.failing.clear();
        }
        let (since, count) = self.failing.entry(job).or_insert((now, 0));
        if since.elapsed() > Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        if *count <= FAILURES_PER_SECOND_MAX {
            let event = LiveEvent::Failure { job, failure };
            self.live.publish(event, About::Requester(requester), topics.map(Some));
        }
    }

    /// Tells everyone who hears everything.
    pub(super) fn tell(&self, event: &api::Live) {
        self.live.tell(event);
    }

    /// Tells of those whose time has come. Returns when the next one's comes.
    pub(super) fn flush(&mut self, core: &Core) -> Option<Instant> {
        self.last = None;
        let live = &self.live;
        let jobs = self.jobs.flush(|job, is_due| {
            let Some(summary) = core.job_summary(job) else { return Said::ForTheLastTime };
            let ended = summary.state.has_ended();
            if !is_due && !ended {
                return Said::NotYet;
            }
            live.tell(&api::Live::Job(summary.clone()));
            let about = About::Requester(summary.requester.clone());
            live.publish(LiveEvent::Job(summary), about, [Some(Topic::Jobs), Some(Topic::Job(job))]);
            if ended { Said::ForTheLastTime } else { Said::Told }
        });
        let workers = self.workers.flush(|worker, is_due| {
            if !is_due {
                return Said::NotYet;
            }
            let Some((name, state, running)) = core.worker_standing(worker) else { return Said::ForTheLastTime };
            let event = LiveEvent::Worker { id: worker, name: name.to_owned(), state, running };
            live.publish(event, About::Worker(worker), [Some(Topic::Workers), Some(Topic::Worker(worker))]);
            Said::Told
        });
        jobs.into_iter().chain(workers).min()
    }
}
