//! What pages are told as it happens, over a WebSocket or as server-sent events, as JSON.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

use crate::api::{FailureView, JobSummary, PriceView};
use crate::figures::StatusView;
use crate::progress::AttemptState;
use crate::{AttemptId, Cause, JobId, Millis, State, WorkerId};

/// What can be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// `jobs`: every job that the watcher may see, in short.
    Jobs,
    /// `job:7`: one job, with its attempts and failures.
    Job(JobId),
    /// `workers`: every worker that the watcher may see.
    Workers,
    /// `worker:3`: one worker.
    Worker(WorkerId),
    /// `network`: the network's figures and prices; for everybody.
    Network,
}

/// A text that names nothing to watch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be watched: write jobs, job:NUMBER, workers, worker:NUMBER or network")]
pub struct TopicError(String);

impl FromStr for Topic {
    type Err = TopicError;

    fn from_str(text: &str) -> Result<Self, TopicError> {
        let refuse = || TopicError(text.chars().take(64).collect());
        match text.split_once(':') {
            None if text == "jobs" => Ok(Self::Jobs),
            None if text == "workers" => Ok(Self::Workers),
            None if text == "network" => Ok(Self::Network),
            Some(("job", number)) => number.parse().map(|number| Self::Job(JobId(number))).map_err(|_| refuse()),
            Some(("worker", number)) => {
                number.parse().map(|number| Self::Worker(WorkerId(number))).map_err(|_| refuse())
            }
            None | Some(_) => Err(refuse()),
        }
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jobs => f.write_str("jobs"),
            Self::Job(job) => write!(f, "job:{job}"),
            Self::Workers => f.write_str("workers"),
            Self::Worker(worker) => write!(f, "worker:{worker}"),
            Self::Network => f.write_str("network"),
        }
    }
}

/// What a watcher says: from now on it watches these, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WatchRequest {
    /// Topics: `jobs`, `job:7`, `workers`, `worker:3`, `network`.
    pub watch: Vec<String>,
    /// The `seq` of the last event that was seen: what came after it is told first, or that something was missed.
    #[serde(default)]
    pub after: Option<u64>,
}

/// Something that happened, with its number. Numbers only grow, also over restarts of the hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Numbered {
    /// The number. Not `id`: jobs and workers have one of their own.
    pub seq: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: LiveEvent,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum LiveEvent {
    /// These topics are watched from now on: look at the present state, and listen from there.
    Watching {
        /// Which.
        topics: Vec<String>,
        /// Those that are not, with the reason.
        refused: Vec<RefusedTopic>,
    },
    /// A job moved on; at most five a second for each job, and always its end.
    Job(JobSummary),
    /// Attempts of a job started or ended; at most five messages a second for each job.
    Attempts {
        /// The job.
        job: JobId,
        /// What changed, in order; bounded.
        items: Vec<AttemptChange>,
        /// How many more changed: look at the list of attempts.
        more: u64,
    },
    /// An attempt failed or was lost.
    Failure {
        /// The job.
        job: JobId,
        /// What happened.
        failure: FailureView,
    },
    /// A worker changed its state.
    Worker {
        /// The worker.
        id: WorkerId,
        /// Its name.
        name: String,
        /// Its state.
        state: State,
        /// Attempts it holds.
        running: u64,
    },
    /// What devices are worth, when it has changed.
    Prices {
        /// Every class.
        items: Vec<PriceView>,
    },
    /// The network's figures, every few seconds while they change.
    Status(StatusView),
    /// Something was missed: look at the present state.
    Missed {
        /// How many events, if that is known.
        count: Option<u64>,
    },
}

/// A topic that is not watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RefusedTopic {
    /// As it was asked for.
    pub topic: String,
    /// A stable word for programs.
    pub code: String,
    /// In words.
    pub reason: String,
}

/// An attempt that started or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptChange {
    /// The attempt.
    pub attempt: AttemptId,
    /// The position of its `[[task]]` in the job.
    pub group: u16,
    /// The element.
    pub index: u32,
    /// The worker.
    pub worker: WorkerId,
    /// Its name, where the attempt started while somebody watched.
    pub worker_name: Option<String>,
    /// When it was placed.
    pub started_at: Millis,
    /// When it ended.
    pub ended_at: Option<Millis>,
    /// What became of it.
    pub state: AttemptState,
    /// Why it failed, if it did.
    pub cause: Option<Cause>,
    /// Why it was placed there.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_topic_reads_back_what_it_prints() {
        let topics = [Topic::Jobs, Topic::Job(JobId(7)), Topic::Workers, Topic::Worker(WorkerId(3)), Topic::Network];
        for topic in topics {
            assert_eq!(topic.to_string().parse(), Ok(topic));
        }
        for text in ["", "job", "job:", "job:x", "jobs:1", "worker:-1", "everything"] {
            assert!(text.parse::<Topic>().is_err(), "{text}");
        }
    }
}
